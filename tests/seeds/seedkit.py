"""Replay in this process, for the examples of the two documents that the gate was built from."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from plangate.core.policy import Policy
from plangate.wire.replay import replay_lines

Json = dict[str, Any]
W = "w"


def run(lines: Iterable[Json], policy: Policy | None = None) -> list[Json]:
    """Output records {"topic", "key", "value"} of events, or of wrappers that give them a source."""
    return [json.loads(out) for out in replay_lines((json.dumps(line) for line in lines), policy)]


def of_type(records: Iterable[Json], tag: str) -> list[Json]:
    return [record["value"] for record in records if record["value"]["type"] == tag]


def only(records: Iterable[Json], tag: str) -> Json:
    """The one record of a type; more or none is a failure."""
    found = of_type(records, tag)
    assert len(found) == 1, f"{len(found)} records of {tag}"
    return found[0]


def alerts(records: Iterable[Json]) -> list[tuple[str, str | None]]:
    return [(value["alert"], value.get("span_id")) for value in of_type(records, "window_alert")]


def event(tag: str, **fields: Any) -> Json:
    return {"type": tag, "window_id": W, **fields}


def append(*spans: Json, **fields: Any) -> Json:
    return event("span_appended", spans=list(spans), **fields)


def vouched(value: Json, source: str) -> Json:
    return {"value": value, "source": source}


def entry(span_id: str, priority: int, pinned: bool, cost: Any, order: int) -> Json:
    """A context entry with the five policy fields, in the first document's order."""
    return {"id": span_id, "priority": priority, "pinned": pinned, "cost_units": cost, "last_used_order": order}


def as_span(item: Json) -> Json:
    """An entry as a span; a pin names its owner and reason, as an honoured pin must."""
    span = {k: v for k, v in item.items() if k != "id"} | {"span_id": item["id"]}
    return span | {"pin_owner": "policy-team", "pin_reason": "safety"} if item["pinned"] else span


def ask(budget: Any, **fields: Any) -> Json:
    return event("budget_requested", request_id="r", budget_units=budget, **fields)


def plan_over(entries: list[Json], budget: Any, source: str = "policy_store") -> tuple[Json, Json]:
    """Entries appended one by one by ``source``, then one budget request: the plan and its diagnostic."""
    lines = [event("window_opened"), *(vouched(append(as_span(item)), source) for item in entries), ask(budget)]
    records = run(lines)
    return only(records, "eviction_planned"), only(records, "planner_diagnosed")


def observed(entries: list[Json], budget: Any, **fields: Any) -> Json:
    """Another planner's answer on entries that no window holds; by default that all was kept."""
    answer = {"status": "fits", "retained_ids": [item["id"] for item in entries], "evicted_ids": []} | fields
    return event(
        "planner_observed",
        case_id="c",
        planner="old/1",
        policy_version="old",
        budget_units=budget,
        entries=entries,
        **answer,
    )


def shadow(entries: list[Json], budget: Any, **fields: Any) -> Json:
    return only(run([observed(entries, budget, **fields)]), "shadow_compared")
