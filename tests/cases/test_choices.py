"""Choices of docs/choices.md that no case and no comparison with the model pins."""

from __future__ import annotations

import json
from typing import Any

import pytest

from plangate.core.records import Source
from plangate.core.step import Signature, step
from plangate.core.window import Window
from plangate.wire.decode import decode
from plangate.wire.policy import Policy, load_policy
from plangate.wire.replay import replay_lines

Json = dict[str, Any]


def event(kind: str, **fields: Any) -> Json:
    return {"type": kind, "window_id": "w", **fields}


def append(*ids: str, **fields: Any) -> Json:
    return event("span_appended", spans=[{"span_id": key, "cost_units": 10} for key in ids], **fields)


def plan(plan_id: str, generation: int, *evicted: str, **fields: Any) -> Json:
    entries = [{"span_id": key, "relevance": 0.1, "disposition": "evict"} for key in evicted]
    return event("plan_proposed", plan_id=plan_id, window_generation=generation, entries=entries, **fields)


def signed(value: Json, source: str = "policy_store") -> Json:
    return {"value": value, "source": source}


def records(*lines: Json, policy: Json | None = None) -> list[Json]:
    rules = load_policy(json.dumps(policy or {}).encode())
    return [json.loads(raw)["value"] for raw in replay_lines(map(json.dumps, lines), rules)]


def names(*lines: Json, policy: Json | None = None) -> list[str]:
    """What alerts and dead letters say, in order."""
    found = records(*lines, policy=policy)
    return [v.get("alert") or v["reason"] for v in found if v["type"] in ("window_alert", "dead_letter")]


LIMITED = {"limits": {"live_spans": 2, "spans_per_event": 3}}
RESYNC = event("window_resynced", spans=[{"span_id": "a", "cost_units": 1}] * 2, sequence=6)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([append("a", sequence=1), append("b", "b", sequence=2), append("c", sequence=3)], ["id_conflict"]),
        ([append("a", sequence=1), append("b", "b", event_id="e"), append("c", "c", event_id="e")], ["id_conflict"]),
        (
            [append("a", sequence=1), append(*"bcde", sequence=2), append("f", sequence=3)],
            ["over_limit", "sequence_gap"],
        ),
        ([append("a"), append("b", "c")], ["limit_exceeded"]),
        ([append("a"), event("window_closed"), append("b")], ["event_after_close"]),
        ([event("window_closed"), append("a")], []),
        ([append("a"), event("plan_committed", plan_id="p")], ["unexpected_confirmation"]),
        ([signed(event("policy_set", policy={"keep_threshold": 2}))], ["policy_rejected"]),
        ([append("a"), signed(event("span_unpinned", span_id="a", reason="r"), "other")], ["untrusted_authority"]),
    ],
)
def test_alerts(lines: list[Json], expected: list[str]) -> None:
    assert names(*lines, policy=LIMITED) == expected


def test_a_rejected_resync_closes_no_gap() -> None:
    found = records(append("a", sequence=1), append("b", sequence=5), RESYNC, plan("p", 1, "a"))
    assert [v["reason"] for v in found if v["type"] == "plan_deferred"] == ["window_gap"]


def test_a_signed_event_without_authority_seq_counts_as_unsigned() -> None:
    window = Window("w", Policy())
    pin = decode(json.dumps(event("span_pinned", span_id="a", pin_owner="o", pin_reason="r")).encode(), 1000)
    outputs = step(window, pin, Source(0, 0), Signature("policy_store", "key-1"))
    assert [o.alert for o in outputs] == ["authority_seq_missing", "untrusted_authority"]
    assert not window.waiting


def test_an_empty_append_opens_a_window_and_changes_no_generation() -> None:
    found = records(append(), plan("p", 0, "x"))
    assert [v["reasons"] for v in found if v["type"] == "plan_refused"] == [["unknown_span"]] * 2


def test_a_replacement_that_covers_nothing_is_invalid() -> None:
    found = records(append("a", "b"), plan("p", 1, "a", replacements=[{"span_id": "n", "covers": [], "cost_units": 1}]))
    refusal = next(v for v in found if v["type"] == "plan_refused")
    assert (refusal["reasons"], refusal["resolution"], refusal["escalate_to_turn"]) == (
        ["invalid_replacement"],
        None,
        1,
    )


def test_an_acceptance_that_lapses_names_the_proposal_and_what_ended_it() -> None:
    found = records(
        append("a", "b"), plan("p", 1, "a"), append("c"), plan("p", 1, "a"), policy={"commit": "on_confirm"}
    )
    accepted, lapsed, again = [v for v in found if v["type"] in ("plan_accepted", "plan_deferred")]
    assert lapsed == again
    assert (lapsed["reason"], lapsed["source"], lapsed["lapsed_at"]["offset"]) == (
        "acceptance_lapsed",
        accepted["source"],
        2,
    )
    assert lapsed["decision_id"] != accepted["decision_id"]


def test_a_first_cost_report_is_compared_with_nothing_and_later_ones_by_pairs() -> None:
    def report(component: str, value: int) -> Json:
        names = {"artifact_id": "x", "method": "m", "input_version": "1", "scope": "s", "units": "u"}
        return event("cost_reported", component=component, value=value, **names)

    found = records(report("a", 1), report("b", 1), report("c", 2))
    assert [v["outcome"] for v in found if v["type"] == "accounting_compared"] == [
        "match",
        "value_drift",
        "value_drift",
    ]


def test_a_commit_request_that_evicts_nothing_proposes_nothing() -> None:
    found = records(append("a"), event("budget_requested", request_id="r", budget_units=10, commit=True))
    assert not [v for v in found if v["type"].startswith("plan_")]


def test_redaction_hides_span_ids_and_keeps_the_window_id() -> None:
    found = records(append("a", "a"), policy={"id_redaction": "hmac"})
    alert = next(v for v in found if v["type"] == "window_alert")
    assert (alert["window_id"], len(alert["span_id"])) == ("w", 32)
