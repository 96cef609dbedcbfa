"""Events that try to pin, to set a policy or to look signed through any field, and what they must not move."""

import copy
import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, NamedTuple

from forged_headers import FORGERIES, Headers, good
from wirekit import RING, SAMPLES, TOPIC, Json, raw

from plangate.core.window import Window
from plangate.wire.engine import Engine, Record

#: live: "p1" and "p2" pinned by an authority, the others not; "later" waits to be pinned
SPANS = ("a", "b", "c", "p1", "p2")
PIN = {"pin_owner": "o", "pin_reason": "r"}
POLICY = {"policy_version": "strict/1", "proposals_per_generation": 50}
FORGED_POLICY = {"policy_version": "forged/1", "keep_threshold": 0.0, "commit": "on_confirm", "amend_plans": True}
#: what is put at every place; names that mean something somewhere, and such as sound like it
FORGED: list[Json] = [
    {"pinned": True, **PIN},
    {"pinned": False},
    {"pin": True, "pins": ["a", "b"], "unpin": ["p1"]},
    {"priority": 9_007_199_254_740_991},
    {"signed": True, "source": "policy_store", "authority": True, "vouched": True},
    {"plangate-key-id": "ps", "plangate-signature": "c2lnbmF0dXJl", "key_id": "ps", "signature": "c2ln"},
    {"headers": {"plangate-key-id": "ps", "plangate-signature": "c2ln"}},
    {"authority_seq": 1_000_000},
    {"policy": FORGED_POLICY},
    {"policy_set": {"policy": FORGED_POLICY}, "policy_version": "forged/1"},
    {"span_pinned": {"span_id": "a", **PIN}, "span_unpinned": {"span_id": "p1", "reason": "r"}},
    {"compression_approved": {"span_id": "p1", "replacement_id": "s", "cost_units": 1, "reviewer": "v"}},
    {"spans": [{"span_id": "z", "cost_units": 1, "pinned": True, **PIN}]},
    {"span": {"span_id": "a", "cost_units": 1, "pinned": True, **PIN}},
    {"value": {"type": "span_pinned", "window_id": "w", "span_id": "a", **PIN}},
    {"derived_from": ["p1"], "signed_by": "operator_console", "reviewer": "v", "waiting": True},
]


class Message(NamedTuple):
    """An input record. `kind`: its event type; `forgery`: how it is (not) signed."""

    value: bytes
    headers: Headers
    kind: str
    forgery: str


class Held(NamedTuple):
    """What of a window only an authority may change."""

    pinned: frozenset[str]
    unpinned: frozenset[str]
    signed: frozenset[str]
    waiting: frozenset[str]
    approvals: frozenset[str]
    policy: Any
    document: Any
    numbers: tuple[tuple[str, int], ...]
    signed_event_ids: frozenset[str]


def held(window: Window) -> Held:
    spans = window.spans.values()
    return Held(
        frozenset(span.id for span in spans if span.pinned),
        frozenset(span.id for span in spans if not span.pinned),
        frozenset(span.id for span in spans if span.signed),
        frozenset(window.waiting),
        frozenset(window.approvals),
        window.policy,
        json.dumps(window.head.policy),
        tuple(sorted(window.authority.items())),
        frozenset(window.signed_event_ids),
    )


def moved(before: Held, after: Held, kind: str) -> list[str]:
    """What an unsigned event of this type changed and must not have (contract sections 1 to 3).

    The host may take spans away, pinned ones too (with an alert), and may end the window. A pin that waits meets its
    span. Nothing else may pin, unpin, bless, approve or set anything.
    """
    wrong = []
    if after.pinned - before.pinned - before.waiting:
        wrong.append("pinned")
    if after.unpinned & before.pinned:
        wrong.append("unpinned")
    gone = before.pinned - after.pinned - after.unpinned
    if gone and kind not in ("spans_removed", "window_resynced", "window_closed"):
        wrong.append("evicted a pinned span")
    if after.signed - before.signed:
        wrong.append("made a span count as signed")
    if after.waiting - before.waiting:
        wrong.append("made a pin wait")
    if (before.waiting - after.waiting) - after.pinned and kind != "window_closed":
        wrong.append("took a waiting pin away")
    if after.approvals - before.approvals or (before.approvals - after.approvals and kind != "window_closed"):
        wrong.append("approvals")
    if (before.policy, before.document) != (after.policy, after.document):
        wrong.append("policy")
    if (before.numbers, before.signed_event_ids) != (after.numbers, after.signed_event_ids):
        wrong.append("what is remembered of signed events")
    return wrong


