"""Planner: which spans leave a window of 100,000 when about 100 must, against the first document's reference."""

from __future__ import annotations

from random import Random
from typing import Any

from plangate.core.planner import strict_priority
from plangate.core.window import Window
from plangate.wire.engine import Engine

from .first_seed import ContextEntry, plan_eviction
from .inputs import append, event, of_type, record, spans
from .measure import Spread, interleaved, ratios
from .report import Row

W = "window-1"
EVICTIONS = 100


def run(tiny: bool) -> list[Row]:
    size, repeats = (500, 2) if tiny else (100_000, 15)
    engine, windows = Engine(), _window(size)
    window = windows[W]
    entries = [ContextEntry(s.id, s.priority, s.pinned, s.cost, s.used) for s in window.spans.values()]
    budget = window.cost - EVICTIONS * (window.cost // size)
    wanted = plan_eviction(entries, budget)
    ours = strict_priority(window, budget)
    request = record(W, 10**6, event("budget_requested", W, request_id="r-1", budget_units=budget))
    (planned,) = (made for made in of_type(engine.process(windows, request), "eviction-plans"))
    assert (ours.status, tuple(ours.evicted), ours.used) == (wanted.status, wanted.evicted_ids, wanted.used_cost_units)
    assert planned["evicted_ids"] == ours.evicted
    assert planned["retained_ids"] == sorted(entry.id for entry in wanted.retained)
    jobs: dict[str, Any] = {
        "ours": lambda: lambda: strict_priority(window, budget),
        "request": lambda: lambda: engine.process(windows, request),
        "peer": lambda: lambda: plan_eviction(entries, budget),
    }
    seconds = interleaved(jobs, repeats)
    micros = {name: Spread.of(figures).scaled(1e6) for name, figures in seconds.items()}
    faster = ratios(seconds["peer"], seconds["ours"])
    beside = f"{micros['ours']} µs; peer {micros['peer']} µs"
    what = f"{len(ours.evicted)} of {size:,} spans must leave: times faster"
    whole = ratios(seconds["peer"], seconds["request"])
    words = f"the whole request, which also publishes {size:,} retained ids and ranks: times faster"
    return [
        Row("planner", what, faster, beside, 20, at_most=False),
        Row("planner", words, whole, f"{micros['request']} µs"),
    ]


def _window(size: int) -> dict[str, Window]:
    """Live spans with priorities and recency of their own, and the order that the window keeps once it was asked."""
    dice, engine, windows = Random(4), Engine(), dict[str, Window]()
    for offset, first in enumerate(range(0, size, 1000)):
        items = spans(min(1000, size - first), dice, first)
        for item in items:
            item |= {"priority": dice.randrange(10), "last_used_order": dice.randrange(size)}
        engine.process(windows, record(W, offset, append(W, items)))
    strict_priority(windows[W], 0)
    return windows
