"""Limits of a window's policy that are tighter than the decoder's (contract section 7)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .events import Citation, Event, PlanProposed, Span, SpanAppended, SpanEdited, WindowResynced
from .policy import Limits

_DEFAULT = Limits()


def plan_paths(plan: PlanProposed, limits: Limits) -> list[str]:
    """Field paths at which a plan exceeds ``limits``."""
    if limits == _DEFAULT:
        return []
    return sorted(set(_plan_paths(plan, limits)))


def _plan_paths(plan: PlanProposed, limits: Limits) -> Iterator[str]:
    if len(plan.entries) > limits.entries_per_plan:
        yield "entries"
    if abs(plan.window_generation) > limits.integer:
        yield "window_generation"
    if abs(plan.budget_units or 0) > limits.integer:
        yield "budget_units"
    for i, entry in enumerate(plan.entries):
        if _long(entry.span_id, limits):
            yield f"entries[{i}].span_id"
        cited = entry.cited_dependencies or ()
        if len(cited) > limits.dependencies:
            yield f"entries[{i}].cited_dependencies"
        if any(_long(c.span_id if isinstance(c, Citation) else c, limits) for c in cited):
            yield f"entries[{i}].cited_dependencies"
    for i, swap in enumerate(plan.replacements or ()):
        if _long(swap.span_id, limits):
            yield f"replacements[{i}].span_id"
        if swap.cost_units > limits.integer or abs(swap.priority or 0) > limits.integer:
            yield f"replacements[{i}].cost_units"


def _long(text: str, limits: Limits) -> bool:
    return len(text.encode()) > limits.id_bytes


def event_path(event: Event, limits: Limits) -> str | None:
    """The first field path at which an event that carries spans exceeds ``limits``, else None."""
    if limits == _DEFAULT or not isinstance(event, SpanAppended | WindowResynced | SpanEdited):
        return None
    spans = [event.span] if isinstance(event, SpanEdited) else event.spans
    if len(spans) > limits.spans_per_event:
        return "spans"
    return next((f"spans[{i}].{path}" for i, span in enumerate(spans) for path in _span_paths(span, limits)), None)


def _span_paths(span: Span, limits: Limits) -> Iterator[str]:
    if _long(span.span_id, limits):
        yield "span_id"
    numbers: tuple[Any, ...] = (span.cost_units, span.priority, span.last_used_order)
    if any(abs(n or 0) > limits.integer for n in numbers):
        yield "cost_units"
    for name in ("depends_on", "needs_verbatim", "required_by", "pairs_with", "closes"):
        ids = getattr(span, name) or ()
        if len(ids) > limits.dependencies or any(_long(i, limits) for i in ids):
            yield name
