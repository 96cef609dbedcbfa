"""Input records from a seed: random streams of the tests' model, signed, salted with canaries and with poison."""

from __future__ import annotations

import json
from dataclasses import dataclass
from random import Random
from typing import Any

from model import TRUSTED, Model
from model_streams import Stream
from model_window import Json
from model_wire import AUTHORITY
from sim_log import Headers
from wirekit import KEYS, RING, raw, sign

from plangate.wire.keyring import Keyring
from plangate.wire.topics import INPUT

CANARY = "kanarienvogel"
SIGNERS = {"policy_store": "ps", "operator_console": "oc", "tool_output": "ci"}


class _Once:
    """A public key that verifies the same bytes once: a record is decided many times in one seed."""

    def __init__(self, key: Any) -> None:
        self._key = key
        self._good: set[tuple[bytes, bytes]] = set()

    def verify(self, signature: bytes, data: bytes) -> None:
        if (signature, data) not in self._good:
            self._key.verify(signature, data)
            self._good.add((signature, data))


def keyring() -> Keyring:
    """The tests' keyring, for one seed."""
    return Keyring({key_id: (source, _Once(key)) for key_id, (source, key) in RING.keys.items()})


@dataclass(frozen=True, eq=False)
class Made:
    """A record to be sent. `line` is what the model is fed with: None for what is no event.

    `sort` is an event type or the name of a poison; `signed` is (window, key, authority_seq) where it has authority.
    """

    key: bytes | None
    value: bytes | None
    headers: Headers
    line: str | None
    sort: str
    signed: tuple[str, str, int] | None = None
    plan: Json | None = None


class _Recorder(Model):
    """A model that keeps the lines it was fed."""

    def __init__(self, policy: Json) -> None:
        super().__init__(policy)
        self.lines: list[str] = []

    def feed(self, line: str | bytes) -> None:
        self.lines.append(str(line))
        super().feed(line)


class _Grown(Stream):
    """A stream whose lines are kept as they were when each was grown."""

    @property
    def model(self) -> Model:
        return self._model

    @model.setter
    def model(self, _: Model) -> None:
        self._model = _Recorder(self.policy)

    @property
    def lines(self) -> list[str]:
        return self._model.lines


def grow(rng: Random, policy: Json, length: int, prefix: str) -> list[Made]:
    """Records of one or two windows, whose ids begin with `prefix`."""
    made, sequences = [], {}
    for line in _Grown(rng, policy, length).lines:
        top = json.loads(line)
        source = None if "type" in top else top["source"]
        event = top if "type" in top else top["value"]
        event["window_id"] = prefix + event["window_id"]
        if source is None and event["type"] in AUTHORITY and rng.random() < 0.7:
            source = "tool_output"  # signed, but by a key without authority
        made.append(_salted(rng, event, source, sequences))
        if rng.random() < 0.06:
            made.append(_poison(rng, event))
    return made


def _salted(rng: Random, event: Json, source: str | None, sequences: dict[tuple[str, str], int]) -> Made:
    """With content where agents put it by mistake, a trace, and a signature where the line has a source."""
    window_id, sort, signed = event["window_id"], event["type"], None
    value = event | {"content": CANARY}
    for part in [*_dicts(value.get("entries")), *_dicts(value.get("spans"))]:
        part["rationale" if "relevance" in part else "text"] = CANARY
    headers: list[tuple[str, bytes]] = [("x-note", CANARY.encode())]
    if source is not None:
        key_id = SIGNERS[source]
        number = sequences[window_id, key_id] = sequences.get((window_id, key_id), 0) + 1
        value["authority_seq"] = number
        if source in TRUSTED:
            signed = window_id, key_id, number
    text = raw(value)
    if source is not None:
        headers += sign(KEYS[SIGNERS[source]], SIGNERS[source], INPUT, text)
    elif rng.random() < 0.03:
        headers += [("plangate-key-id", b"oc"), ("plangate-signature", b"A" * 88)]
        sort += " with a wrong signature"
    if rng.random() < 0.1:
        headers.append(("traceparent", b"00-%032x-%016x-01" % (rng.getrandbits(128), rng.getrandbits(64))))
    line = json.dumps({"value": value, "source": source} if signed else value)
    plan = value if event["type"] in ("plan_proposed", "budget_requested") else None
    return Made(window_id.encode(), text, headers, line, sort, signed, plan)


def _dicts(items: Any) -> list[Json]:
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _poison(rng: Random, event: Json) -> Made:
    text, key = raw(event | {"content": CANARY}), event["window_id"].encode()
    sort, key, value = rng.choice(
        (
            ("null value", key, None),
            ("cut off", key, text[: len(text) // 2]),
            ("no JSON", key, CANARY.encode()),
            ("no UTF-8", key, b'{"type":"%b\xff"}' % CANARY.encode()),
            ("unknown type", key, raw({"type": CANARY, "window_id": event["window_id"]})),
            ("another key", CANARY.encode(), text),
            ("no key", None, text),
            ("wrong field", key, raw({"type": "spans_used", "window_id": event["window_id"], "span_ids": CANARY})),
            ("deep nesting", key, b"[" * 3000 + b"]" * 3000),
        )
    )
    return Made(key, value, (), None, sort)
