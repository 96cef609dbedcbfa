"""The deterministic planners (contract section 5; the first seed's oracle is ``strict-priority/1``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec import Struct

from .state import LiveSpan
from .window import Window

BLOCKED = "pinned context exceeds the available budget"


class Outcome(Struct):
    """A planner's answer. ``evicted`` in eviction order; the two last only where blocked."""

    status: str
    evicted: list[str]
    used: int
    reason: str | None = None
    pinned_units: int | None = None
    shortfall_units: int | None = None


class Entry(Struct):
    """A context entry as the oracle sees it; ``cost_units`` is whatever was observed until it is checked."""

    id: str
    priority: int
    pinned: bool
    cost_units: Any
    last_used_order: int


def is_count(value: Any) -> bool:
    """A non-negative integer; a bool is no number."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def take_until(order: Iterable[tuple[str, int]], total: int, budget: int, pinned_units: Callable[[], int]) -> Outcome:
    """Evict (id, cost) in order until ``total`` fits; blocked, with nothing evicted, where that can't be reached."""
    if total <= budget:
        return Outcome("fits", [], total)
    evicted, remaining = [], total
    for key, cost in order:
        if remaining <= budget:
            break
        evicted.append(key)
        remaining -= cost
    if remaining <= budget:
        return Outcome("fits", evicted, remaining)
    units = pinned_units()
    return Outcome("blocked", [], total, BLOCKED, units, units - budget)


def oracle(entries: Sequence[Entry], budget: Any) -> Outcome:
    """``strict-priority/1`` over free-standing entries. Input order never matters."""
    if not is_count(budget):
        return Outcome("rejected", [], 0, "budget must be a non-negative integer")
    ids = [entry.id for entry in entries]
    if not all(ids):
        return Outcome("rejected", [], 0, "every context entry needs a non-empty id")
    if len(set(ids)) < len(ids):
        return Outcome("rejected", [], 0, "context entry ids must be unique")
    if not all(is_count(entry.cost_units) and entry.cost_units > 0 for entry in entries):
        return Outcome("rejected", [], 0, "cost_units must be positive integers")
    ranked = sorted((e for e in entries if not e.pinned), key=lambda e: (e.priority, e.last_used_order, e.id))
    total = sum(entry.cost_units for entry in entries)
    pinned = sum(entry.cost_units for entry in entries if entry.pinned)
    return take_until(((e.id, e.cost_units) for e in ranked), total, budget, lambda: pinned)


def strict_priority(window: Window, budget: int) -> Outcome:
    """``strict-priority/1`` over the live window, from its maintained order: the cost is what leaves."""
    spans = window.spans
    order = ((key, spans[key].cost) for _, _, key in window.ranked())
    return take_until(order, window.cost, budget, lambda: sum(s.cost for s in spans.values() if s.pinned))


def dependency_closed(window: Window, budget: int) -> Outcome:
    """``dependency-closed/1``: the same order over units that can leave without orphaning anything."""
    total = window.cost
    if total <= budget:
        return Outcome("fits", [], total)
    stuck = _stuck(window)
    gone: set[str] = set()
    evicted: list[str] = []
    remaining = total
    prefix_floor = _Floor(window)
    for _, _, key in window.ranked():
        if remaining <= budget:
            break
        if key in gone or key in stuck:
            continue
        unit = _unit(window, key, gone, prefix_floor)
        evicted += sorted(unit, key=lambda k: (window.spans[k].priority, window.spans[k].used, k))
        remaining -= sum(window.spans[k].cost for k in unit)
    if remaining <= budget:
        return Outcome("fits", evicted, remaining)
    units = sum(window.spans[k].cost for k in stuck)
    return Outcome("blocked", [], total, BLOCKED, units, units - budget)


class _Floor:
    """The needs_prefix spans that do not go yet, from the last place down to the smallest place that goes."""

    def __init__(self, window: Window) -> None:
        self.prefixes = list(window.prefixes)

    def later(self, place: int) -> list[str]:
        found = []
        while self.prefixes and self.prefixes[-1][0] > place:
            found.append(self.prefixes.pop()[1])
        return found


def _unit(window: Window, first: str, gone: set[str], floor: _Floor) -> list[str]:
    """What must go together with ``first``: dependants, partners and later needs_prefix spans, transitively."""
    unit, stack = [], [first]
    gone.add(first)
    while stack:
        key = stack.pop()
        unit.append(key)
        span = window.spans[key]
        for other in (*window.dependents.of(key), *window.partners(span), *floor.later(span.place)):
            if other in window.spans and other not in gone:
                gone.add(other)
                stack.append(other)
    return unit


def _stuck(window: Window) -> set[str]:
    """Spans whose unit holds a pinned or open span: all it needs, pairs with, or stands behind unchanged."""
    stuck = {key for key, span in window.spans.items() if span.pinned or span.open}
    stack = list(stuck)
    by_place: list[LiveSpan] | None = None
    reached = 0
    while stack:
        span = window.spans[stack.pop()]
        found = [*window.needs(span), *window.partners(span)]
        if span.prefix:
            by_place = by_place or sorted(window.spans.values(), key=lambda s: s.place)
            while reached < len(by_place) and by_place[reached].place < span.place:
                found.append(by_place[reached].id)
                reached += 1
        for other in found:
            if other in window.spans and other not in stuck:
                stuck.add(other)
                stack.append(other)
    return stuck


PLANNERS: dict[str, Callable[[Window, int], Outcome]] = {
    "strict-priority/1": strict_priority,
    "dependency-closed/1": dependency_closed,
}
