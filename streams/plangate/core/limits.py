"""Limits of a window's policy that are tighter than the decoder's (contract section 7)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from .events import (
    BudgetRequested,
    Event,
    MalformedPlan,
    ObservedEntry,
    PlannerObserved,
    PlanProposed,
    PolicySet,
)
from .policy import Limits

_DEFAULT = Limits()
#: which limit holds for the length of a list, by its field
_LENGTHS = {
    "spans": "spans_per_event", "derived_from": "spans_per_event",
    "depends_on": "dependencies", "needs_verbatim": "dependencies", "required_by": "dependencies",
    "pairs_with": "dependencies", "closes": "dependencies", "cited_dependencies": "dependencies",
    "entries": "entries_per_plan", "replacements": "entries_per_plan", "covers": "entries_per_plan",
    "span_ids": "entries_per_plan",
    "retrieved_ids": "live_spans", "eligible_ids": "live_spans", "retained_ids": "live_spans",
    "evicted_ids": "live_spans", "rendered_ids": "live_spans",
}  # fmt: skip
#: words of closed lists and names that operators give, and what is read but never kept
_NO_IDS = frozenset(
    {"kind", "disposition", "commit_order", "scorer", "planner", "policy_version", "status", "pin_owner", "pin_reason",
     "reason", "reviewer", "policy"}
)  # fmt: skip
#: what the planners judge themselves (contract section 5); it may be anything, nested to any depth
_JUDGED_LATER = frozenset(
    {(BudgetRequested, "budget_units"), (PlannerObserved, "budget_units"), (ObservedEntry, "cost_units")}
)


def plan_paths(plan: PlanProposed, limits: Limits) -> list[str]:
    """Field paths at which a plan exceeds ``limits``."""
    return [] if limits == _DEFAULT else sorted(set(_paths(plan, limits)))


def event_path(event: Event, limits: Limits) -> str | None:
    """The first field path at which an event exceeds ``limits``, else None.

    A plan that can be attributed is answered instead, with all paths. A policy must always be replaceable.
    """
    if limits == _DEFAULT or isinstance(event, PolicySet):
        return None
    if isinstance(event, PlanProposed | MalformedPlan):
        names = ("window_id", "plan_id")
        return next((name for name in names if len(getattr(event, name).encode()) > limits.id_bytes), None)
    return next(_paths(event, limits), None)


def _paths(node: Any, limits: Limits, path: str = "", name: str = "") -> Iterator[str]:
    """Paths of too long ids, too large numbers and too long lists; events nest to a fixed depth."""
    if isinstance(node, Struct):
        for field in node.__struct_fields__:
            if (type(node), field) in _JUDGED_LATER:
                continue
            value, below = getattr(node, field), f"{path}.{field}" if path else field
            if isinstance(value, list):
                observed = isinstance(node, PlannerObserved) and field == "entries"
                if len(value) > getattr(limits, "live_spans" if observed else _LENGTHS[field]):
                    yield below
                    continue
            yield from _paths(value, limits, below, field)
    elif isinstance(node, list):
        for i, item in enumerate(node):
            yield from _paths(item, limits, f"{path}[{i}]", name)
    elif isinstance(node, str):
        if name not in _NO_IDS and len(node.encode()) > limits.id_bytes:
            yield path
    elif isinstance(node, int | float) and not isinstance(node, bool) and abs(node) > limits.integer:
        yield path
