"""One valid sample of every event type, signed records, and a keyring, for the tests of the wire."""

from __future__ import annotations

import json
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from plangate.core.window import Window
from plangate.wire.engine import Engine, Out, Record
from plangate.wire.keyring import Keyring, sign

Json = dict[str, Any]
TOPIC = "window-events"
KEYS = {name: Ed25519PrivateKey.from_private_bytes(bytes([i]) * 32) for i, name in enumerate(("ps", "oc", "ci"), 1)}
SOURCES = {"ps": "policy_store", "oc": "operator_console", "ci": "ci_runner"}
RING = Keyring({key_id: (SOURCES[key_id], key.public_key()) for key_id, key in KEYS.items()})
SPAN = {
    "span_id": "a", "kind": "tool_call", "cost_units": 5, "priority": 1, "last_used_order": 3, "depends_on": ["b"],
    "needs_verbatim": ["b"], "required_by": ["b"], "pairs_with": ["b"], "needs_prefix": False, "open": False,
    "closes": ["b"], "derived_from": ["b"], "pinned": True, "pin_owner": "o", "pin_reason": "r",
    "accounting": {"method": "m", "input_version": "1"},
}  # fmt: skip
ENTRIES = [
    {"span_id": "a", "relevance": 0.9, "disposition": "keep", "cited_dependencies": ["b"], "rationale": "because"},
    {"span_id": "b", "relevance": 0.1, "cited_dependencies": [{"span_id": "a", "support": 0.5}]},
]
SAMPLES: list[Json] = [
    {"type": "window_opened", "window_id": "w", "budget_units": 100, "event_id": "e", "sequence": 1},
    {"type": "span_appended", "window_id": "w", "spans": [{"span_id": "b", "cost_units": 3}, SPAN], "turn": 1},
    {"type": "span_edited", "window_id": "w", "span": {"span_id": "b", "cost_units": 4}},
    {"type": "spans_used", "window_id": "w", "span_ids": ["a"], "order": 4},
    {"type": "span_pinned", "window_id": "w", "span_id": "b", "pin_owner": "o", "pin_reason": "r", "authority_seq": 1},
    {"type": "span_unpinned", "window_id": "w", "span_id": "b", "reason": "r", "authority_seq": 2},
    {
        "type": "compression_approved", "window_id": "w", "span_id": "b", "replacement_id": "s", "cost_units": 1,
        "reviewer": "v", "reason": "r", "authority_seq": 3,
    },
    {"type": "policy_set", "window_id": "w", "policy": {"policy_version": "v2", "limits": {}}, "authority_seq": 4},
    {
        "type": "plan_proposed", "window_id": "w", "plan_id": "p", "window_generation": 0, "entries": ENTRIES,
        "replacements": [{"span_id": "s", "covers": ["b"], "cost_units": 1, "priority": 1, "in_place": True}],
        "scorer": "declared-provenance/1", "keep_threshold": 0.5, "budget_units": 9, "commit_order": "atomic",
        "amendable": True, "proposer": "m",
    },
    {"type": "budget_requested", "window_id": "w", "request_id": "q", "budget_units": 4, "planner": "strict-priority/1",
     "commit": True},
    {
        "type": "planner_observed", "window_id": "w", "case_id": "c", "planner": "x", "policy_version": "1",
        "budget_units": 2, "status": "fits", "retained_ids": ["a"], "evicted_ids": [], "accounting": {"method": "m"},
        "entries": [{"id": "a", "priority": 1, "pinned": False, "cost_units": 2, "last_used_order": 0}],
    },
    {
        "type": "pipeline_observed", "window_id": "w", "case_id": "c", "expected_id": "a", "retrieved_ids": ["a"],
        "eligible_ids": ["a"], "retained_ids": ["a"], "evicted_ids": [], "rendered_ids": None,
    },
    {
        "type": "cost_reported", "window_id": "w", "artifact_id": "x", "component": "c", "method": "m",
        "input_version": "1", "scope": "s", "units": "tokens", "value": 3,
    },
    {"type": "plan_committed", "window_id": "w", "plan_id": "p"},
    {"type": "plan_commit_failed", "window_id": "w", "plan_id": "p"},
    {"type": "spans_removed", "window_id": "w", "span_ids": ["b"], "reason": "r"},
    {"type": "window_resynced", "window_id": "w", "spans": [{"span_id": "a", "cost_units": 2}], "turn": 3},
    {"type": "window_closed", "window_id": "w"},
]  # fmt: skip


def raw(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


class Bench:
    """An engine with its windows and a running offset; every record is keyed by its window."""

    def __init__(self, engine: Engine | None = None) -> None:
        self.engine = engine or Engine(keyring=RING)
        self.windows: dict[str, Window] = {}
        self.offset = 0

    def feed(self, value: bytes | None, headers: Any = (), key: bytes | None = b"w") -> list[Out]:
        record = Record(TOPIC, 0, self.offset, key, value, headers)
        self.offset += 1
        return self.engine.process(self.windows, record)

    def send(self, value: Json, signer: str | None = None) -> list[Json]:
        """One event, signed by one of the keys; the values of what it caused."""
        text = raw(value)
        headers = sign(KEYS[signer], signer, TOPIC, text) if signer else []
        return [json.loads(out.value) for out in self.feed(text, headers)]


def alerts(values: list[Json]) -> list[str]:
    return [value["alert"] for value in values if value["type"] == "window_alert"]
