"""Authority broken on purpose, once in each way: the forgers must get through, or their tests are worth nothing.

Each mutant names the check that sees it: `forged` is the property test of test_forged_fields.py, the others are attacks
that it can't hit by chance.
"""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from forged_fields import Gate, held
from forged_headers import good
from test_forged_fields import run
from wirekit import KEYS, raw

from plangate.core import host, spans, step
from plangate.core.spans import settle_pins
from plangate.core.step import UNSIGNED, Signature
from plangate.wire import keyring
from plangate.wire.keyring import KEY_ID, SIGNATURE, Keyring, sign

Patch = tuple[Any, str, Any]
real_admitted, real_bytes, real_verify = step._admitted, keyring.signed_bytes, Keyring.verify


def forged() -> bool:
    return run(600, seed=4)[0] != []


def pinned_by(gate: Gate, window_id: str, value: bytes, headers: Any) -> bool:
    """Whether the record pins span b."""
    gate.feed(value, headers)
    return "b" in held(gate.windows[window_id]).pinned


def pin(window_id: str, number: int) -> dict[str, Any]:
    names = {"span_id": "b", "pin_owner": "o", "pin_reason": "r"}
    return {"type": "span_pinned", "window_id": window_id, "authority_seq": number, **names}


def moved_to_another_window() -> bool:
    gate = Gate()
    first, second = gate.prepare(), gate.prepare()
    signed = raw(pin(first, 50))
    return pinned_by(gate, second, signed.replace(first.encode(), second.encode()), good(signed))


def moved_from_another_topic() -> bool:
    gate = Gate()
    window_id = gate.prepare()
    value = raw(pin(window_id, 50))
    return pinned_by(gate, window_id, value, sign(KEYS["ps"], "ps", "plan-decisions", value))


def replayed() -> bool:
    gate = Gate()
    window_id = gate.prepare()
    value = raw(pin(window_id, 50))
    gate.feed(value, good(value))
    back = raw({"type": "span_unpinned", "window_id": window_id, "span_id": "b", "reason": "r", "authority_seq": 51})
    gate.feed(back, good(back))
    return pinned_by(gate, window_id, value, good(value))


def taken_from_a_decision() -> bool:
    """A key that a source without authority holds."""
    gate = Gate()
    window_id = gate.prepare()
    value = raw(pin(window_id, 50))
    return pinned_by(gate, window_id, value, sign(KEYS["ci"], "ci", "window-events", value))


def washed() -> bool:
    """An unsigned span, restated and pinned by an authority, then cited as clean lineage of what shall be pinned."""
    gate = Gate()
    window_id = gate.prepare()
    span = {
        "span_id": "b2",
        "cost_units": 1,
        "derived_from": ["b"],
        "pinned": True,
        "pin_owner": "o",
        "pin_reason": "r",
    }
    value = raw({"type": "span_appended", "window_id": window_id, "spans": [span], "authority_seq": 50})
    outs = gate.feed(value, good(value))
    assert [out["alert"] for out in outs if out["type"] == "window_alert"] in (["tainted_pin"], [])
    return "b2" in held(gate.windows[window_id]).pinned


ATTACKS = (forged, moved_to_another_window, moved_from_another_topic, replayed, taken_from_a_decision, washed)


def unchecked(self: Keyring, topic: str, value: bytes, headers: Any) -> Signature:
    found = dict(headers)
    known = self.keys.get(bytes(found.get(KEY_ID) or b"").decode("utf-8", "replace"))
    return Signature(known[0], "ps") if known and SIGNATURE in found else UNSIGNED


def from_the_payload(self: Keyring, topic: str, value: bytes, headers: Any) -> Signature:
    source = json.loads(value).get("source")
    return Signature(source, "ps") if isinstance(source, str) else real_verify(self, topic, value, headers)


def last_header_counts(self: Keyring, topic: str, value: bytes, headers: Any) -> Signature:
    return real_verify(self, topic, value, list(dict(headers).items()))


def forgetful(ctx: Any, *rest: Any) -> bool:
    ctx.window.authority.clear()
    return real_admitted(ctx, *rest)


def without_window(topic: str, value: bytes) -> bytes:
    return real_bytes(topic, re.sub(rb'"window_id":"[^"]*"', b"", value))


def unsigned_too(module: Any, name: str) -> Patch:
    real = getattr(module, name)
    return module, name, lambda ctx, *rest: (setattr(ctx, "signed", True), real(ctx, *rest))[1]


#: what is broken -> (where, what stands there instead, who sees it)
MUTANTS: dict[str, tuple[Patch, Callable[[], bool]]] = {
    "signatures are not checked": ((Keyring, "verify", unchecked), forged),
    "the source is read from the payload": ((Keyring, "verify", from_the_payload), forged),
    "a pin is taken from the payload": (
        (host, "settle_pins", lambda window, new, *, signed: settle_pins(window, new, signed=True)),
        forged,
    ),
    "authority events need no signature": ((step, "AUTHORITY_EVENTS", ()), forged),
    "an unsigned edit or append blesses a span": (unsigned_too(step, "append"), forged),
    "an unsigned resync pins": (unsigned_too(step, "resync"), forged),
    "whoever is in the keyring has authority": (
        (step, "AUTHORITY", {"ci_runner", "policy_store"}),
        taken_from_a_decision,
    ),
    "authority_seq is not checked": ((step, "_admitted", forgetful), replayed),
    "the window is not signed": ((keyring, "signed_bytes", without_window), moved_to_another_window),
    "the topic is not signed": (
        (keyring, "signed_bytes", lambda topic, value: real_bytes("", value)),
        moved_from_another_topic,
    ),
    "one of two headers is picked": ((Keyring, "verify", last_header_counts), forged),
    "taint is not looked for": ((spans, "is_tainted", lambda *_: False), washed),
}


@pytest.mark.parametrize("broken", MUTANTS)
def test_mutant_is_caught(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    patch, seen = MUTANTS[broken]
    monkeypatch.setattr(*patch)
    assert seen(), f"nobody noticed: {broken}"


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_attack_gets_through(attack: Callable[[], bool]) -> None:
    assert not attack()
