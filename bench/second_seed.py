"""The second document's reference function, written anew from its description: what a team would put into its agent.

It takes a plan as parsed JSON, checks the generation, that re-scoring is possible, and that no kept entry cites an
evicted span, and gives the sorted ids to evict.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

THRESHOLD = 0.5


class PlanRefused(RuntimeError):
    """The plan can't be committed; ``orphans`` maps each kept entry to what it cites of the evicted."""

    def __init__(self, words: str, orphans: dict[str, set[str]] | None = None) -> None:
        super().__init__(words)
        self.orphans = orphans or {}


@dataclass
class Entry:
    span_id: str
    relevance: float
    cited_dependencies: set[str] = field(default_factory=set)


@dataclass
class EvictionPlan:
    window_generation: int
    entries: list[Entry]


def read_plan(value: bytes) -> EvictionPlan:
    """A plan from its JSON, by the standard library."""
    document: dict[str, Any] = json.loads(value)
    entries = [Entry(e["span_id"], e["relevance"], set(e["cited_dependencies"])) for e in document["entries"]]
    return EvictionPlan(document["window_generation"], entries)


def validate(plan: EvictionPlan, live_generation: int, can_rescore: bool) -> list[str]:
    """The ids to evict, sorted, or PlanRefused."""
    if plan.window_generation != live_generation:
        raise PlanRefused(f"plan of generation {plan.window_generation}, live is {live_generation}: defer")
    if not can_rescore:
        raise PlanRefused("no way to re-score: defer")
    evicted = {entry.span_id for entry in plan.entries if entry.relevance < THRESHOLD}
    kept = [entry for entry in plan.entries if entry.span_id not in evicted]
    orphans: dict[str, set[str]] = {}
    for entry in kept:
        if broken := entry.cited_dependencies & evicted:
            orphans[entry.span_id] = broken
    if orphans:
        detail = "; ".join(f"{key} rests on {sorted(broken)}" for key, broken in orphans.items())
        raise PlanRefused(f"{len(orphans)} kept entries would be orphans: {detail}", orphans)
    return sorted(evicted)
