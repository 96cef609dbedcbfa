"""A proposal made ready for judgement: entries merged, fates decided (contract section 4, steps 3 and 6)."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from .events import Citation, PlanEntry, PlanProposed
from .policy import Policy
from .state import LiveSpan, Swap
from .window import Window


class Plan(Struct):
    """What a plan does to the window as it is.

    ``keeps``, ``evicted`` and ``compressed`` are of live spans only; ``compressing`` has all ids to be compressed.
    """

    plan_id: str
    threshold: float
    budget: int | None
    keeps: dict[str, PlanEntry]
    evicted: dict[str, LiveSpan]
    compressed: dict[str, LiveSpan]
    compressing: set[str]
    unknown: list[str]
    swaps: list[Swap]


def citations(entry: PlanEntry) -> dict[str, float | None]:
    """Cited ids with their support, None where not given; of one id twice, missing support, else the larger, wins."""
    cited: dict[str, float | None] = {}
    for item in entry.cited_dependencies or ():
        key, support = (item.span_id, item.support) if isinstance(item, Citation) else (item, None)
        cited[key] = _larger(cited[key], support) if key in cited else support
    return cited


def cited_ids(entries: Iterable[PlanEntry]) -> set[str]:
    """Every id that any of these entries cites."""
    return {
        item if isinstance(item, str) else item.span_id for entry in entries for item in entry.cited_dependencies or ()
    }


def _larger(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else max(one, other)


def _merged(one: PlanEntry, other: PlanEntry) -> PlanEntry:
    """One disposition twice: unknown provenance, the smaller relevance, missing support, else the larger support."""
    cited = None
    if one.cited_dependencies is not None and other.cited_dependencies is not None:
        cited = [*one.cited_dependencies, *other.cited_dependencies]
    return PlanEntry(one.span_id, min(one.relevance, other.relevance), "keep", cited)


def read_plan(window: Window, event: PlanProposed, policy: Policy) -> Plan | None:
    """The plan against the live window, or None where a span has two dispositions: its fate would depend on order."""
    threshold = policy.keep_threshold if event.keep_threshold is None else event.keep_threshold
    fates: dict[str, str] = {}
    keeps: dict[str, PlanEntry] = {}
    evicted: dict[str, LiveSpan] = {}
    compressed: dict[str, LiveSpan] = {}
    unknown: list[str] = []
    live = window.spans
    for entry in event.entries:
        key = entry.span_id
        fate = entry.disposition or ("evict" if entry.relevance < threshold else "keep")
        if key in fates:
            if fates[key] != fate:
                return None
            if key in keeps:
                keeps[key] = _merged(keeps[key], entry)
            continue
        fates[key] = fate
        if key not in live:
            unknown.append(key)
        elif fate == "keep":
            keeps[key] = entry
        elif fate == "evict":
            evicted[key] = live[key]
        else:
            compressed[key] = live[key]
    compressing = (
        {key for key in fates if fates[key] == "compress"} if len(keeps) + len(evicted) < len(fates) else set()
    )
    swaps = [
        Swap(r.span_id, tuple(r.covers), r.cost_units, r.priority, bool(r.in_place)) for r in event.replacements or ()
    ]
    return Plan(
        event.plan_id, threshold, event.budget_units, keeps, evicted, compressed, compressing, sorted(unknown), swaps
    )
