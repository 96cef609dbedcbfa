"""What a link covers: an authority change or rewrite of other content is another link; free text is in no hash."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import pytest
from audit_sample import CHAIN, verify

from plangate.wire.policy import load_policy
from plangate.wire.replay import replay_lines

PIN = {"type": "span_pinned", "span_id": "a", "pin_owner": "o", "pin_reason": "r"}
UNPIN = {"type": "span_unpinned", "span_id": "a", "reason": "r"}
POLICY = {"type": "policy_set", "policy": {"policy_version": "2", "amend_plans": False, "limits": {"dependencies": 9}}}
APPROVAL = {
    "type": "compression_approved", "span_id": "a", "replacement_id": "s", "cost_units": 1, "reviewer": "v",
    "reason": "r",
}  # fmt: skip
SPAN = {"span_id": "p", "cost_units": 2, "pinned": True, "pin_owner": "o", "pin_reason": "r"}
APPEND = {"type": "span_appended", "spans": [SPAN]}
EDIT = {"type": "span_edited", "span": {"span_id": "a", "cost_units": 2}}
REMOVAL = {"type": "spans_removed", "span_ids": ["a"]}
RESYNC = {"type": "window_resynced", "spans": [{"span_id": "a", "cost_units": 2}]}


def link(event: dict[str, Any]) -> dict[str, Any]:
    """The newest link that an event with authority gives, after two spans were appended."""
    spans = [{"span_id": key, "cost_units": 3} for key in "ab"]
    events = [{"type": "span_appended", "spans": spans}, event]
    lines = [json.dumps({"value": {**e, "window_id": "w"}, "source": "policy_store"}).encode() for e in events]
    records = [json.loads(line) for line in replay_lines(lines)]
    return [record["value"] for record in records if record["topic"] == CHAIN][-1]


@pytest.mark.parametrize(
    ("event", "other"),
    [
        (PIN, {"span_id": "b"}),
        (UNPIN, {"span_id": "b"}),
        (POLICY, {"policy": {**POLICY["policy"], "amend_plans": True}}),
        (POLICY, {"policy": {**POLICY["policy"], "limits": {"dependencies": 8}}}),
        (APPROVAL, {"span_id": "b"}),
        (APPROVAL, {"cost_units": 2}),
        (APPEND, {"spans": [{**SPAN, "span_id": "q"}]}),
        (EDIT, {"span": {"span_id": "a", "cost_units": 9}}),
        (REMOVAL, {"span_ids": ["b"]}),
        (RESYNC, {"spans": [{"span_id": "b", "cost_units": 2}]}),
    ],
)
def test_another_change_is_another_link(event: dict[str, Any], other: dict[str, Any]) -> None:
    assert link(event)["event"] == link({**event, **other})["event"] == event["type"]
    assert link(event)["digest"] != link({**event, **other})["digest"]


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (PIN, {"pin_owner": "c4n4ry", "pin_reason": "c4n4ry"}),
        (UNPIN, {"reason": "c4n4ry"}),
        (POLICY, {"policy": {**POLICY["policy"], "motto": "c4n4ry", "limits": {"dependencies": 9, "x": "c4n4ry"}}}),
        (APPROVAL, {"reviewer": "c4n4ry", "reason": "c4n4ry", "note": "c4n4ry"}),
        (APPEND, {"spans": [{**SPAN, "pin_owner": "c4n4ry", "pin_reason": "c4n4ry", "text": "c4n4ry"}]}),
        (EDIT, {"span": {"span_id": "a", "cost_units": 2, "text": "c4n4ry", "depends_on": None}}),
        (REMOVAL, {"reason": "c4n4ry"}),
        (RESYNC, {"turn": None, "note": "c4n4ry"}),
    ],
)
def test_no_text_is_in_a_hash(event: dict[str, Any], text: dict[str, Any]) -> None:
    """A hash of a short text can be guessed. Absent and null are the same, so a field added later changes nothing."""
    assert link(event) == link({**event, **text})


@pytest.mark.parametrize(
    ("event", "facts"),
    [
        (PIN, {"span_id": "a", "type": "span_pinned", "window_id": "w"}),
        (EDIT, {"span": {"cost_units": 2, "span_id": "a"}, "type": "span_edited", "window_id": "w"}),
        (
            {**POLICY, "policy": {"policy_version": "2", "limits": {"dependencies": 9}}},
            {"policy": {"limits": {"dependencies": 9}, "policy_version": "2"}, "type": "policy_set", "window_id": "w"},
        ),
    ],
)
def test_the_digest_can_be_made_by_anybody(event: dict[str, Any], facts: dict[str, Any]) -> None:
    """As docs/audit.md says. An event type that gets another optional field must keep the digests it has."""
    text = json.dumps(facts, separators=(",", ":"), sort_keys=True)
    assert link(event)["digest"] == sha256(text.encode()).hexdigest()


def test_a_decision_cut_to_fit_is_covered_as_it_was_published() -> None:
    """Half a thousand spans that rest on the one that would go: more than a record of this policy holds."""
    append: dict[str, Any] = {"type": "span_appended", "spans": [{"span_id": "a", "cost_units": 3}]}
    policy = load_policy(b'{"limits": {"record_bytes": 65536}}')
    events = [append]
    for many in range(5):
        ids = [f"{many}-{number}-{'x' * 200}" for number in range(100)]
        events.append({**append, "spans": [{"span_id": key, "cost_units": 3, "depends_on": ["a"]} for key in ids]})
    entries = [{"span_id": "a", "relevance": 0.1}]
    events.append({"type": "plan_proposed", "plan_id": "p", "window_generation": 6, "entries": entries})
    printed = list(replay_lines([json.dumps({**event, "window_id": "w"}).encode() for event in events], policy))
    assert any(b'"cut":{"orphans":{' in line for line in printed if b'"plan-decisions"' in line)
    assert verify(printed).kinds == []
