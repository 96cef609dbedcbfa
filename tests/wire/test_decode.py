"""Decoding is total: any bytes give an event, an answer to a malformed plan, or a dead letter; never an exception."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from wirekit import KEYS, SAMPLES, TOPIC, Bench, Json, raw

from plangate.core.events import AnyEvent, Event, MalformedPlan
from plangate.core.policy import Limits, Policy
from plangate.wire.decode import Rejected, decode
from plangate.wire.engine import Engine
from plangate.wire.keyring import sign

LIMIT = 8_388_608
OPEN = b'{"type":"window_opened","window_id":"w"'
APPEND = b'{"type":"span_appended","window_id":"w","spans":[{"span_id":"a","cost_units":%s}]}'
POISON: dict[str, bytes] = {
    "empty": b"", "space": b" \n\t", "nul": b"\0", "nuls": b"\0" * 1000, "bom": b"\xef\xbb\xbf" + OPEN + b"}",
    "bare bom": b"\xef\xbb\xbf", "utf16": (OPEN + b"}").decode().encode("utf-16"), "ff": b"\xff" * 64,
    "overlong": b'"\xc0\xaf"', "half utf8": b'{"type":"\xe2\x82', "surrogate bytes": b'"\xed\xa0\x80"',
    "true": b"true", "number": b"1", "text": b'"x"', "array": b"[]", "array of event": b"[" + OPEN + b"}]",
    "object": b"{}", "no type": b'{"window_id":"w"}', "type only": b'{"type":"window_opened"}',
    "type null": b'{"type":null,"window_id":"w"}', "type number": b'{"type":3,"window_id":"w"}',
    "type list": b'{"type":[],"window_id":"w"}', "type dict": b'{"type":{},"window_id":"w"}',
    "type unknown": b'{"type":"nope","window_id":"w"}', "type output": b'{"type":"plan_accepted","window_id":"w"}',
    "type case": b'{"type":"Window_Opened","window_id":"w"}',
    "window null": b'{"type":"window_opened","window_id":null}',
    "window number": b'{"type":"window_opened","window_id":7}',
    "window empty": b'{"type":"window_opened","window_id":""}',
    "window nul": b'{"type":"window_opened","window_id":"\\u0000"}',
    "window bidi": b'{"type":"window_opened","window_id":"\\u202e"}',
    "window bidi raw": '{"type":"window_opened","window_id":"\u2066w"}'.encode(),
    "window surrogate": b'{"type":"window_opened","window_id":"\\ud800"}',
    "window long": b'{"type":"window_opened","window_id":"' + b"x" * 257 + b'"}',
    "window long bytes": b'{"type":"window_opened","window_id":"' + "é".encode() * 129 + b'"}',
    "trailing": OPEN + b"}}", "two": OPEN + b"}" + OPEN + b"}", "comma": OPEN + b",}",
    "open": OPEN, "single": b"{'a':1}",
    "nan cost": APPEND % b"NaN", "inf cost": APPEND % b"Infinity", "exponent": APPEND % b"1e400",
    "neg inf": APPEND % b"-Infinity", "huge": APPEND % (b"9" * 5000), "2^53+1": APPEND % b"9007199254740993",
    "bool cost": APPEND % b"true", "zero cost": APPEND % b"0", "neg cost": APPEND % b"-1", "half cost": APPEND % b"1.5",
    "text cost": APPEND % b'"5"', "list cost": APPEND % b"[]", "huge float": APPEND % (b"1." + b"9" * 5000),
    "deep array": b"[" * 200_000, "deep object": b'{"a":' * 200_000, "deep closed": b"[" * 100_000 + b"]" * 100_000,
    "deep unknown": OPEN + b',"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "deep spans": b'{"type":"span_appended","window_id":"w","spans":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "1001 spans": raw({"type": "span_appended", "window_id": "w",
                       "spans": [{"span_id": f"s{i}", "cost_units": 1} for i in range(1001)]}),
    "65 edges": raw({"type": "span_appended", "window_id": "w", "spans": [
        {"span_id": "s", "cost_units": 1, "depends_on": [f"d{i}" for i in range(65)]}]}),
}  # fmt: skip


def letters(value: bytes, bench: Bench | None = None) -> list[Json]:
    return [json.loads(out.value) for out in (bench or Bench()).feed(value)]


@pytest.mark.parametrize("name", POISON)
def test_poison_is_a_dead_letter(name: str) -> None:
    bench = Bench()
    outs = letters(POISON[name], bench)
    assert [o["type"] for o in outs] == ["dead_letter"], outs
    assert outs[0]["size_bytes"] == len(POISON[name])
    assert set(outs[0]) == {
        "type", "contract_version", "policy_version", "topic", "partition", "offset", "reason", "path", "size_bytes",
    }  # fmt: skip
    assert not bench.windows


def test_there_is_enough_poison() -> None:
    assert len(POISON) >= 40


def test_there_is_a_sample_of_every_type() -> None:
    assert {s["type"] for s in SAMPLES} == {kind.__struct_config__.tag for kind in AnyEvent.__args__}
    for sample in SAMPLES:
        assert not isinstance(decode(raw(sample), LIMIT), Rejected | MalformedPlan), sample["type"]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda s: s["type"])
def test_a_sample_cut_or_bent_at_any_byte_never_raises(sample: Json) -> None:
    text, rng, bench = raw(sample), Random(3), Bench()
    for cut in range(len(text)):
        assert isinstance(decode(text[:cut], LIMIT), Rejected)
    for at in range(len(text)):
        bent = text[:at] + bytes([rng.randrange(256)]) + text[at + 1 :]
        assert isinstance(decode(bent, LIMIT), Event | Rejected)
        bench.feed(bent)


@pytest.mark.parametrize("name", ["NaN", "Infinity", "-Infinity", "1e999", "true", '"0.5"', "[]", "{}", "-0.1", "1.01"])
def test_a_number_that_is_none_is_answered_with_its_path(name: str) -> None:
    text = raw(SAMPLES[8]).replace(b'"relevance":0.9', b'"relevance":' + name.encode())
    found = decode(text, LIMIT)
    assert isinstance(found, MalformedPlan) and found.paths == ["entries[0].relevance"]


MALFORMED: list[tuple[str, Any, list[str]]] = [
    ("window_generation", True, ["window_generation"]), ("window_generation", -1, ["window_generation"]),
    ("window_generation", 2**53 + 1, ["window_generation"]), ("window_generation", None, ["window_generation"]),
    ("entries", "SECRET", ["entries"]), ("entries", None, ["entries"]), ("keep_threshold", 1.5, ["keep_threshold"]),
    ("keep_threshold", "SECRET", ["keep_threshold"]), ("budget_units", True, ["budget_units"]),
    ("commit_order", "SECRET", ["commit_order"]), ("amendable", "SECRET", ["amendable"]), ("scorer", 5, ["scorer"]),
    ("scorer", "SECRET\u202e", ["scorer"]), ("replacements", {"SECRET": 1}, ["replacements"]),
    ("entries", ["SECRET", {"span_id": "a", "relevance": "SECRET"}], ["entries[0]", "entries[1].relevance"]),
    ("entries", [{"span_id": "SECRET\u0000", "relevance": 0.5}], ["entries[0].span_id"]),
    ("entries", [{"span_id": "SECRET\ud800", "relevance": 0.5}], ["entries[0].span_id"]),
    ("entries", [{"span_id": "a", "relevance": 0.5, "disposition": "SECRET"}], ["entries[0].disposition"]),
    ("entries", [{"span_id": "a", "relevance": 0.5, "cited_dependencies": "SECRET"}],
     ["entries[0].cited_dependencies"]),
    ("entries", [{"span_id": "a", "relevance": 0.5}] * 20_001, ["entries"]),
]  # fmt: skip


@pytest.mark.parametrize(("field", "value", "paths"), MALFORMED, ids=lambda v: str(v)[:40])
def test_malformed_plan_is_answered_with_paths_and_never_values(field: str, value: Any, paths: list[str]) -> None:
    bench = Bench()
    bench.send({"type": "window_opened", "window_id": "w"})
    plan = {"type": "plan_proposed", "window_id": "w", "plan_id": "p", "window_generation": 0, "entries": []}
    outs = bench.feed(json.dumps(plan | {field: value}).encode())
    refused = json.loads(outs[0].value)
    assert (refused["type"], refused["reasons"], refused["invalid_paths"]) == ("plan_refused", ["invalid_plan"], paths)
    assert not any(b"SECRET" in out.value for out in outs)


@pytest.mark.parametrize("bad", [{"plan_id": 5}, {"plan_id": None}, {"window_id": "\u202e"}, {"plan_id": "x" * 257}])
def test_plan_that_can_not_be_attributed_is_a_dead_letter(bad: Json) -> None:
    assert [o["type"] for o in letters(raw(SAMPLES[8] | bad))] == ["dead_letter"]


def test_a_lone_surrogate_in_a_dropped_field_is_lawful() -> None:
    plan = SAMPLES[8] | {"rationale": "\ud800", "x": {"y": "\udfff"}}
    assert decode(json.dumps(plan).encode(), LIMIT) == decode(raw(SAMPLES[8]), LIMIT)


def test_unknown_fields_and_nulls_are_as_if_absent() -> None:
    bare = {"type": "window_opened", "window_id": "w"}
    assert decode(raw(bare | {"budget_units": None, "x": [1]}), LIMIT) == decode(raw(bare), LIMIT)


def test_duplicate_names_never_raise_and_the_key_still_rules() -> None:
    twice = b'{"type":"window_opened","window_id":"v","window_id":"w"}'
    other = b'{"type":"window_opened","window_id":"w","window_id":"v"}'
    assert {o["type"] for o in letters(twice)} == {"window_status"}
    assert [o["reason"] for o in letters(other)] == ["key_mismatch"]
    assert isinstance(decode(b'{"type":"window_opened","type":"nope","window_id":"w"}', LIMIT), Event | Rejected)


@pytest.mark.parametrize("over", [-1, 0, 1])
def test_size_at_the_limit(over: int) -> None:
    limits = Limits(record_bytes=65_536)
    bench = Bench(Engine(Policy(limits=limits)))
    text = OPEN + b',"x":"'
    text += b"y" * (65_536 + over - len(text) - 2) + b'"}'
    assert len(text) == 65_536 + over
    outs = letters(text, bench)
    if over > 0:
        assert [(o["reason"], o["size_bytes"]) for o in outs] == [("too_large", 65_537)]
    else:
        assert [o["type"] for o in outs] == ["window_status"]


def test_null_is_nothing_and_a_record_without_its_key_is_a_dead_letter() -> None:
    bench = Bench()
    assert bench.feed(None) == [] and bench.feed(None, key=None) == []
    for key, reason in ((None, "null_key"), (b"v", "key_mismatch"), (b"", "key_mismatch"), (b"\xff", "key_mismatch")):
        assert [json.loads(o.value)["reason"] for o in bench.feed(OPEN + b"}", key=key)] == [reason]
    assert not bench.windows


@pytest.mark.parametrize("text", [b"null", b" null "])
def test_json_null_as_a_value(text: bytes) -> None:
    """A null record value is nothing; JSON null in a record's bytes is bytes that hold no event."""
    assert all(o["type"] == "dead_letter" for o in letters(text))


