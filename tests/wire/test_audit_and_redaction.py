"""The audit chain is whole and holds each decision's digest; ids are hashed where a policy says so."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

from plangate.wire.policy import load_policy
from plangate.wire.replay import replay

IDS = ("call-one", "result-one", "plan-one", "plan-two", "ghost-span", "case-one", "request-one", "artifact-one")


def events() -> list[dict[str, Any]]:
    pair = {"span_id": "result-one", "cost_units": 4, "depends_on": ["call-one", "ghost-span"]}
    evict = [{"span_id": "call-one", "relevance": 0.1}]
    both = [*evict, {"span_id": "result-one", "relevance": 0.1}]
    cost = {"type": "cost_reported", "artifact_id": "artifact-one", "method": "m", "input_version": "1", "scope": "s"}
    return [
        {"type": "span_appended", "spans": [{"span_id": "call-one", "cost_units": 2}, pair]},
        {"type": "span_edited", "span": {"span_id": "call-one", "cost_units": 3}},
        {"type": "plan_proposed", "plan_id": "plan-one", "window_generation": 2, "entries": evict},
        {"type": "budget_requested", "request_id": "request-one", "budget_units": 4},
        {"type": "pipeline_observed", "case_id": "case-one", "expected_id": "call-one", "retrieved_ids": []},
        {**cost, "component": "a", "units": "u", "value": 1},
        {**cost, "component": "b", "units": "u", "value": 2},
        {"type": "plan_proposed", "plan_id": "plan-two", "window_generation": 2, "entries": both},
    ]


def replayed(**policy: object) -> list[tuple[str, bytes]]:
    lines = [json.dumps({**event, "window_id": "w"}).encode() for event in events()]
    return [(out.topic, out.value) for out in replay(lines, load_policy(json.dumps(policy).encode()))]


def test_each_link_holds_the_one_before_and_the_decision_it_is_for() -> None:
    outs = replayed()
    links = [json.loads(value) for topic, value in outs if topic == "audit-log"]
    assert [link["kind"] for link in links] == ["host_rewrite", "decision", "decision"]
    previous = ""
    for number, link in enumerate(links):
        assert (link["number"], link["previous_hash"]) == (number, previous)
        blank = json.dumps({**link, "hash": ""}, separators=(",", ":"), ensure_ascii=False).encode()
        assert link["hash"] == sha256(blank).hexdigest()
        previous = link["hash"]
    decisions = [value for topic, value in outs if topic == "plan-decisions"]
    assert [link["digest"] for link in links[1:]] == [sha256(value).hexdigest() for value in decisions]
    assert [link["decision_id"] for link in links[1:]] == [json.loads(value)["decision_id"] for value in decisions]


def test_no_id_but_the_windows_stands_in_redacted_topics() -> None:
    outs = replayed(id_redaction="hmac")
    plain = replayed()
    hidden = ("window-diagnostics", "window-alerts", "window-status")
    for topic in hidden:
        assert any(to == topic and any(i.encode() in value for i in IDS) for to, value in plain), topic
        assert not [i for to, value in outs if to == topic for i in IDS if i.encode() in value], topic
    kinds = {json.loads(value)["type"] for topic, value in outs if topic in hidden}
    assert {"gate_diagnosed", "planner_diagnosed", "loss_located", "accounting_compared", "window_alert"} <= kinds
    assert any(b"call-one" in value for topic, value in outs if topic == "plan-decisions")


def test_a_shadow_planner_is_compared_and_never_applied() -> None:
    outs = [(topic, json.loads(value)) for topic, value in replayed(shadow_planner="dependency-closed/1")]
    (compared,) = (value for _, value in outs if value["type"] == "shadow_compared")
    assert (compared["planner_old"], compared["planner_new"]) == ("strict-priority/1", "dependency-closed/1")
    # By priority the call leaves alone; closed under dependency its result must go first or with it.
    assert not compared["agree"]
    assert [d["span_id"] for d in compared["differences"]] == ["result-one"]
    status = [value for topic, value in outs if topic == "window-status"]
    assert status[-2]["live_spans"] == 2
