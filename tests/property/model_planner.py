"""Naive model of the deterministic planners (contract section 5) and of the diagnoses (section 6)."""

from __future__ import annotations

from typing import Any

from model_window import Json, Window

BLOCKED = "pinned context exceeds the available budget"
REJECTED: Json = {"status": "rejected", "retained_ids": [], "units": [], "used_cost_units": None}


def is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def rank(entry: Json) -> tuple[int, int, bytes]:
    return entry["priority"], entry["last_used_order"], entry["id"].encode()


def strict_priority(entries: list[Json], budget: Any) -> Json:
    """Evict unpinned entries by ascending rank until the rest fits; `units` are what leaves together, in order."""
    ids = [entry["id"] for entry in entries]
    sound = is_int(budget) and budget >= 0 and all(ids) and len(set(ids)) == len(ids)
    if not sound or not all(is_int(e["cost_units"]) and e["cost_units"] > 0 for e in entries):
        return dict(REJECTED)
    units = [[e["id"]] for e in sorted(entries, key=rank) if not e["pinned"]]
    return leave_until_fit(entries, budget, units)


def leave_until_fit(entries: list[Json], budget: int, units: list[list[str]]) -> Json:
    cost = {e["id"]: e["cost_units"] for e in entries}
    gone: list[list[str]] = []
    total = sum(cost.values())
    for unit in units:
        if total <= budget:
            break
        fresh = sorted(set(unit) - {g for taken in gone for g in taken}, key=str.encode)
        if fresh:
            gone.append(fresh)
            total -= sum(cost[g] for g in fresh)
    blocked = total > budget
    flat = {g for taken in gone for g in taken} if not blocked else set()
    return {
        "status": "blocked" if blocked else "fits",
        "retained_ids": sorted(set(cost) - flat, key=str.encode),
        "units": [] if blocked else gone,
        "used_cost_units": sum(cost[i] for i in cost if i not in flat),
    }


def live_entries(window: Window) -> list[Json]:
    return [
        {
            "id": span.span_id,
            "priority": span.priority,
            "pinned": span.pinned,
            "cost_units": span.cost,
            "last_used_order": span.used,
        }
        for span in window.live.values()
    ]


def dependency_closed(window: Window, budget: Any) -> Json:
    """The same order over units: who depends on, pairs with or needs the prefix of what leaves goes with it."""
    if not is_int(budget) or budget < 0:
        return dict(REJECTED)
    units = []
    for entry in sorted(live_entries(window), key=rank):
        unit = {entry["id"]}
        while more := {s for s in window.live if s not in unit and goes_with(window, s, unit)}:
            unit |= more
        if not any(window.live[s].pinned or window.live[s].open for s in unit):
            units.append(sorted(unit, key=str.encode))
    return leave_until_fit(live_entries(window), budget, units)


def goes_with(window: Window, span_id: str, unit: set[str]) -> bool:
    span = window.live[span_id]
    earlier = span.prefix and any(window.live[u].place < span.place for u in unit)
    return earlier or bool((window.depends(span_id) | window.partners(span_id)) & unit)


def run_planner(window: Window, event: Json) -> Json:
    """One budget_requested over the live window, without its ids."""
    planner = event.get("planner", window.policy["planner"])
    budget = event["budget_units"]
    if not window.opened or window.closed:
        plan = dict(REJECTED)
    elif planner == "strict-priority/1":
        plan = strict_priority(live_entries(window), budget)
    else:
        plan = dependency_closed(window, budget)
    if plan["status"] == "blocked" and planner == "strict-priority/1":
        pinned = sum(span.cost for span in window.live.values() if span.pinned)
        plan |= {"reason": BLOCKED, "pinned_units": pinned, "shortfall_units": pinned - budget}
    generation = None if plan["status"] == "rejected" else window.generation
    return plan | {"kind": "plan", "request_id": event["request_id"], "planner": planner, "generation": generation}


def shadow(event: Json) -> Json:
    """An observed planner's answer against strict-priority/1 on the entries it saw."""
    ours = strict_priority(event["entries"], event["budget_units"])
    evicted = [i for unit in ours["units"] for i in unit]
    return {
        "kind": "shadow",
        "case_id": event["case_id"],
        "agree": event["status"] == ours["status"] and event["evicted_ids"] == evicted,
        "status_old": event["status"],
        "status_new": ours["status"],
    }


def accounting(window: Window, event: Json) -> list[Json]:
    """A report against the newest of each other component for the same artifact."""
    newest = window.reports.setdefault(event["artifact_id"], {})
    out: list[Json] = []
    for component, other in newest.items():
        if component == event["component"]:
            continue
        if any(event[name] != other[name] for name in ("method", "units", "input_version")):
            outcome = "method_drift"
        elif event["scope"] != other["scope"]:
            outcome = "scope_drift"
        else:
            outcome = "match" if event["value"] == other["value"] else "value_drift"
        out.append({"kind": "accounting", "artifact_id": event["artifact_id"], "outcome": outcome})
        if outcome != "match":
            out.append({"kind": "alert", "alert": outcome})
    newest[event["component"]] = event
    return out


def loss_stage(event: Json) -> str:
    """Where the expected id was lost first (contract section 6); a list that is absent was not captured."""
    names = ("retrieved_ids", "eligible_ids", "retained_ids", "evicted_ids", "rendered_ids")
    retrieved, eligible, retained, evicted, rendered = (event.get(name) for name in names)
    if any(ids is not None and len(set(ids)) != len(ids) for ids in (retrieved, eligible, retained, evicted, rendered)):
        return "duplicate-id-evidence"
    if None not in (retrieved, eligible) and set(eligible) - set(retrieved):
        return "inconsistent-eligibility-evidence"
    if None not in (retained, evicted):
        union = set(retained) | set(evicted)
        if set(retained) & set(evicted) or (eligible is not None and union != set(eligible)):
            return "inconsistent-plan-evidence"
    if None not in (retained, rendered) and set(rendered) - set(retained):
        return "inconsistent-render-evidence"
    expected = event["expected_id"]

    def there(*lists: list[str] | None) -> bool:
        return any(ids is not None and expected in ids for ids in lists)

    if there(rendered):
        return "present-in-rendered-prompt"
    if not there(retrieved, eligible, retained, evicted):
        return "undetermined" if retrieved is None else "retrieval"
    if not there(eligible, retained, evicted):
        return "undetermined" if eligible is None else "eligibility-filter"
    if there(evicted):
        return "eviction-policy"
    if not there(retained):
        if retained is not None:
            return "eviction-policy"
        if evicted is None:
            return "undetermined"
    return "undetermined" if rendered is None else "prompt-assembly"