def test_ids_at_their_limits() -> None:
    assert decode(raw({"type": "window_opened", "window_id": "é" * 128}), LIMIT).window_id == "é" * 128
    for bad in ("é" * 129, "a\u007f", "a\u0085", "a\n", "a\u200f", "a\ufeff"):
        assert isinstance(decode(raw({"type": "window_opened", "window_id": bad}), LIMIT), Rejected)


@pytest.mark.parametrize("field", ["policy_version", "scorers", "planner", "shadow_planner"])
@pytest.mark.parametrize("bad", ["\\ud800", "\\u202e", "\\u0000", "\\u00e9" * 200])
def test_a_policy_whose_names_no_output_may_hold_is_rejected(field: str, bad: str) -> None:
    """A lone surrogate in a name that every output carries once stopped the engine."""
    value = f'["{bad}"]' if field == "scorers" else f'"{bad}"'
    text = f'{{"type":"policy_set","window_id":"w","authority_seq":1,"policy":{{"{field}":{value}}}}}'.encode()
    outs = [json.loads(out.value) for out in Bench().feed(text, sign(KEYS["ps"], "ps", TOPIC, text))]
    assert [(o["alert"], o["paths"]) for o in outs] == [("policy_rejected", [field])]


def test_observed_ids_have_the_limit_of_ids() -> None:
    observed = next(s for s in SAMPLES if s["type"] == "planner_observed")
    for field in ("retained_ids", "evicted_ids"):
        assert [o["path"] for o in letters(raw(observed | {field: ["x" * 257]}))] == [f"{field}[0]"]
