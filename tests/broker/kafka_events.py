"""Streams for the worker: every event type, three windows on several partitions, signed authority, and bad records."""

import base64
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from aiokafka.partitioner import DefaultPartitioner
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from plangate.core.window import Window
from plangate.wire.engine import Engine, Record
from plangate.wire.keyring import Keyring, load_keyring, sign
from plangate.wire.topics import INPUT

PARTITIONS = 4
# On partitions 0, 1, 3 and 3 of four.
WINDOWS = ("window-2", "window-0", "window-1")
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


class Item(NamedTuple):
    """An input record; without a partition its key decides."""

    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes]]
    partition: int | None = None


def partition_of(key: bytes) -> int:
    every = list(range(PARTITIONS))
    return DefaultPartitioner()(key, every, every)


def write_keyring(folder: Path) -> Path:
    """The keyring file that the worker gets, and the tests' own engine too."""
    public = base64.b64encode(KEY.public_key().public_bytes_raw()).decode()
    file = folder / "keys.json"
    file.write_text(json.dumps({"keys": [{"key_id": "k1", "source": "policy_store", "public_key": public}]}))
    return file


def new_engine(keyring: Path | None) -> Engine:
    return Engine(keyring=load_keyring(keyring) if keyring else Keyring())


def item(window_id: str, fields: dict[str, Any], signed: bool = False) -> Item:
    value = json.dumps({"window_id": window_id, **fields}).encode()
    return Item(window_id.encode(), value, sign(KEY, "k1", INPUT, value) if signed else [])


def bad_items() -> list[Item]:
    """Dead letters of several kinds, and records that are nothing."""
    good = {"type": "window_opened", "window_id": WINDOWS[0]}
    return [
        Item(b"window-1", b"{no json", []),
        Item(b"window-2", b"\xff\xfe", []),
        Item(b"window-2", b"[" * 100_000, []),
        Item(b"window-0", b"", []),
        Item(b"other", json.dumps(good).encode(), []),
        Item(None, json.dumps(good).encode(), [], 1),
        Item(b"\xff", json.dumps(good).encode(), []),
        Item(b"window-1", json.dumps({**good, "window_id": "window-1", "type": "no_such_type"}).encode(), []),
        Item(b"window-0", None, []),
    ]


def event_stream(count: int, seed: int, keyring: Path, names: Sequence[str] = WINDOWS) -> Iterator[Item]:
    """`count` records for these windows. An engine runs along, so that plans are made for the generation to be live."""
    dice = random.Random(seed)
    engine, windows = new_engine(keyring), dict[str, Window]()
    offsets = dict.fromkeys(range(PARTITIONS), 0)
    bad = bad_items()
    for number in range(count):
        window_id = dice.choice(names)
        if number % 40 == 39:
            made = dice.choice(bad)
        else:
            made = item(window_id, *_event(dice, number, windows.get(window_id)))
        partition = made.partition if made.partition is not None else partition_of(made.key or b"")
        engine.process(windows, Record(INPUT, partition, offsets[partition], *made[:3]))
        offsets[partition] += 1
        yield made


def _event(dice: random.Random, number: int, window: Window | None) -> tuple[dict[str, Any], bool]:
    live = list(window.spans) if window else []
    generation = window.head.generation if window else 0
    some = dice.sample(live, min(len(live), 4))
    name = f"s{number}"
    roll = dice.random()
    if not live or roll < 0.35:
        depends = dice.sample(live, min(len(live), dice.randint(0, 2)))
        span = {"span_id": name, "kind": "user", "cost_units": dice.randint(1, 50), "depends_on": depends}
        return {"type": "span_appended", "spans": [span], "turn": number}, False
    if roll < 0.6:
        entries = [{"span_id": s, "relevance": dice.random(), "cited_dependencies": []} for s in some]
        plan = {
            "plan_id": f"p{number - dice.choice([0, 0, 0, 7])}",
            "entries": entries,
            "amendable": dice.random() < 0.5,
        }
        return {"type": "plan_proposed", "window_generation": generation - (roll < 0.38), **plan}, False
    return dice.choice(_RARE)(dice, number, some)


def _rare(signed: bool = False, **fields: Any) -> Any:
    def make(dice: random.Random, number: int, some: list[str]) -> tuple[dict[str, Any], bool]:
        event = {name: value(number, some) if callable(value) else value for name, value in fields.items()}
        return ({**event, "authority_seq": number} if signed else event), signed

    return make


def _span(number: int, some: list[str]) -> dict[str, Any]:
    return {"span_id": some[0], "kind": "document", "cost_units": 1 + number % 9}


def _observed(number: int, some: list[str]) -> list[dict[str, Any]]:
    return [{"id": s, "priority": 0, "pinned": False, "last_used_order": 1, "cost_units": 3} for s in some]


_FIRST, _ALL = (lambda number, some: some[0]), (lambda number, some: some)
_NAMED = lambda number, some: f"n{number}"  # noqa: E731
_RARE = [
    _rare(type="window_opened", budget_units=500),
    _rare(type="span_edited", span=_span),
    _rare(type="spans_removed", span_ids=lambda number, some: some[:1]),
    _rare(type="window_resynced", spans=lambda number, some: [_span(number, [s]) for s in some]),
    _rare(type="spans_used", span_ids=_ALL),
    _rare(type="budget_requested", request_id=_NAMED, budget_units=60, commit=True),
    _rare(type="budget_requested", request_id=_NAMED, budget_units=90, planner="dependency-closed/1"),
    _rare(
        type="planner_observed",
        case_id=_NAMED,
        planner="old",
        policy_version="1",
        budget_units=3,
        entries=_observed,
        status="fits",
        retained_ids=_ALL,
        evicted_ids=[],
    ),
    _rare(type="pipeline_observed", case_id=_NAMED, expected_id=_FIRST, retrieved_ids=_ALL, eligible_ids=[]),
    _rare(
        type="cost_reported",
        artifact_id="a",
        component=_NAMED,
        method="m",
        input_version="1",
        scope="s",
        units="u",
        value=4,
    ),
    _rare(type="plan_committed", plan_id=lambda number, some: f"p{number - 1}"),
    _rare(type="plan_commit_failed", plan_id=lambda number, some: f"p{number - 1}"),
    _rare(type="span_pinned", signed=True, span_id=_FIRST, pin_owner="o", pin_reason="r"),
    _rare(type="span_pinned", span_id=_FIRST, pin_owner="o", pin_reason="r"),
    _rare(type="span_unpinned", signed=True, span_id=_FIRST, reason="r"),
    _rare(type="policy_set", signed=True, policy={"policy_version": "2", "commit": "on_confirm"}),
    _rare(type="policy_set", signed=True, policy={"policy_version": "3"}),
    _rare(
        type="compression_approved",
        signed=True,
        span_id=_FIRST,
        replacement_id=_NAMED,
        cost_units=1,
        reviewer="v",
        reason="r",
    ),
]
