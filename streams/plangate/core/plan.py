"""A proposal made ready for judgement: entries merged, fates decided (contract section 4, steps 3 and 6)."""

from __future__ import annotations

from msgspec import Struct

from .events import Citation, PlanEntry, PlanProposed
from .policy import Policy
from .state import LiveSpan, Swap
from .window import Window


class Keep(Struct):
    """A kept entry of a live span. ``cited`` is None where provenance is unknown; support None where not given."""

    relevance: float
    cited: dict[str, float | None] | None


class Plan(Struct):
    """What a plan does to the window as it is. ``evicted`` and ``compressed`` hold live spans only."""

    plan_id: str
    threshold: float
    budget: int | None
    fates: dict[str, str]
    keeps: dict[str, Keep]
    evicted: dict[str, LiveSpan]
    compressed: dict[str, LiveSpan]
    unknown: list[str]
    swaps: list[Swap]


def citations(entry: PlanEntry) -> dict[str, float | None] | None:
    """Cited ids with their support; of one id twice, missing support, else the larger, wins."""
    if entry.cited_dependencies is None:
        return None
    cited: dict[str, float | None] = {}
    for item in entry.cited_dependencies:
        key, support = (item.span_id, item.support) if isinstance(item, Citation) else (item, None)
        cited[key] = _larger(cited[key], support) if key in cited else support
    return cited


def _larger(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else max(one, other)


def _merged(one: Keep, other: Keep) -> Keep:
    """One disposition twice: unknown provenance, the smaller relevance, missing support, else the larger support."""
    cited = None
    if one.cited is not None and other.cited is not None:
        cited = dict(one.cited)
        for key, support in other.cited.items():
            cited[key] = _larger(cited[key], support) if key in cited else support
    return Keep(min(one.relevance, other.relevance), cited)


def read_plan(window: Window, event: PlanProposed, policy: Policy) -> Plan | None:
    """The plan against the live window, or None where a span has two dispositions: its fate would depend on order."""
    threshold = policy.keep_threshold if event.keep_threshold is None else event.keep_threshold
    fates: dict[str, str] = {}
    keeps: dict[str, Keep] = {}
    evicted: dict[str, LiveSpan] = {}
    compressed: dict[str, LiveSpan] = {}
    unknown: dict[str, None] = {}
    live = window.spans
    for entry in event.entries:
        key = entry.span_id
        fate = entry.disposition or ("evict" if entry.relevance < threshold else "keep")
        held = fates.setdefault(key, fate)
        if held != fate:
            return None
        span = live.get(key)
        if span is None:
            unknown[key] = None
        elif fate == "keep":
            keep = Keep(entry.relevance, citations(entry))
            keeps[key] = _merged(keeps[key], keep) if key in keeps else keep
        elif fate == "evict":
            evicted[key] = span
        else:
            compressed[key] = span
    swaps = [
        Swap(r.span_id, tuple(r.covers), r.cost_units, r.priority, bool(r.in_place)) for r in event.replacements or ()
    ]
    return Plan(event.plan_id, threshold, event.budget_units, fates, keeps, evicted, compressed, sorted(unknown), swaps)
