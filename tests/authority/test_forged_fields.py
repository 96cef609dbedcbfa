"""No field of a message gives authority, at whatever place it stands, however the message is (not) signed."""

from collections import Counter
from random import Random

import pytest
from forged_fields import AUTHORITY_TYPES, Gate, at_every_place, held, random_message
from forged_fields import Message as Forged
from forged_headers import FORGERIES
from wirekit import SAMPLES, alerts, raw

MESSAGES = 10_000
OF_A_WINDOW = 20


def run(count: int, seed: int, signed: bool = False) -> tuple[list[str], Counter[str]]:
    """Feed so many random messages: what was moved that must not be, and what occurred."""
    dice, gate, wrong, counted = Random(seed), Gate(), [], Counter[str]()
    window_id = ""
    for number in range(count):
        if number % OF_A_WINDOW == 0:
            window_id = gate.prepare()
        message = random_message(dice, gate, window_id, number, signed)
        before = held(gate.windows[window_id])
        found, outs = gate.judge(window_id, message)
        after = held(gate.windows[window_id])
        wrong += [f"{number} {message.kind} ({message.forgery}): {what}" for what in found]
        counted.update({f"type {message.kind}", f"forgery {message.forgery}", *(f"alert {a}" for a in alerts(outs))})
        counted["applied"] += any(out["type"] not in ("window_alert", "dead_letter") for out in outs)
        counted["pins changed"] += (before.pinned, before.waiting) != (after.pinned, after.waiting)
        counted["policy changed"] += before.policy != after.policy
        counted["approvals changed"] += before.approvals != after.approvals
    return wrong, counted


def test_ten_thousand_forged_messages_change_no_pin_and_no_policy() -> None:
    wrong, counted = run(MESSAGES, seed=4)
    assert wrong == []
    assert counted["policy changed"] == counted["approvals changed"] == 0
    # They are not harmless for being malformed.
    assert counted["applied"] > MESSAGES / 4
    for name in ("untrusted_pin", "untrusted_authority", "bad_signature", "pinned_span_changed", "authority_replayed"):
        assert counted[f"alert {name}"] > 50, name
    assert {name.removeprefix("type ") for name in counted if name.startswith("type ")} == {s["type"] for s in SAMPLES}
    assert not [name for name in FORGERIES if counted[f"forgery {name}"] < 50]


def test_the_same_messages_of_an_authority_do_change_pins_and_policies() -> None:
    """Else the test above would pass on messages that could change nothing."""
    wrong, counted = run(2_000, seed=4, signed=True)
    assert counted["pins changed"] > 200
    assert counted["policy changed"] > 50
    assert counted["approvals changed"] > 50
    kinds = Counter(line.split()[1] for line in wrong)
    assert any("audit log" in line for line in wrong)
    assert {*AUTHORITY_TYPES, "span_appended", "window_resynced"} <= kinds.keys()


def test_every_forged_field_at_every_place_of_every_type() -> None:
    gate, count = Gate(), 0
    for name, event in at_every_place():
        window_id = gate.prepare()
        event = event | {"window_id": window_id}
        if "window_generation" in event:
            event["window_generation"] = gate.windows[window_id].head.generation
        wrong, _ = gate.judge(window_id, Forged(raw(event), [], event["type"], "none"))
        assert wrong == [], name
        count += 1
        del gate.windows[window_id]
    assert count > 900


@pytest.mark.parametrize("seed", range(3))
def test_other_seeds(seed: int) -> None:
    assert run(500, seed)[0] == []
