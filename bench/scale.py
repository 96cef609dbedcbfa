"""Scale of a plan: the same 100-entry plan on windows of 1,000 to 100,000 spans costs the plan, not the window."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from plangate.core.window import Window
from plangate.wire.engine import Engine, Out

from .inputs import Copies, event, filled, of_type, record
from .measure import Spread, interleaved, ratios
from .report import Row

W = "window-1"
ENTRIES, PAIRS = 100, 10


def plan(window: Window, dice: Random) -> bytes:
    """Entries spread over the window. What goes are pairs on which nothing else depends, so every size accepts it."""
    spans = list(window.spans.values())
    free = [
        (even.id, odd.id)
        for even, odd in zip(spans[::2], spans[1::2], strict=False)
        if not {*window.dependents.of(even.id), *window.dependents.of(odd.id)} - {even.id, odd.id}
    ]
    gone = {key for pair in dice.sample(free, PAIRS) for key in pair}
    kept = dice.sample([span.id for span in spans if span.id not in gone], ENTRIES - len(gone))
    entries = [{"span_id": key, "relevance": 0.1, "cited_dependencies": []} for key in gone]
    entries += [{"span_id": key, "relevance": 0.9, "cited_dependencies": [dice.choice(kept)]} for key in kept]
    fields = {"window_generation": window.head.generation, "entries": sorted(entries, key=lambda e: e["span_id"])}
    return event("plan_proposed", W, plan_id="plan-1", **fields)


def run(tiny: bool) -> list[Row]:
    sizes = (500, 1_000) if tiny else (1_000, 10_000, 100_000)
    jobs = {}
    for size in sizes:
        window = filled(W, size, Random(size))[W]
        job = _job(Copies(window), plan(window, Random(3)))
        (decision,) = of_type(job()(), "plan-decisions")
        assert len(decision["evicted_ids"]) == 2 * PAIRS, decision["type"]
        jobs[f"{size:,}"] = job
    seconds = interleaved(jobs, 2 if tiny else 15)
    beside = "; ".join(f"{size} spans {Spread.of(figures).scaled(1e6)} µs" for size, figures in seconds.items())
    smallest, *_, largest = jobs
    ratio = ratios(seconds[largest], seconds[smallest])
    return [Row("scale", f"a {ENTRIES}-entry plan, {largest} spans : {smallest} spans", ratio, beside, 1.5)]


def _job(copies: Copies, value: bytes) -> Callable[[], Callable[[], list[Out]]]:
    def set_up() -> Callable[[], Any]:
        engine, windows, given = Engine(), copies.take(), record(W, 10**6, value)
        return lambda: engine.process(windows, given)

    return set_up
