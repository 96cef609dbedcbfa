"""The first document's planner, written anew from its description: a pure function over a list of context entries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

BLOCKED = "pinned context exceeds the available budget"


@dataclass(frozen=True)
class ContextEntry:
    id: str
    priority: int
    pinned: bool
    cost_units: int
    last_used_order: int


@dataclass(frozen=True)
class Eviction:
    status: str
    retained: tuple[ContextEntry, ...]
    evicted_ids: tuple[str, ...]
    used_cost_units: int
    reason: str | None = None


def plan_eviction(entries: Sequence[ContextEntry], budget: int) -> Eviction:
    """What leaves by ascending (priority, last_used_order, id) until the rest fits. Raises ValueError for bad input."""
    if isinstance(budget, bool) or not isinstance(budget, int) or budget < 0:
        raise ValueError("the budget must be a non-negative integer")
    ids = [entry.id for entry in entries]
    if any(not one for one in ids):
        raise ValueError("an entry has no id")
    if len(ids) != len(set(ids)):
        raise ValueError("an id is there twice")
    if any(isinstance(e.cost_units, bool) or not isinstance(e.cost_units, int) or e.cost_units <= 0 for e in entries):
        raise ValueError("a cost is no positive integer")
    everything = tuple(entries)
    cost = sum(entry.cost_units for entry in everything)
    if cost <= budget:
        return Eviction("fits", everything, (), cost)
    ranked = sorted((e for e in entries if not e.pinned), key=lambda e: (e.priority, e.last_used_order, e.id))
    chosen: list[str] = []
    left = cost
    for entry in ranked:
        if left <= budget:
            break
        chosen.append(entry.id)
        left -= entry.cost_units
    if left > budget:
        return Eviction("blocked", everything, (), cost, BLOCKED)
    gone = set(chosen)
    return Eviction("fits", tuple(e for e in everything if e.id not in gone), tuple(chosen), left)
