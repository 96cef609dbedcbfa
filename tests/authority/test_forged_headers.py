"""A wrong signature has its alert and no effect; a right one right after it has."""

import json
from typing import Any

import pytest
from forged_headers import FORGERIES, SIGNED_PIN, good, other_window
from wirekit import Bench, Json, alerts, raw

from plangate.core.window import Window

EVENTS: dict[str, Json] = {
    "span_pinned": json.loads(SIGNED_PIN),
    "span_unpinned": {"type": "span_unpinned", "window_id": "w", "span_id": "p", "reason": "r", "authority_seq": 2},
    "policy_set": {"type": "policy_set", "window_id": "w", "policy": {"policy_version": "v2"}, "authority_seq": 2},
    "compression_approved": {
        "type": "compression_approved", "window_id": "w", "span_id": "p", "replacement_id": "s", "cost_units": 1,
        "reviewer": "v", "reason": "r", "authority_seq": 2,
    },
}  # fmt: skip


def prepared() -> Bench:
    """A live span, and one that the operators' console has pinned."""
    bench = Bench()
    spans = [{"span_id": name, "cost_units": 5} for name in ("a", "p")]
    bench.send({"type": "span_appended", "window_id": "w", "spans": spans})
    assert alerts(bench.send(EVENTS["span_pinned"] | {"span_id": "p"}, "oc")) == []
    return bench


def authority_of(window: Window) -> Any:
    """All that only an authority may change."""
    pins = sorted(span.id for span in window.spans.values() if span.pinned)
    return pins, dict(window.waiting), dict(window.approvals), window.policy, window.head.policy, dict(window.authority)


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("name", FORGERIES)
def test_forged_headers(name: str, event: str) -> None:
    forge, wrong = FORGERIES[name]
    bench, value = prepared(), raw(EVENTS[event])
    before, generation = authority_of(bench.windows["w"]), bench.windows["w"].head.generation
    outs = [json.loads(out.value) for out in bench.feed(value, forge(value))]
    assert alerts(outs) == (["bad_signature"] if wrong else []) + ["untrusted_authority"]
    assert {out["type"] for out in outs} == {"window_alert"}
    assert authority_of(bench.windows["w"]) == before
    assert bench.windows["w"].head.generation == generation
    assert alerts([json.loads(out.value) for out in bench.feed(value, good(value))]) == []
    assert authority_of(bench.windows["w"]) != before, "the same event of an authority must have an effect"


def test_a_replayed_record_has_no_effect() -> None:
    """Pinned and taken back; the first record, sent again as it was, pins nothing."""
    bench = prepared()
    bench.feed(SIGNED_PIN, good(SIGNED_PIN))
    back = raw(EVENTS["span_unpinned"] | {"span_id": "a"})
    bench.feed(back, good(back))
    before = authority_of(bench.windows["w"])
    for _ in range(2):
        assert alerts([json.loads(o.value) for o in bench.feed(SIGNED_PIN, good(SIGNED_PIN))]) == ["authority_replayed"]
        assert authority_of(bench.windows["w"]) == before


def test_a_record_of_one_window_is_worth_nothing_in_another() -> None:
    """Its bytes under another key are a dead letter; with another window_id in them, they are not what was signed."""
    bench = prepared()
    bench.feed(raw({"type": "window_opened", "window_id": "elsewhere"}), key=b"elsewhere")
    before = authority_of(bench.windows["elsewhere"])
    [letter] = bench.feed(SIGNED_PIN, good(SIGNED_PIN), key=b"elsewhere")
    assert json.loads(letter.value)["reason"] == "key_mismatch"
    outs = bench.feed(other_window(SIGNED_PIN), good(SIGNED_PIN), key=b"elsewhere")
    assert alerts([json.loads(o.value) for o in outs]) == ["bad_signature", "untrusted_authority"]
    assert authority_of(bench.windows["elsewhere"]) == before


@pytest.mark.parametrize("at", range(len(SIGNED_PIN)))
def test_every_byte_of_the_value_is_signed(at: int) -> None:
    """Each byte changed to its neighbour: whatever that makes of the record, it has no authority."""
    bench = prepared()
    before = authority_of(bench.windows["w"])
    bent = SIGNED_PIN[:at] + bytes([SIGNED_PIN[at] ^ 1]) + SIGNED_PIN[at + 1 :]
    bench.feed(bent, good(SIGNED_PIN))
    assert authority_of(bench.windows["w"]) == before


def test_events_that_need_no_authority_stay_what_they_are() -> None:
    """Wrong signatures on events that need none: applied as unsigned ones, with the alert."""
    bench = prepared()
    value = raw({"type": "spans_used", "window_id": "w", "span_ids": ["a"]})
    for name, (forge, wrong) in FORGERIES.items():
        outs = [json.loads(out.value) for out in bench.feed(value, forge(value))]
        assert alerts(outs) == (["bad_signature"] if wrong else []), name
