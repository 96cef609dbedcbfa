"""Breakages on purpose: each guarantee of the gate, broken once, must be seen by the comparison with the model.

The check that catches is `disagreement` of test_model.py. A mutant that no stream shows is a guarantee without a test.
"""

from __future__ import annotations

from typing import Any

import pytest
from test_model import disagreement, grown

from plangate.core import gate, host, judge, spans, step
from plangate.core.orphans import Analysis
from plangate.core.spans import settle_pins
from plangate.core.window import Window

PATIENCE = 2500  # streams tried before a mutant counts as unseen


def trusting(window: Window, new: Any, *, signed: bool) -> Any:
    return settle_pins(window, new, signed=True)


def nothing(*_: Any, **__: Any) -> None:
    return None


#: guarantee broken -> (where, name, what stands there instead)
MUTANTS: dict[str, tuple[Any, str, Any]] = {
    "a repeated plan_id is decided anew": (gate, "recall", nothing),
    "reverse edges are forgotten": (Analysis, "_breaks_by", nothing),
    "protocol partners are forgotten": (Window, "partners", lambda *_: set()),
    "a needs_prefix span outlives its prefix": (Analysis, "prefix_break", nothing),
    "citations are never resolved by re-scoring": (Analysis, "listed", lambda self, r: self.breaks.get(r, set())),
    "an amendment is accepted with orphans left": (Analysis, "clean", lambda self: True),
    "pinned spans may go": (judge, "_pin_violations", lambda *_: []),
    "a payload pins": (host, "settle_pins", trusting),
    "taint is not looked for": (spans, "is_tainted", lambda *_: False),
    "a replacement may part a pair": (judge, "_between", lambda *_: False),
    "replacements are not checked": (judge, "_invalid_replacements", lambda *_: False),
    "dependencies go before dependants": (judge, "commit_order", lambda window, evicted: sorted(evicted)),
    "a pending acceptance survives a change": (step, "lapse", nothing),
    "ids are used again": (host, "_offence", nothing),
    "obligations stay open": (host, "close_obligations", nothing),
    "a lost event goes unnoticed": (step, "_in_sequence", lambda *_: True),
    "a redelivered event counts twice": (step, "seen_before", lambda *_, **__: False),
    "a stale plan is judged": (gate, "_stale", lambda ctx, generation: {"relation": "behind"}),
    "turns end no escalation": (host, "_turn", nothing),
    "a closed window's plans are deferred": (step, "_close", nothing),
}


@pytest.mark.parametrize("broken", MUTANTS)
def test_mutant_is_caught(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    where, name, instead = MUTANTS[broken]
    monkeypatch.setattr(where, name, instead)
    for seed in range(PATIENCE):
        stream, policy = grown(seed)
        try:
            if disagreement(stream.operations, policy) is not None:
                return
        except Exception:  # a crash is not what the comparison is for: go on until it speaks
            continue
    pytest.fail(f"not seen in {PATIENCE} streams: {broken}")
