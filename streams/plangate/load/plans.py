"""Plans as simulated proposers make them (contract section 2), from what a runtime knows of its window."""

from __future__ import annotations

from collections.abc import Callable, Collection
from itertools import islice

import msgspec

from .mirror import Mirror

EVICT_SHARE, SUMMARY_SHARE = 0.4, 0.1
_ENCODE = msgspec.json.Encoder().encode


class Plan(msgspec.Struct, frozen=True):
    """What goes and what is said to stay, for one generation; `changes` is the mirror's count when it was made."""

    generation: int
    changes: int
    evict: tuple[str, ...] = ()
    compress: tuple[str, ...] = ()
    keep: tuple[tuple[str, tuple[str, ...]], ...] = ()  # span id, what its score cites
    replacement_cost: int = 0

    @property
    def empty(self) -> bool:
        return not self.evict and not self.compress


def trim_oldest(mirror: Mirror, avoid: Collection[str], entries: int) -> Plan:
    """The oldest go until 0.4 of the listed cost is gone: a cut by count, blind to pairs."""
    listed = _listed(mirror, avoid, entries)
    target = EVICT_SHARE * sum(mirror.live[span_id].cost_units for span_id in listed)
    evict: list[str] = []
    for span_id in listed:
        if target <= 0:
            break
        evict.append(span_id)
        target -= mirror.live[span_id].cost_units
    keep = tuple((span_id, mirror.live[span_id].partners[:1]) for span_id in listed[len(evict) :])
    return Plan(mirror.generation, mirror.changes, evict=tuple(evict), keep=keep)


def drop_big_results(mirror: Mirror, avoid: Collection[str], entries: int) -> Plan:
    """The costliest half of the tool results goes, every second one with its call; blind to pairs and prefixes."""
    live = mirror.live
    results = [key for key, fact in live.items() if fact.kind == "tool_result" and key not in avoid]
    results.sort(key=lambda key: (-live[key].cost_units, key))
    half = results[: max(1, min(entries, len(results)) // 2)]
    calls = [call for key in half[::2] for call in live[key].partners if call in live and call not in avoid]
    return Plan(mirror.generation, mirror.changes, evict=tuple(dict.fromkeys(half + calls)))


def summarise(mirror: Mirror, avoid: Collection[str], entries: int) -> Plan:
    """The oldest half of the entries is compressed into one summary of a tenth of the cost."""
    covers = _listed(mirror, avoid, entries // 2)
    cost = int(SUMMARY_SHARE * sum(mirror.live[span_id].cost_units for span_id in covers))
    return Plan(mirror.generation, mirror.changes, compress=tuple(covers), replacement_cost=max(1, cost))


def resolved(plan: Plan, retain: Collection[str], generation: int) -> Plan:
    """The same plan without what a refusal wants retained, for the generation that the refusal judged."""
    stay = set(retain)
    covers = tuple(span_id for span_id in plan.compress if span_id not in stay)
    cost = max(1, plan.replacement_cost * len(covers) // max(1, len(plan.compress)))
    evict = tuple(span_id for span_id in plan.evict if span_id not in stay)
    return msgspec.structs.replace(
        plan, generation=generation, evict=evict, compress=covers, replacement_cost=cost if covers else 0
    )


STRATEGIES: tuple[Callable[[Mirror, Collection[str], int], Plan], ...] = (trim_oldest, drop_big_results, summarise)


def plan_value(plan: Plan, window_id: str, plan_id: str, rationale: str) -> bytes:
    """The record's value."""
    entries = [
        {"span_id": span_id, "relevance": 0.1, "disposition": word, "cited_dependencies": [], "rationale": rationale}
        for word, ids in (("evict", plan.evict), ("compress", plan.compress))
        for span_id in ids
    ]
    entries += [
        {"span_id": span_id, "relevance": 0.8, "cited_dependencies": list(cited), "rationale": rationale}
        for span_id, cited in plan.keep
    ]
    summary = {"span_id": f"{plan_id}.summary", "covers": list(plan.compress), "cost_units": plan.replacement_cost}
    return _ENCODE(
        {
            "window_id": window_id,
            "type": "plan_proposed",
            "plan_id": plan_id,
            "window_generation": plan.generation,
            "entries": entries,
            "replacements": [summary] if plan.compress else [],
            "proposer": "plangate-load",
        }
    )


def _listed(mirror: Mirror, avoid: Collection[str], entries: int) -> list[str]:
    """The oldest live spans, without instructions, pending obligations, what is to be avoided, and, where signed
    thinking needs all before it, what stands before that."""
    free = 0
    for place, fact in enumerate(mirror.live.values(), 1):
        if fact.needs_prefix:
            free = place
    fit = (
        span_id
        for span_id, fact in islice(mirror.live.items(), free, None)
        if fact.kind != "system" and span_id not in mirror.open and span_id not in avoid
    )
    return list(islice(fit, entries))
