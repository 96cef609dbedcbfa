"""Signed authority (contract section 1): what a signature is worth, and that nothing else is worth anything."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from wirekit import KEYS, RING, SOURCES, TOPIC, Bench, Json, alerts, raw

from plangate.wire.keyring import KEY_ID, SIGNATURE, KeyringError, load_keyring, sign

PIN = {"type": "span_pinned", "window_id": "w", "span_id": "a", "pin_owner": "o", "pin_reason": "r", "authority_seq": 1}
POLICY = {"type": "policy_set", "window_id": "w", "policy": {"policy_version": "strict/2"}, "authority_seq": 1}
PINNED_SPAN = {"span_id": "p", "cost_units": 1, "pinned": True, "pin_owner": "o", "pin_reason": "r"}
TEXT = raw(PIN)
GOOD = sign(KEYS["ps"], "ps", TOPIC, TEXT)
SIGNED = dict(GOOD)[SIGNATURE]
RAW = base64.b64decode(SIGNED)


def bench_with_span() -> Bench:
    bench = Bench()
    bench.send({"type": "span_appended", "window_id": "w", "spans": [{"span_id": "a", "cost_units": 5}]})
    return bench


def pinned(bench: Bench, span_id: str = "a") -> bool:
    """Seen from outside: whether a budget of nothing evicts the span."""
    ask = {"type": "budget_requested", "window_id": "w", "request_id": "look", "budget_units": 0}
    plan = bench.send(ask)[0]
    assert plan["type"] == "eviction_planned"
    return plan["status"] == "blocked" and span_id in plan["retained_ids"]


def values(bench: Bench, text: bytes, headers: Any) -> list[Json]:
    return [json.loads(out.value) for out in bench.feed(text, headers)]


@pytest.mark.parametrize("key_id", ["ps", "oc"])
@pytest.mark.parametrize("form", ["base64", "raw"])
def test_right_signature_of_an_authority_pins(key_id: str, form: str) -> None:
    bench = bench_with_span()
    headers = sign(KEYS[key_id], key_id, TOPIC, TEXT)
    if form == "raw":
        headers[1] = (SIGNATURE, base64.b64decode(headers[1][1]))
    assert alerts(values(bench, TEXT, headers)) == []
    assert pinned(bench)


FORGED: dict[str, tuple[list[tuple[str, Any]], bool]] = {
    "none": ([], False),
    "other text": (sign(KEYS["ps"], "ps", TOPIC, TEXT + b" "), True),
    "other topic": (sign(KEYS["ps"], "ps", "plan-decisions", TEXT), True),
    "prefixed topic": (sign(KEYS["ps"], "ps", f"prod.{TOPIC}", TEXT), True),
    "another key": (sign(KEYS["oc"], "ps", TOPIC, TEXT), True),
    "no domain tag": ([(KEY_ID, b"ps"), (SIGNATURE, base64.b64encode(KEYS["ps"].sign(TEXT)))], True),
    "truncated": ([(KEY_ID, b"ps"), (SIGNATURE, SIGNED[:-8])], True),
    "truncated raw": ([(KEY_ID, b"ps"), (SIGNATURE, base64.b64decode(SIGNED)[:63])], True),
    "empty": ([(KEY_ID, b"ps"), (SIGNATURE, b"")], True),
    "null": ([(KEY_ID, b"ps"), (SIGNATURE, None)], True),
    "zeros": ([(KEY_ID, b"ps"), (SIGNATURE, b"\0" * 64)], True),
    "not base64": ([(KEY_ID, b"ps"), (SIGNATURE, b"\xff\xfe")], True),
    "bit flipped": ([(KEY_ID, b"ps"), (SIGNATURE, bytes([RAW[0] ^ 1]) + RAW[1:])], True),
    "unknown key": ([(KEY_ID, b"who"), (SIGNATURE, SIGNED)], False),
    "key id is no text": ([(KEY_ID, b"\xff\xff"), (SIGNATURE, SIGNED)], False),
    "key id null": ([(KEY_ID, None), (SIGNATURE, SIGNED)], False),
    "signature alone": ([(SIGNATURE, SIGNED)], False),
    "source without authority": (sign(KEYS["ci"], "ci", TOPIC, TEXT), False),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGED)
def test_anything_else_counts_as_unsigned_and_never_stops_the_stream(name: str) -> None:
    headers, wrong = FORGED[name]
    bench = bench_with_span()
    found = alerts(values(bench, TEXT, headers))
    assert found == (["bad_signature"] if wrong else []) + ["untrusted_authority"]
    assert not pinned(bench)
    assert alerts(values(bench, TEXT, GOOD)) == [], "an ignored event must not use up the authority_seq"
    assert pinned(bench)


def test_key_id_without_signature_has_no_authority() -> None:
    bench = bench_with_span()
    assert "untrusted_authority" in alerts(values(bench, TEXT, [(KEY_ID, b"ps")]))
    assert not pinned(bench)


def test_every_bit_of_value_and_signature_counts() -> None:
    signature = base64.b64decode(SIGNED)
    for at in range(0, 64, 5):
        bent = signature[:at] + bytes([signature[at] ^ 128]) + signature[at + 1 :]
        assert RING.verify(TOPIC, TEXT, [(KEY_ID, b"ps"), (SIGNATURE, bent)]).wrong
    for at in range(len(TEXT)):
        assert RING.verify(TOPIC, TEXT[:at] + b"~" + TEXT[at + 1 :], GOOD).source != "policy_store"


@pytest.mark.parametrize("field", ["source", "signed", "authority", "plangate-key-id", "plangate-signature"])
def test_no_field_of_a_payload_gives_authority(field: str) -> None:
    bench = bench_with_span()
    assert alerts(bench.send(PIN | {field: "policy_store"})) == ["untrusted_authority"]
    assert not pinned(bench)


@pytest.mark.parametrize("replayed", [1, 2, 0, -5])
def test_replayed_authority_is_ignored(replayed: int) -> None:
    bench = bench_with_span()
    bench.send(PIN | {"authority_seq": 2}, "ps")
    unpin = {"type": "span_unpinned", "window_id": "w", "span_id": "a", "reason": "r"}
    assert alerts(bench.send(unpin | {"authority_seq": replayed}, "ps")) == ["authority_replayed"]
    assert pinned(bench)
    assert alerts(bench.send(unpin | {"authority_seq": 1}, "oc")) == [], "each key counts for itself"
    assert not pinned(bench)


def test_a_signed_event_without_its_number_has_no_authority() -> None:
    bench = bench_with_span()
    bare = {k: v for k, v in PIN.items() if k != "authority_seq"}
    assert "untrusted_authority" in alerts(bench.send(bare, "ps"))
    assert not pinned(bench)


@pytest.mark.parametrize(("signer", "alert"), [(None, "untrusted_pin"), ("ci", "untrusted_pin"), ("ps", None)])
def test_pin_in_an_append(signer: str | None, alert: str | None) -> None:
    bench = Bench()
    line = {"type": "span_appended", "window_id": "w", "spans": [PINNED_SPAN], "authority_seq": 1}
    assert alerts(bench.send(line, signer)) == ([alert] if alert else [])
    assert pinned(bench, "p") is (alert is None)


@pytest.mark.parametrize(("signer", "version"), [(None, "default/1"), ("ci", "default/1"), ("ps", "strict/2")])
def test_policy_only_by_authority(signer: str | None, version: str) -> None:
    bench = bench_with_span()
    bench.send(POLICY, signer)
    again = bench.send({"type": "span_appended", "window_id": "w", "spans": [{"span_id": "b", "cost_units": 1}]})
    assert again[-1]["policy_version"] == version


def test_unsigned_event_id_can_not_silence_a_signed_one() -> None:
    bench = bench_with_span()
    bench.send({"type": "spans_used", "window_id": "w", "span_ids": ["a"], "event_id": "e1", "sequence": 50})
    assert alerts(bench.send(PIN | {"event_id": "e1", "sequence": 1}, "ps")) == []
    assert pinned(bench)


@pytest.mark.parametrize("suffix", ["json", "toml"])
def test_keyring_file(tmp_path: Path, suffix: str) -> None:
    public = base64.b64encode(KEYS["ps"].public_key().public_bytes_raw()).decode()
    path = tmp_path / f"keys.{suffix}"
    row = {"key_id": "ps", "source": SOURCES["ps"], "public_key": public}
    toml = "[[keys]]\n" + "".join(f'{k} = "{v}"\n' for k, v in row.items())
    path.write_text(json.dumps({"keys": [row]}) if suffix == "json" else toml)
    assert load_keyring(path).verify(TOPIC, TEXT, GOOD).source == "policy_store"


@pytest.mark.parametrize(
    "document",
    ["", "[]", "{}", '{"keys":5}', '{"keys":[{"key_id":"CANARY"}]}', '{"keys":["CANARY"]}',
     '{"keys":[{"key_id":"CANARY","source":"policy_store","public_key":"CANARY"}]}'],
)  # fmt: skip
def test_bad_keyring_is_an_error_without_its_content(tmp_path: Path, document: str) -> None:
    path = tmp_path / "keys.json"
    path.write_text(document)
    with pytest.raises(KeyringError) as caught:
        load_keyring(path)
    assert "CANARY" not in str(caught.value)
