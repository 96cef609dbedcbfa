"""The first document's own examples: refund fixture, four cases, invariants, boundaries and the loss locator."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from seedkit import Json, alerts, append, as_span, ask, entry, event, of_type, only, plan_over, run, shadow, vouched

BLOCKED = "pinned context exceeds the available budget"
REFUND = [
    entry("safety-policy", 1, True, 4, 1),
    entry("refund-limit", 90, True, 3, 2),
    entry("tool-result-17", 60, False, 8, 3),
    entry("greeting", 5, False, 2, 0),
]
PARTITION = [entry("pinned", 0, True, 2, 0), entry("old", 1, False, 4, 1), entry("new", 2, False, 4, 2)]


def test_refund_fixture() -> None:
    plan, diagnostic = plan_over(REFUND, 9)
    assert diagnostic["budget"] == 9
    assert diagnostic["input_cost_units"] == 17
    assert diagnostic["retained_cost_units"] == plan["used_cost_units"] == 7
    assert diagnostic["candidate_order"] == [
        {"span_id": "greeting", "priority": 5, "last_used_order": 0, "cost_units": 2},
        {"span_id": "tool-result-17", "priority": 60, "last_used_order": 3, "cost_units": 8},
    ]
    assert plan["evicted_ids"] == diagnostic["evicted_ids"] == ["greeting", "tool-result-17"]
    assert plan["retained_ids"] == diagnostic["retained_ids"] == ["refund-limit", "safety-policy"]
    assert (plan["status"], plan["reason"]) == (diagnostic["status"], diagnostic["reason"]) == ("fits", None)


def test_refund_fixture_as_an_observed_decision_agrees() -> None:
    kept, gone = ["safety-policy", "refund-limit"], ["greeting", "tool-result-17"]
    right = shadow(REFUND, 9, retained_ids=kept, evicted_ids=gone)
    assert (right["agree"], right["differences"], right["broken_invariants"]) == (True, [], [])
    wrong = shadow(REFUND, 9, retained_ids=["tool-result-17"], evicted_ids=[*kept, "greeting"])
    assert not wrong["agree"]
    assert wrong["broken_invariants"] == ["pin_evicted"]
    assert {d["span_id"]: d["cause"] for d in wrong["differences"]} == {
        "refund-limit": "pin_evicted", "safety-policy": "pin_evicted", "tool-result-17": "order_ignored",
    }  # fmt: skip


def test_pin_overrides_a_low_priority() -> None:
    entries = [
        entry("safety-policy", 0, True, 4, 1),
        entry("tool-result-17", 900, False, 8, 2),
        entry("greeting", 1, False, 2, 0),
    ]
    plan, _ = plan_over(entries, 6)
    assert plan["status"] == "fits"
    assert plan["evicted_ids"] == ["greeting", "tool-result-17"]
    assert plan["retained_ids"] == ["safety-policy"]


@pytest.mark.parametrize("source", ["tool_output", "retrieval", "user", "POLICY_STORE", "", None])
def test_untrusted_records_cannot_request_protection(source: str | None) -> None:
    trusted = append(as_span(entry("safety-policy", 0, True, 4, 1)))
    injected = append(as_span(entry("tool-result-17", 900, True, 8, 2)))
    last = injected if source is None else vouched(injected, source)
    records = run([vouched(trusted, "policy_store"), last, ask(6)])
    plan = only(records, "eviction_planned")
    assert plan["status"] == "fits"
    assert plan["evicted_ids"] == ["tool-result-17"]
    assert plan["retained_ids"] == ["safety-policy"]
    assert alerts(records) == [("untrusted_pin", "tool-result-17")]


def test_two_trusted_pins_are_both_honoured() -> None:
    """What a builder that copies the flag would answer to the case above: only the source tells them apart."""
    entries = [entry("safety-policy", 0, True, 4, 1), entry("tool-result-17", 900, True, 8, 2)]
    plan, _ = plan_over(entries, 6, source="operator_console")
    assert (plan["status"], plan["evicted_ids"], plan["pinned_units"]) == ("blocked", [], 12)


def test_equal_priority_decision_ignores_input_order() -> None:
    tied = [entry(f"memory-{c}", 10, False, 3, 8) for c in "cab"]
    answers = {tuple(plan_over(list(order), 3)[0]["evicted_ids"]) for order in permutations(tied)}
    assert answers == {("memory-a", "memory-b")}


def test_oversized_pinned_set_blocks_atomically() -> None:
    entries = [
        entry("safety-policy", 100, True, 6, 1),
        entry("user-constraint", 100, True, 6, 2),
        entry("stale-note", 0, False, 1, 0),
    ]
    plan, diagnostic = plan_over(entries, 10)
    assert plan["status"] == diagnostic["status"] == "blocked"
    assert plan["evicted_ids"] == diagnostic["evicted_ids"] == []
    assert plan["retained_ids"] == ["safety-policy", "stale-note", "user-constraint"]
    assert plan["used_cost_units"] == diagnostic["retained_cost_units"] == 13
    assert plan["reason"] == diagnostic["reason"] == BLOCKED
    assert (plan["pinned_units"], plan["shortfall_units"]) == (12, 2)


def test_blocked_request_that_asks_for_a_commit_changes_nothing() -> None:
    lines = [vouched(append(as_span(entry("p", 0, True, 6, 1)), as_span(entry("n", 0, False, 1, 0))), "policy_store")]
    records = run([*lines, ask(5, commit=True), ask(5)])
    assert [p["generation"] for p in of_type(records, "eviction_planned")] == [1, 1]
    assert not any(record["topic"] == "plan-decisions" for record in records)


@pytest.mark.parametrize("budget", range(12))
def test_partition_invariants(budget: int) -> None:
    costs = {item["id"]: item["cost_units"] for item in PARTITION}
    plans = [plan_over(list(order), budget)[0] for order in permutations(PARTITION)]
    for plan in plans:
        retained, evicted = set(plan["retained_ids"]), set(plan["evicted_ids"])
        assert not retained & evicted
        assert retained | evicted == costs.keys()
        assert "pinned" in retained
        assert plan["used_cost_units"] == sum(costs[k] for k in retained)
        assert plan["status"] == ("blocked" if budget < 2 else "fits")
        assert plan["status"] == "blocked" or plan["used_cost_units"] <= budget
        assert plan["evicted_ids"] == plans[0]["evicted_ids"]


def test_boundary_total_equal_to_budget() -> None:
    plan, _ = plan_over(PARTITION, 10)
    assert (plan["status"], plan["evicted_ids"], plan["used_cost_units"]) == ("fits", [], 10)
    assert plan_over(PARTITION, 9)[0]["evicted_ids"] == ["old"]


def test_boundary_zero_budget_with_only_removable_entries() -> None:
    plan, _ = plan_over([entry("b", 2, False, 4, 1), entry("a", 1, False, 4, 2)], 0)
    assert (plan["status"], plan["evicted_ids"]) == ("fits", ["a", "b"])
    assert (plan["retained_ids"], plan["used_cost_units"]) == ([], 0)


def test_boundary_one_entry_larger_than_the_budget() -> None:
    plan, _ = plan_over([entry("big", 9, False, 50, 1), entry("small", 1, False, 2, 2)], 10)
    assert (plan["status"], plan["evicted_ids"]) == ("fits", ["small", "big"])
    pinned, _ = plan_over([entry("big", 9, True, 50, 1), entry("small", 1, False, 2, 2)], 10)
    assert (pinned["status"], pinned["evicted_ids"], pinned["used_cost_units"]) == ("blocked", [], 52)


@pytest.mark.parametrize(
    "entries",
    [
        [entry("same", 1, False, 3, 0), entry("other", 1, False, 3, 1), entry("same", 2, True, 3, 2)],
        [entry("", 1, False, 3, 0)],
        *([entry("a", 1, False, cost, 0)] for cost in (0, -1, True, False, 1.0, 2.5, "3", None, [], {})),
    ],
    ids=str,
)
def test_boundary_duplicate_ids_and_bad_costs_are_rejected_before_ranking(entries: list[Json]) -> None:
    compared = shadow(entries, 1)
    assert compared["status_new"] == "rejected"
    assert not compared["agree"]
    assert all(d["new"] == "absent" for d in compared["differences"])


def test_boundary_duplicate_id_never_enters_a_window() -> None:
    twice = [as_span(entry("same", 1, False, 3, 0)), as_span(entry("same", 2, False, 3, 1))]
    records = run([event("window_opened"), append(*twice), ask(0)])
    assert alerts(records) == [("id_conflict", "same")]
    assert only(records, "eviction_planned")["retained_ids"] == []


@pytest.mark.parametrize("budget", [-1, True, False, 1.0, 1.5, "9", None, [], {}], ids=repr)
def test_boundary_bad_budgets_are_rejected(budget: Any) -> None:
    plan, diagnostic = plan_over(PARTITION, budget)
    assert plan["status"] == diagnostic["status"] == "rejected"
    assert plan["retained_ids"] == plan["evicted_ids"] == []
    assert plan["reason"] == "budget must be a non-negative integer"
    assert shadow(PARTITION, budget)["status_new"] == "rejected"


@pytest.mark.parametrize("budget", [0, 9])
def test_boundary_empty_collection(budget: int) -> None:
    plan, diagnostic = plan_over([], budget)
    assert (plan["status"], plan["retained_ids"], plan["evicted_ids"]) == ("fits", [], [])
    assert plan["used_cost_units"] == diagnostic["input_cost_units"] == 0
    assert diagnostic["candidate_order"] == []
    assert shadow([], budget)["agree"]


R, T = "refund-limit", "tool-result-17"
#: retrieved, eligible, retained, evicted, rendered
STAGES: dict[str, tuple[list[str], ...]] = {
    "duplicate-id-evidence": ([R, R], [R], [R], [], [R]),
    "inconsistent-eligibility-evidence": ([T], [R, T], [R, T], [], [T]),
    "inconsistent-plan-evidence": ([R, T], [R, T], [R, T], [R], [T]),
    "inconsistent-render-evidence": ([R, T], [R, T], [T], [R], [R, T]),
    "retrieval": ([T], [T], [T], [], [T]),
    "eligibility-filter": ([R, T], [T], [T], [], [T]),
    "eviction-policy": ([R, T], [R, T], [T], [R], [T]),
    "prompt-assembly": ([R, T], [R, T], [R], [T], []),
    "present-in-rendered-prompt": ([R, T], [R, T], [R], [T], [R]),
}


def located(lists: tuple[list[str] | None, ...]) -> Json:
    names = ("retrieved_ids", "eligible_ids", "retained_ids", "evicted_ids", "rendered_ids")
    line = event("pipeline_observed", case_id="c", expected_id=R, **dict(zip(names, lists, strict=True)))
    return only(run([line]), "loss_located")


@pytest.mark.parametrize("stage", STAGES)
def test_loss_locator_names_each_stage(stage: str) -> None:
    found = located(STAGES[stage])
    assert (found["case_id"], found["expected_id"], found["stage"]) == ("c", R, stage)
    assert "last_seen" not in found


@pytest.mark.parametrize("index", range(5))
def test_a_duplicate_in_any_list_comes_before_every_other_finding(index: int) -> None:
    lists = [list(ids) for ids in STAGES["inconsistent-plan-evidence"]]
    lists[index] = [T, T]
    assert located(tuple(lists))["stage"] == "duplicate-id-evidence"


def test_a_plan_that_forgets_an_eligible_id_is_inconsistent() -> None:
    assert located(([R, T], [R, T], [T], [], [T]))["stage"] == "inconsistent-plan-evidence"


def test_what_was_not_captured_is_not_judged() -> None:
    found = located(([R, T], None, None, None, [T]))
    assert found["stage"] == "undetermined"
    assert (found["last_seen"], found["first_absent"]) == ("retrieval", "prompt-assembly")
