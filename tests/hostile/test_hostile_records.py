"""Poison at the start, middle and end of a batch: the task goes on, and its neighbours are decided as without it."""

from __future__ import annotations

import asyncio
import json

import pytest
from aiokafka import TopicPartition
from hostile_records import CANARY, KINDS, Poison, types_for
from shell_fakes import SOURCE, Bus, Worker
from shell_story import event, span
from wirekit import RING

from plangate.shell import task
from plangate.wire.engine import Engine, Out

INPUT = TopicPartition(SOURCE, 0)
NEIGHBOURS = [
    event("n0", spans=[span("a")]),
    event("n1", spans=[span("b")]),
    event("n0", type="plan_proposed", plan_id="p0", window_generation=1, entries=[{"span_id": "a", "relevance": 0}]),
    event("n1", type="plan_proposed", plan_id="p1", window_generation=1, entries=[{"span_id": "b", "relevance": 0}]),
]
PLACES = {"start": 0, "middle": 2, "end": 4}


def log(poison: Poison | None, place: int) -> tuple[Bus, int]:
    """A batch that opens a window, and one of poison among its neighbours; its offset. None: nothing stands there."""
    bus = Bus()
    bus.append(INPUT, *event("open", type="window_opened"))
    for _ in range(len(NEIGHBOURS)):
        bus.append(INPUT, None, None)
    for key, value in NEIGHBOURS[:place]:
        bus.append(INPUT, key, value, timestamp=1)
    poison = poison or Poison(None)
    time = 1 if poison.timestamp is None else poison.timestamp
    offset = bus.append(INPUT, poison.key, poison.value, headers=list(poison.headers), timestamp=time)
    for key, value in NEIGHBOURS[place:]:
        bus.append(INPUT, key, value, timestamp=1)
    return bus, offset


def decided(poison: Poison | None, place: int) -> tuple[list[Out], list[Out], Worker]:
    """Outputs of the poison, those of all others, and the worker that made them without an exception."""
    bus, offset = log(poison, place)
    worker = Worker(bus, engine=Engine(keyring=RING), batch_size=len(NEIGHBOURS) + 1)
    asyncio.run(worker.run())
    ours = [dict(out.headers)["ce_id"].split(b"/")[2] == str(offset).encode() for out in bus.outputs()]
    own = [out for out, is_ours in zip(bus.outputs(), ours, strict=True) if is_ours]
    return own, [out for out, is_ours in zip(bus.outputs(), ours, strict=True) if not is_ours], worker


@pytest.fixture(autouse=True)
def slow_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch ends by its size alone, so that the places in it are what they are called."""
    monkeypatch.setattr(task, "BATCH_SECONDS", float("inf"))


WITHOUT = {place: decided(None, place)[1] for place in PLACES.values()}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", KINDS)
def test_poison_is_answered_or_dead_lettered_and_stops_nothing(name: str, place: str) -> None:
    poison = KINDS[name]
    own, others, worker = decided(poison, PLACES[place])
    assert others == WITHOUT[PLACES[place]]
    assert [b"plan_accepted" in out.value for out in others if out.topic == "plan-decisions"] == [True, True]
    assert worker.batches == 2
    types = [json.loads(out.value)["type"] for out in own]
    if poison.comes == "nothing":
        assert own == []
    elif wanted := types_for(poison.comes):
        assert wanted <= set(types) and ("dead_letter" in types) == (poison.comes == "letter"), types
    else:
        assert types and not {"dead_letter", "plan_refused"} & set(types), types
    for out in own:
        shown = out.topic.encode() + out.key + out.value + repr(out.headers).encode()
        assert CANARY not in shown
        assert len(out.value) + sum(len(n) + len(v) for n, v in out.headers) < 8 * 1024 * 1024


def test_there_are_many_kinds_of_every_sort() -> None:
    assert len(KINDS) >= 100
    assert {poison.comes for poison in KINDS.values()} == {"letter", "refused", "answered", "nothing"}
