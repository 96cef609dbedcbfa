"""Core: decode and decide the second document's plan, against the json module and its reference function."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from plangate.core.context import Context
from plangate.core.gate import decide
from plangate.core.records import PlanAccepted, PlanRefused, Source
from plangate.wire.decode import decode
from plangate.wire.engine import Engine

from . import second_seed
from .inputs import Copies, Json, event, filled, of_type, record, span_id, text
from .measure import Spread, interleaved, ratios
from .report import Row

W = "window-1"
SPANS, EVICTED, ORPHANED, RATIONALE = 312, 61, 14, 80
LIMIT = 8 * 1024 * 1024


def plan(orphaned: int, dice: Random) -> bytes:
    """The plan that was observed: kept entries cite 1.5 kept spans each, ``orphaned`` of them an evicted one too."""
    ids = [span_id(number) for number in range(SPANS)]
    gone = set(dice.sample(ids, EVICTED))
    kept = [key for key in ids if key not in gone]
    broken = set(dice.sample(kept, orphaned))
    entries: list[Json] = []
    for key in ids:
        cited = [] if key in gone else dice.sample(kept, dice.randint(0, 3))
        cited += [dice.choice(sorted(gone))] if key in broken else []
        relevance = round(dice.uniform(0.02, 0.2) if key in gone else dice.uniform(0.85, 0.97), 2)
        entry = {"span_id": key, "relevance": relevance, "cited_dependencies": cited}
        entries.append({**entry, "rationale": text(dice, RATIONALE)})
    return event("plan_proposed", W, plan_id="plan-1", window_generation=1, entries=entries)


def reference(value: bytes) -> list[str] | dict[str, set[str]]:
    try:
        return second_seed.validate(second_seed.read_plan(value), 1, True)
    except second_seed.PlanRefused as refused:
        return refused.orphans


def _reference(value: bytes) -> Callable[[], Callable[[], Any]]:
    return lambda: lambda: reference(value)


def run(tiny: bool) -> list[Row]:
    repeats, times = (2, 1) if tiny else (15, 20)
    # No declared edges: the reference knows only citations, so that both have the same to find.
    windows = filled(W, SPANS, Random(1), edges=False)
    copies, rows = Copies(windows[W]), []
    for orphaned, words in ((0, "committable"), (ORPHANED, f"{ORPHANED} orphans")):
        value = plan(orphaned, Random(2))
        _agree(value, copies)
        jobs = {"ours": _gate(value, copies), "whole": _whole(value, copies), "peer": _reference(value)}
        seconds = interleaved(jobs, repeats, times)
        micros = {name: Spread.of(figures).scaled(1e6) for name, figures in seconds.items()}
        beside = f"{micros['ours']} µs; peer {micros['peer']} µs"
        goal = 0.5 if not orphaned else None
        rows.append(Row("core", f"decode + decide, {words}", ratios(seconds["ours"], seconds["peer"]), beside, goal))
        what = f"the same with commit, audit chain and all records' bytes, {words}"
        rows.append(Row("core", what, ratios(seconds["whole"], seconds["peer"]), f"{micros['whole']} µs"))
    return rows


def _gate(value: bytes, copies: Copies) -> Callable[[], Callable[[], Any]]:
    def set_up() -> Callable[[], Any]:
        window = copies.take()[W]
        return lambda: _decide(value, window)

    return set_up


def _decide(value: bytes, window: Any) -> PlanAccepted | PlanRefused:
    proposal = decode(value, LIMIT)
    return decide(Context(window, proposal, Source(0, 1), signed=False), proposal)


def _whole(value: bytes, copies: Copies) -> Callable[[], Callable[[], Any]]:
    def set_up() -> Callable[[], Any]:
        engine, windows, given = Engine(), copies.take(), record(W, 1, value)
        return lambda: engine.process(windows, given)

    return set_up


def _agree(value: bytes, copies: Copies) -> None:
    """Ours and the reference's answers are the same, and so is what the whole engine publishes."""
    wanted = reference(value)
    decision = _decide(value, copies.take()[W])
    (published,) = of_type(Engine().process(copies.take(), record(W, 1, value)), "plan-decisions")
    if isinstance(wanted, list):
        assert (decision.__struct_config__.tag, published["type"]) == ("plan_accepted", "plan_accepted")
        assert decision.evicted_ids == published["evicted_ids"] == wanted
    else:
        assert (decision.__struct_config__.tag, published["type"]) == ("plan_refused", "plan_refused")
        assert published["reasons"] == ["orphans"]
        assert {o.span_id: {b.span_id for b in o.broken} for o in decision.orphans} == wanted
        assert {o["span_id"]: {b["span_id"] for b in o["broken"]} for o in published["orphans"]} == wanted
