"""A small log of three windows with every kind of audit record, and ways to spoil it."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple

from plangate.core.policy import Policy
from plangate.wire.audit import AUDITED, Finding, Head, Recomputed, Summary, Verifier, seen_line
from plangate.wire.replay import replay_lines

CHAIN = "audit-log"


def _span(name: str, cost: int = 4, **more: Any) -> dict[str, Any]:
    return {"span_id": name, "kind": "user", "cost_units": cost, **more}


def _plan(name: str, generation: int, *going: str, **more: Any) -> dict[str, Any]:
    entries = [{"span_id": key, "relevance": 0.1, "cited_dependencies": []} for key in going]
    return {"type": "plan_proposed", "plan_id": name, "window_generation": generation, "entries": entries, **more}


def _append(*spans: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "span_appended", "spans": list(spans), **more}


def _signed(event: dict[str, Any]) -> dict[str, Any]:
    return {"value": event, "source": "policy_store"}


def _story(window: str) -> Iterator[dict[str, Any]]:
    pin = {"type": "span_pinned", "span_id": "a", "pin_owner": "o", "pin_reason": "r"}
    yield _plan("early", 0, "a")  # deferred, unknown_window: no link
    yield _append(_span("a"), _span("b", depends_on=["a"]), _span("c"))
    yield _signed(_append(_span("d", pinned=True, pin_owner="o", pin_reason="r")))
    yield _signed(pin)
    yield _plan("pinned", 3, "a")
    yield _signed({"type": "span_unpinned", "span_id": "a", "reason": "r"})
    yield _plan("orphans", 4, "a")
    yield _plan("orphans", 4, "a")  # answered again, byte for byte
    yield _plan("stale", 2, "c")
    yield {"type": "span_edited", "span": _span("c", 5)}
    yield _plan("good", 5, "c")
    approval = {"type": "compression_approved", "span_id": "d", "replacement_id": "s", "cost_units": 1}
    yield _signed({**approval, "reviewer": "v", "reason": "r"})
    yield {"type": "spans_removed", "span_ids": ["b"]}
    yield {"type": "window_resynced", "spans": [_span("a"), _span("e")]}
    if window == "w-2":
        yield _signed({"type": "policy_set", "policy": {"policy_version": "2", "commit": "on_confirm"}})
        yield _plan("waits", 9, "e")
        yield _plan("pending", 9, "a")
        yield _append(_span("f"))  # lapses what waits


def _inputs() -> Iterator[bytes]:
    stories = [(name, list(_story(name))) for name in ("w-1", "w-2", "w-3")]
    for step in range(max(len(events) for _, events in stories)):
        for name, events in stories:
            if step < len(events) and not (name == "w-3" and step > 5):
                event = events[step]
                event.get("value", event)["window_id"] = name
                yield json.dumps(event).encode()


INPUTS = list(_inputs())


class Report(NamedTuple):
    findings: list[Finding]
    summary: Summary
    heads: list[Head]

    @property
    def kinds(self) -> list[str]:
        return [finding.finding for finding in self.findings]


@cache
def sample() -> tuple[bytes, ...]:
    """The lines of the three audited topics, as ``plangate replay`` prints them."""
    return tuple(line for line in replay_lines(INPUTS) if json.loads(line)["topic"] in AUDITED)


@cache
def links() -> tuple[bytes, ...]:
    return tuple(line for line in sample() if json.loads(line)["topic"] == CHAIN)


def verify(text: bytes | Iterable[bytes], inputs: Iterable[bytes] | None = None, **options: Any) -> Report:
    """Of a file's bytes or lines; with ``inputs`` compared with what these give."""
    topics = AUDITED[:1] if options.get("chain_only") else AUDITED
    recomputed = None
    if inputs is not None:
        recomputed = Recomputed(topics, allow_repeats=options.get("allow_repeats", False))
        recomputed.add_lines(inputs, Policy())
    verifier = Verifier(recomputed=recomputed, **options)
    lines = text.split(b"\n") if isinstance(text, bytes) else text
    findings = [f for n, line in enumerate(lines, 1) if line.strip() for f in verifier.take(seen_line(line, n))]
    findings += verifier.end()
    return Report(findings, verifier.summary(), list(verifier.heads()))


class Tape:
    """Lines fed to one verifier; from any line on, another ending can be tried without reading the start again."""

    def __init__(self, lines: Iterable[bytes], inputs: Iterable[bytes] | None = None, **options: Any) -> None:
        self.lines = list(lines)
        recomputed = None
        if inputs is not None:
            recomputed = Recomputed(AUDITED[:1] if options.get("chain_only") else AUDITED)
            recomputed.add_lines(inputs, Policy())
        verifier = Verifier(recomputed=recomputed, **options)
        self.states = [pickle.dumps(verifier)]
        for number, line in enumerate(self.lines, 1):
            assert not list(verifier.take(seen_line(line, number)))
            self.states.append(pickle.dumps(verifier))

    def finds(self, start: int, ending: Iterable[bytes]) -> bool:
        """Whether the lines before ``start`` with another ending are a finding; stops at the first."""
        verifier: Verifier = pickle.loads(self.states[start])
        for number, line in enumerate(ending, start + 1):
            if line.strip() and any(True for _ in verifier.take(seen_line(line, number))):
                return True
        return any(True for _ in verifier.end())

    def missed_flips(self, bits: range) -> set[int]:
        """Numbers of the lines in which some flipped bit is no finding; all of ``bits`` of a byte, or one in turn."""
        missed = set()
        for number, line in enumerate(self.lines):
            rest = self.lines[number + 1 :]
            for place in range(len(line)):
                for bit in bits if len(bits) > 1 else [place % 8]:
                    flipped = line[:place] + bytes([line[place] ^ 1 << bit]) + line[place + 1 :]
                    if not self.finds(number, [*flipped.split(b"\n"), *rest]):
                        missed.add(number)
        return missed