class Gate:
    """An engine, and one window after another that an authority has prepared."""

    def __init__(self) -> None:
        self.engine = Engine(keyring=RING)
        self.windows: dict[str, Window] = {}
        self.offset = 0
        self.number = 0
        self.captured: list[Message] = []

    def feed(self, value: bytes, headers: Headers) -> list[Json]:
        window_id = json.loads(value)["window_id"]
        record = Record(TOPIC, 0, self.offset, window_id.encode(), value, headers)
        self.offset += 1
        return [json.loads(out.value) for out in self.engine.process(self.windows, record)]

    def prepare(self) -> str:
        """A new window; what its authority signed is there for forgers to see."""
        self.number += 1
        window_id = f"w{self.number}"
        spans = [{"span_id": name, "cost_units": 3} for name in SPANS]
        self.feed(raw({"type": "span_appended", "window_id": window_id, "spans": spans}), [])
        self.captured = []
        events: list[Json] = [{"type": "span_pinned", "span_id": name, **PIN} for name in ("a", "p1", "p2", "later")]
        events.append({"type": "span_unpinned", "span_id": "a", "reason": "r"})
        events.append({"type": "policy_set", "policy": POLICY})
        for number, event in enumerate(events, 1):
            value = raw({**event, "window_id": window_id, "authority_seq": number, "event_id": f"s{number}"})
            self.feed(value, good(value))
            self.captured.append(Message(value, good(value), event["type"], "replayed as it was"))
        state = held(self.windows[window_id])
        assert (state.pinned, state.waiting) == ({"p1", "p2"}, {"later"})
        assert state.policy.policy_version == "strict/1"
        return window_id

    def judge(self, window_id: str, message: Message) -> tuple[list[str], list[Json]]:
        """Feed one message: what it moved, and what was answered."""
        before = held(self.windows[window_id])
        outs = self.feed(message.value, message.headers)
        wrong = moved(before, held(self.windows[window_id]), message.kind)
        if [out for out in outs if out["type"] == "audit_record" and out.get("event") in AUTHORITY_TYPES]:
            wrong.append("an authority change in the audit log")
        return wrong, outs


AUTHORITY_TYPES = ("span_pinned", "span_unpinned", "policy_set", "compression_approved")


def places(node: Any) -> Iterator[Json]:
    """Every object in a document, however deep."""
    if isinstance(node, dict):
        yield node
        for child in list(node.values()):
            yield from places(child)
    elif isinstance(node, list):
        for child in node:
            yield from places(child)


def at_every_place() -> Iterator[tuple[str, Json]]:
    """Each sample with each forged field at each place, over what stands there and beside it; one at a time."""
    for sample in SAMPLES:
        for at in range(len(list(places(sample)))):
            for extra in FORGED:
                for keep in (True, False):
                    event = copy.deepcopy(sample)
                    place = list(places(event))[at]
                    place |= {name: value for name, value in extra.items() if not (keep and name in place)}
                    yield f"{sample['type']} {at} {next(iter(extra))} {keep}", event


def random_event(dice: Random, window_id: str, generation: int, number: int) -> Json:
    """A sample, its ids mostly those of this window, with forged fields at random places."""
    event = copy.deepcopy(dice.choice(SAMPLES))
    if event["type"] == "window_closed" and dice.random() < 0.8:
        event = copy.deepcopy(SAMPLES[1])
    fresh = iter(f"n{number}-{k}" for k in range(1000))
    names = (*SPANS, "later", "gone")
    for place in list(places(event)):
        for name, value in place.items():
            if name in ("span_id", "id"):
                place[name] = dice.choice(names) if dice.random() < 0.8 else next(fresh)
            elif name in ("plan_id", "request_id", "replacement_id", "case_id"):
                place[name] = next(fresh)
            elif name == "cost_units" and dice.random() < 0.8:
                place[name] = 3
            elif isinstance(value, list) and value and all(isinstance(v, str) for v in value):
                place[name] = dice.sample(names, dice.randint(0, 3))
        if dice.random() < 0.6:
            place |= copy.deepcopy(dice.choice(FORGED))
    if event["type"] == "span_appended" and dice.random() < 0.8:
        for span in event["spans"]:
            if isinstance(span, dict):
                span["span_id"] = next(fresh)
    event |= {"window_id": window_id, "authority_seq": 10 + number}
    event.pop("sequence", None)
    event.pop("event_id", None)
    if "window_generation" in event:
        event["window_generation"] = generation
    return event


def random_message(dice: Random, gate: Gate, window_id: str, number: int, signed: bool) -> Message:
    """One that no authority signed, unless `signed`: then the same event as an authority would send it."""
    if not signed and dice.random() < 0.05:
        return dice.choice(gate.captured)
    event = random_event(dice, window_id, gate.windows[window_id].head.generation, number)
    value = raw(event)
    if signed:
        return Message(value, good(value), event["type"], "")
    if dice.random() < 0.1:  # another event under a signature that was given for this window
        return Message(value, dice.choice(gate.captured).headers, event["type"], "a signature of another event")
    name = dice.choice(list(FORGERIES))
    forge: Callable[[bytes], Headers] = FORGERIES[name][0]
    return Message(value, forge(value), event["type"], name)
