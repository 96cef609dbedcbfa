"""One event of each type, rich in fields, cut at every byte: a dead letter each time, and nothing of it anywhere."""

from __future__ import annotations

import json

import pytest
from event_grammar import CONTENT, FIXED, TYPES, fields, rich_events
from wirekit import KEYS, TOPIC, Bench, Json, raw

from plangate.core.events import MalformedPlan
from plangate.wire.decode import Rejected, decode
from plangate.wire.keyring import sign
from plangate.wire.state import take_patch

EVENTS = {event["type"]: event for event in rich_events()}
LIMIT = 8_388_608


def given(node: object, path: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
    """Paths of all fields in a document, as :func:`event_grammar.fields` gives them."""
    if isinstance(node, list):
        return set().union(*(given(item, (*path, "*")) for item in node))
    if not isinstance(node, dict):
        return set()
    return {(*path, name) for name in node}.union(*(given(item, (*path, name)) for name, item in node.items()))


@pytest.mark.parametrize("tag", EVENTS)
def test_the_event_is_valid_and_has_every_field(tag: str) -> None:
    assert set(fields(TYPES[tag])) <= given(EVENTS[tag])
    assert not isinstance(decode(raw(EVENTS[tag]), LIMIT), Rejected | MalformedPlan)


def opened() -> Bench:
    """A bench whose window has the spans that the events name."""
    bench = Bench()
    bench.send({"type": "span_appended", "window_id": "w", "spans": [
        {"span_id": name, "cost_units": 2} for name in ("ä-1", "b-2", "c-3")]})  # fmt: skip
    return bench


@pytest.mark.parametrize("signer", [None, "ps"])
@pytest.mark.parametrize("tag", EVENTS)
def test_cut_at_every_byte(tag: str, signer: str | None) -> None:
    text, bench = raw(EVENTS[tag]), opened()
    before = take_patch(bench.windows["w"], full=True)
    headers = sign(KEYS[signer], signer, TOPIC, text) if signer else ()
    for cut in range(len(text)):
        (letter,) = bench.feed(text[:cut], headers)
        assert letter.topic == "dead-letters" and set(dict(letter.headers)) == {
            "ce_specversion", "ce_id", "ce_source", "ce_type", "content-type"}  # fmt: skip
        told = json.loads(letter.value)
        assert told["reason"] in ("invalid_json", "invalid_utf8") and told["path"] is None
        assert told["size_bytes"] == cut
        # All that it says is ours: no text of the event but its own coordinates.
        assert {value for value in told.values() if isinstance(value, str)} <= {
            "dead_letter", "default/1", TOPIC, told["reason"]}  # fmt: skip
    assert take_patch(bench.windows["w"], full=True) == before
    whole = bench.feed(text, headers)
    assert all(b"content-" not in out.value and out.topic != "dead-letters" for out in whole)
    assert b"content-" not in take_patch(bench.windows["w"], full=True)


@pytest.mark.parametrize("tag", EVENTS)
def test_cut_at_the_front(tag: str) -> None:
    text, bench = raw(EVENTS[tag]), opened()
    for cut in range(1, len(text)):
        outs = bench.feed(text[cut:])
        assert [out.topic for out in outs] == ["dead-letters"]
        assert b"content-" not in outs[0].value


def test_content_is_in_the_events() -> None:
    texts: list[Json] = list(EVENTS.values())
    assert sum("content-" in json.dumps(event) for event in texts) >= 6
    assert set(CONTENT) <= set(EVENTS) and FIXED["window_id"] == "w"
