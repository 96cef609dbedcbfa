"""Naive model of which input values are events at all (contract sections 1, 2 and 7).

Three answers: "event", "malformed" (a plan_proposed that names its window and plan but is no lawful plan: the gate
answers it) and "dead" (belongs to no window or is no event).
"""

from __future__ import annotations

import math
from typing import Any

from model_planner import is_int
from model_window import Json

KINDS = "system user assistant tool_call tool_result reasoning document diff summary memory other".split()
TYPES = (
    "window_opened span_appended span_edited spans_removed window_resynced spans_used plan_proposed budget_requested "
    "planner_observed pipeline_observed cost_reported plan_committed plan_commit_failed window_closed span_pinned "
    "span_unpinned policy_set compression_approved"
).split()
AUTHORITY = ("span_pinned", "span_unpinned", "policy_set", "compression_approved")
LARGEST = 2**53


def without_nulls(value: Any) -> Any:
    """A null in an optional field is as if absent."""
    if isinstance(value, dict):
        return {name: without_nulls(item) for name, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def is_id(value: Any) -> bool:
    return isinstance(value, str) and 1 <= len(value.encode()) <= 256


def is_ids(value: Any) -> bool:
    return isinstance(value, list) and all(is_id(item) for item in value)


def is_size(value: Any) -> bool:
    return is_int(value) and 0 < value <= LARGEST


def is_share(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and 0 <= value <= 1


def is_span(span: Any) -> bool:
    if not isinstance(span, dict) or not is_id(span.get("span_id")) or not is_size(span.get("cost_units")):
        return False
    lists = ("depends_on", "needs_verbatim", "required_by", "pairs_with", "closes", "derived_from")
    return (
        span.get("kind", "other") in KINDS
        and all(is_int(span.get(name, 0)) for name in ("priority", "last_used_order"))
        and all(isinstance(span.get(name, False), bool) for name in ("needs_prefix", "open", "pinned"))
        and all(is_ids(span.get(name, [])) and len(span.get(name, [])) <= 64 for name in lists)
    )


def is_citation(item: Any) -> bool:
    if isinstance(item, dict):
        return is_id(item.get("span_id")) and is_share(item.get("support", 0))
    return is_id(item)


def is_entry(entry: Any) -> bool:
    if not isinstance(entry, dict):
        return False
    cited = entry.get("cited_dependencies", [])
    return (
        is_id(entry.get("span_id"))
        and is_share(entry.get("relevance"))
        and entry.get("disposition", "keep") in ("keep", "compress", "evict")
        and isinstance(cited, list)
        and len(cited) <= 64
        and all(is_citation(item) for item in cited)
    )


def is_replacement(raw: Any) -> bool:
    return (
        isinstance(raw, dict)
        and is_id(raw.get("span_id"))
        and is_ids(raw.get("covers"))
        and is_size(raw.get("cost_units"))
        and is_int(raw.get("priority", 0))
        and isinstance(raw.get("in_place", False), bool)
    )


def is_plan(plan: Json) -> bool:
    entries, replacements = plan.get("entries"), plan.get("replacements", [])
    return (
        is_int(plan.get("window_generation"))
        and plan["window_generation"] >= 0
        and isinstance(entries, list)
        and all(is_entry(entry) for entry in entries)
        and isinstance(replacements, list)
        and all(is_replacement(raw) for raw in replacements)
        and isinstance(plan.get("scorer", ""), str)
        and is_share(plan.get("keep_threshold", 0))
        and is_int(plan.get("budget_units", 0))
        and plan.get("budget_units", 0) >= 0
        and plan.get("commit_order", "atomic") in ("atomic", "reverse_dependency", "entry_order")
        and isinstance(plan.get("amendable", False), bool)
    )


def classify(event: Any) -> str:
    if not isinstance(event, dict) or event.get("type") not in TYPES or not is_id(event.get("window_id")):
        return "dead"
    if event["type"] == "plan_proposed":
        if not is_id(event.get("plan_id")):
            return "dead"
        return "event" if is_plan(event) else "malformed"
    if event["type"] in ("span_appended", "window_resynced"):
        spans = event.get("spans")
        return "event" if isinstance(spans, list) and all(is_span(span) for span in spans) else "dead"
    if event["type"] == "span_edited":
        return "event" if is_span(event.get("span")) else "dead"
    if event["type"] in ("spans_removed", "spans_used"):
        return "event" if is_ids(event.get("span_ids")) else "dead"
    return "event"
