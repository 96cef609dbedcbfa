"""A proposal made ready for judgement: entries merged, fates decided (contract section 4, steps 3 and 6)."""

from __future__ import annotations

from msgspec import Struct

from .events import Citation, PlanEntry, PlanProposed
from .policy import Policy
from .state import LiveSpan, Swap
from .window import Window


class Plan(Struct):
    """What a plan does to the window as it is.

    ``keeps``, ``evicted`` and ``compressed`` are of live spans only; ``cited`` is what each of ``keeps`` cites, as
    sent; ``compressing`` has all ids to be compressed.
    """

    plan_id: str
    threshold: float
    budget: int | None
    keeps: dict[str, PlanEntry]
    cited: list[list[str | Citation] | None]
    evicted: dict[str, LiveSpan]
    compressed: dict[str, LiveSpan]
    compressing: set[str]
    unknown: list[str]
    swaps: list[Swap]


def citations(items: list[str | Citation] | None) -> dict[str, float | None]:
    """Cited ids with their support, None where not given; of one id twice, missing support, else the larger, wins."""
    cited: dict[str, float | None] = {}
    for item in items or ():
        key, support = (item.span_id, item.support) if isinstance(item, Citation) else (item, None)
        cited[key] = _larger(cited[key], support) if key in cited else support
    return cited


def _larger(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else max(one, other)


def _merged(entries: list[PlanEntry]) -> PlanEntry:
    """One disposition twice: unknown provenance, the smaller relevance, missing support, else the larger support.

    All entries of a span at once: merged one by one, the work would grow with the square of their number.
    """
    cited: list[str | Citation] | None = []
    for entry in entries:
        if entry.cited_dependencies is None:
            cited = None
            break
        cited += entry.cited_dependencies
    if cited is not None:
        cited = [key if support is None else Citation(key, support) for key, support in citations(cited).items()]
    return PlanEntry(entries[0].span_id, min(entry.relevance for entry in entries), "keep", cited)


def read_plan(window: Window, event: PlanProposed, policy: Policy) -> Plan | None:
    """The plan against the live window, or None where a span has two dispositions: its fate would depend on order."""
    threshold = policy.keep_threshold if event.keep_threshold is None else event.keep_threshold
    keeps: dict[str, PlanEntry] = {}
    repeated: dict[str, list[PlanEntry]] = {}
    going: list[PlanEntry] = []
    for entry in event.entries:
        if entry.relevance < threshold if entry.disposition is None else entry.disposition != "keep":
            going.append(entry)
        elif entry.span_id in keeps:
            repeated.setdefault(entry.span_id, [keeps[entry.span_id]]).append(entry)
        else:
            keeps[entry.span_id] = entry
    for key, entries in repeated.items():
        keeps[key] = _merged(entries)
    fates = {entry.span_id: entry.disposition or "evict" for entry in going}
    if not keeps.keys().isdisjoint(fates):
        return None
    if len(fates) < len(going) and any(fates[e.span_id] != (e.disposition or "evict") for e in going):
        return None
    live, unknown = window.spans, []
    if not live.keys() >= keeps.keys():
        unknown = [key for key in keeps if key not in live]
        keeps = {key: entry for key, entry in keeps.items() if key in live}
    unknown += [key for key in fates if key not in live]
    compressing = {key for key, fate in fates.items() if fate == "compress"}
    evicted = {key: live[key] for key in fates if key not in compressing and key in live}
    compressed = {key: live[key] for key in compressing if key in live}
    cited = [entry.cited_dependencies for entry in keeps.values()]
    swaps = [
        Swap(r.span_id, tuple(r.covers), r.cost_units, r.priority, bool(r.in_place)) for r in event.replacements or ()
    ]
    return Plan(
        event.plan_id,
        threshold,
        event.budget_units,
        keeps,
        cited,
        evicted,
        compressed,
        compressing,
        sorted(unknown),
        swaps,
    )
