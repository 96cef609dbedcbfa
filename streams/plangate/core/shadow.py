"""Shadow comparison: another planner's answer against the oracle's, never applied (contract section 6)."""

from __future__ import annotations

from .context import Context
from .events import ObservedEntry, PlannerObserved
from .planner import Entry, Outcome, oracle
from .records import ShadowCompared

ORACLE = "strict-priority/1"
Rank = tuple[int, int, str]


def observe(ctx: Context, event: PlannerObserved) -> None:
    """Judge an observed decision on the entries it saw, and those entries against the live window."""
    entries = [Entry(e.id, e.priority, e.pinned, e.cost_units, e.last_used_order) for e in event.entries]
    ours = oracle(entries, event.budget_units)
    agree = event.status == ours.status and event.evicted_ids == ours.evicted
    evicted, retained, expected = set(event.evicted_ids), set(event.retained_ids), set(ours.evicted)
    by_id = {e.id: e for e in entries}
    broken = _broken(event, by_id)
    lowest = min((_rank(e) for e in event.entries if e.id in retained and not e.pinned), default=None)
    differences = []
    for key in sorted(by_id.keys() | evicted | retained):
        entry = by_id.get(key)
        old = "evicted" if key in evicted else "retained" if key in retained else "absent"
        new = "absent" if entry is None or ours.status == "rejected" else "evicted" if key in expected else "retained"
        cause = _data_cause(ctx, entry)
        if old == new and cause is None:
            continue
        if cause is None:
            cause = _defect(event, entry, old, new, broken, lowest)
        differences.append({"span_id": key, "old": old, "new": new, "cause": cause})
    if not agree and not differences and event.evicted_ids != ours.evicted:
        ranks = {key: i for i, key in enumerate(ours.evicted)}
        moved = [key for i, key in enumerate(event.evicted_ids) if ranks.get(key) != i]
        differences = [
            {"span_id": key, "old": "evicted", "new": "evicted", "cause": "order_ignored"} for key in sorted(moved)
        ]
    ctx.emit(
        ShadowCompared,
        case_id=event.case_id,
        planner_old=event.planner,
        planner_new=ORACLE,
        agree=agree,
        status_old=event.status,
        status_new=ours.status,
        differences=differences,
        broken_invariants=broken,
    )


def _broken(event: PlannerObserved, entries: dict[str, Entry]) -> list[str]:
    """The seed's invariants that an observed plan breaks."""
    evicted, retained = set(event.evicted_ids), set(event.retained_ids)
    broken = []
    if evicted & retained:
        broken.append("not_disjoint")
    if evicted | retained != entries.keys():
        broken.append("not_a_partition")
    if any(entries[k].pinned for k in evicted if k in entries):
        broken.append("pin_evicted")
    cost = sum(entries[k].cost_units for k in retained if k in entries and isinstance(entries[k].cost_units, int))
    if event.status == "fits" and isinstance(event.budget_units, int) and cost > event.budget_units:
        broken.append("over_budget")
    if event.status == "blocked" and evicted:
        broken.append("blocked_but_evicted")
    return sorted(broken)


def _data_cause(ctx: Context, entry: Entry | None) -> str | None:
    """A difference between what the planner saw and the window: test data, not a defect."""
    if entry is None or not ctx.window.head.seen or not ctx.window.spans:
        return None
    live = ctx.window.spans.get(entry.id)
    if live is None:
        return "missing_in_window"
    if live.pinned != entry.pinned:
        return "pin_metadata"
    if live.cost != entry.cost_units:
        return "cost_differs"
    if (live.priority, live.used) != (entry.priority, entry.last_used_order):
        return "rank_differs"
    return None


def _rank(entry: Entry | ObservedEntry) -> Rank:
    return entry.priority, entry.last_used_order, entry.id


def _defect(
    event: PlannerObserved, entry: Entry | None, old: str, new: str, broken: list[str], lowest: Rank | None
) -> str:
    """``lowest``: the rank of the first that should have gone among the unpinned spans that were kept."""
    if entry is None or old == "absent" or new == "absent":
        return "unexplained"
    if old == "evicted" and entry.pinned:
        return "pin_evicted"
    if old == "retained":
        return "over_budget" if "over_budget" in broken else "order_ignored"
    if lowest is not None and lowest < _rank(entry):
        return "order_ignored"
    return "over_evicted" if event.status == "fits" else "unexplained"


def compare_planners(ctx: Context, case: str, old: str, first: Outcome, new: str, second: Outcome) -> None:
    """Two planners over the same live window (policy ``shadow_planner``)."""
    one, two = set(first.evicted), set(second.evicted)
    ctx.emit(
        ShadowCompared,
        case_id=case,
        planner_old=old,
        planner_new=new,
        agree=first.status == second.status and first.evicted == second.evicted,
        status_old=first.status,
        status_new=second.status,
        differences=[
            {
                "span_id": key,
                "old": "evicted" if key in one else "retained",
                "new": "evicted" if key in two else "retained",
                "cause": "unexplained",
            }
            for key in sorted(one ^ two)
        ],
        broken_invariants=[],
    )
