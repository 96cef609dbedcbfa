"""The package against a naive model of the contract, over random streams that reach every reason.

Streams are grown from seeds (quicker than drawing each choice, and the same everywhere) and shrunk when one fails.
PLANGATE_MODEL_STREAMS sets how many streams are tried, PLANGATE_MODEL_SEED where the seeds start.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from random import Random

import model_compare
import pytest
from model import statuses
from model_compare import difference, named, of_product
from model_evidence import random_policy
from model_shrink import shrink
from model_streams import Operation, Stream, lines_of
from model_window import Json

from plangate.wire.policy import load_policy
from plangate.wire.replay import replay_lines

STREAMS = int(os.environ.get("PLANGATE_MODEL_STREAMS", "1500"))
FIRST_SEED = int(os.environ.get("PLANGATE_MODEL_SEED", "0"))
HUGE = 2**40

MUST_OCCUR = {
    f"{group} {name}"
    for group, names in {
        "deferred": "unknown_window window_gap generation_changed commit_pending rescore_closure_unavailable "
        "open_obligation acceptance_lapsed",
        "refused": "window_closed invalid_plan entry_order_commit unknown_span pin_violation invalid_replacement "
        "orphans over_budget no_effect too_many_proposals",
        "orphan": "declared-evicted declared-compressed cited-evicted cited-compressed cited-not_live "
        "verbatim-compressed pair-evicted pair-compressed prefix-evicted prefix-compressed",
        "accepted": "committed awaiting_confirmation amended_retained_ids rescored preexisting_orphans compressed",
        "resolution": "complete incomplete",
        "strict-priority/1": "fits blocked rejected",
        "dependency-closed/1": "fits blocked rejected",
        "alert": "sequence_gap untrusted_authority id_conflict id_reused orphan_at_birth orphaned_by_host unowned_pin "
        "tainted_pin untrusted_pin pinned_span_changed mixed_accounting plans_starving acceptance_lapsed method_drift "
        "scope_drift value_drift",
        "accounting": "match method_drift scope_drift value_drift",
        "loss": "duplicate-id-evidence inconsistent-eligibility-evidence inconsistent-plan-evidence "
        "inconsistent-render-evidence present-in-rendered-prompt retrieval eligibility-filter eviction-policy "
        "prompt-assembly undetermined",
        "shadow": "agrees differs",
        "dead": "letter",
    }.items()
    for name in names.split()
}


def replayed(lines: list[str], policy: Json) -> list[Json]:
    raw = replay_lines(lines, load_policy(json.dumps(policy).encode()))
    return [record if isinstance(record, dict) else json.loads(record) for record in raw]


def broken_promise(raw: list[Json]) -> str | None:
    """What must hold among the package's own records, whatever the model says (contract sections 1 and 4)."""
    decisions = [r["value"] for r in raw if r["topic"] == "plan-decisions"]
    refused = {json.dumps(d) for d in decisions if d["type"] == "plan_refused"}
    if refused != {json.dumps(r["value"]) for r in raw if r["topic"] == "plan-refusals"}:
        return "plan-refusals does not hold the refusals of plan-decisions"
    answers: dict[str, str] = {}
    for decision in decisions:
        if answers.setdefault(decision["decision_id"], json.dumps(decision)) != json.dumps(decision):
            return f"one decision_id, two decisions: {decision['plan_id']}"
    return None


def disagreement(operations: list[Operation], policy: Json) -> str | None:
    """Run one stream through both, ending with a look at each window's live set; words for the first difference."""
    windows = sorted({operation.value["window_id"] for operation in operations})
    look = {"type": "budget_requested", "request_id": "last-look", "budget_units": HUGE}
    operations = [*operations, *(Operation(look | {"window_id": w, "planner": "strict-priority/1"}) for w in windows)]
    lines, model = lines_of(operations, policy)
    raw = replayed(lines, policy)
    ours, theirs = statuses(model), model_compare.statuses(raw)
    return (
        difference(model.records, of_product(raw))
        or broken_promise(raw)
        or (None if ours == theirs else f"status:\n  model:   {ours}\n  product: {theirs}")
    )


def report(seed: int, stream: Stream, policy: Json) -> str:
    def fails(operations: list[Operation], rules: Json) -> bool:
        try:
            return disagreement(operations, rules) is not None
        except Exception:
            return True

    operations, rules = shrink(stream.operations, policy, fails)
    lines, _ = lines_of(operations, rules)
    try:
        words = disagreement(operations, rules)
    except Exception as error:
        words = repr(error)
    return "\n".join([f"seed {seed}, policy {json.dumps(rules)}", *lines, str(words)])


def grown(seed: int) -> tuple[Stream, Json]:
    rng = Random(seed)
    policy = random_policy(rng, "v0")
    return Stream(rng, policy, rng.randint(5, 40)), policy


def test_package_and_model_agree_on_random_streams(capsys: pytest.CaptureFixture[str]) -> None:
    counts: Counter[str] = Counter()
    for seed in range(FIRST_SEED, FIRST_SEED + STREAMS):
        stream, policy = grown(seed)
        for record in stream.model.records:
            counts.update(set(named(record)))
        try:
            words = disagreement(stream.operations, policy)
        except Exception as error:
            words = repr(error)
        if words is not None:
            pytest.fail(report(seed, stream, policy), pytrace=False)
    with capsys.disabled():
        print(f"\n{STREAMS} random streams, records by what they say:")
        for name, count in sorted(counts.items()):
            print(f"{count:8d}  {name}")
    missing = sorted(MUST_OCCUR - set(counts))
    assert not missing, f"never occurred in {STREAMS} streams: {missing}"
