"""A whole run before a gate in memory: the pace, the stops, and that a gate that errs is found out."""

import asyncio
import json

import pytest
from loadkit import MemoryBus, small_scripts

from plangate.load.fleet import Fleet, Options
from plangate.load.report import report
from plangate.load.run import Course, Run


def run(bus: MemoryBus, seconds: float = 30, records: int = 400, stop_after: float | None = None, **course) -> Run:
    async def go() -> Run:
        fleet = Fleet(small_scripts(), Options(run="t", agents=8, plan_every=2, think=0.0001, proposers=3))
        given = {"rate": 600, "ceiling": 5000, "drain": 0.3, "sample": 0.05, **course}
        run = Run(bus, fleet, Course(seconds=seconds, records=records, **given), lambda sample: None)
        if stop_after is not None:
            asyncio.get_running_loop().call_later(stop_after, run.stop, "told to stop")
        await run.go()
        return run

    return asyncio.run(go())


def check(run: Run) -> dict:
    return report(run, {})["check"]


def test_a_run_against_a_good_gate_passes() -> None:
    bus = MemoryBus()
    doc = report(done := run(bus), {"agents": 8})
    assert done.sent == 400
    assert doc["ended"] == "record count reached"
    assert doc["check"]["passed"]
    assert doc["check"]["plans"] > 10
    assert doc["check"]["answers"] == doc["check"]["sent"]
    assert sum(doc["outcomes"].values()) == doc["check"]["plans"]
    assert bus.gate.dead_letters == 0
    assert json.loads(bus.values[-1])["type"] == "window_closed"


def test_it_stops_when_the_time_is_over_and_when_told_to() -> None:
    assert report(run(MemoryBus(), seconds=0.2, records=0), {})["ended"] == "time is over"
    told = run(MemoryBus(), records=0, stop_after=0.1)
    assert report(told, {})["ended"] == "told to stop"
    assert check(told)["passed"]


def lose_one(values: list[bytes]) -> list[bytes]:
    return [value for value in values if not json.loads(value)["plan_id"].endswith("4")]


def change_one(values: list[bytes]) -> list[bytes]:
    return [copy for value in values for copy in (value, value.replace(b'"plan_deferred"', b'"plan_deferred" '))]


@pytest.mark.parametrize(("spoil", "field"), [(lose_one, "unanswered"), (change_one, "conflicting")])
def test_a_gate_that_errs_fails_the_run(spoil, field: str) -> None:
    told = check(run(MemoryBus(spoil)))
    assert told[field] > 0
    assert not told["passed"]


def test_a_gate_that_only_repeats_itself_passes() -> None:
    told = check(run(MemoryBus(lambda values: values * 2)))
    assert told["repeats"] > 10
    assert told["passed"]


def test_what_is_no_decision_is_counted_and_passed_over() -> None:
    told = check(run(MemoryBus(lambda values: [b"\xff{", *values] if values else values)))
    assert told["unreadable"] > 10
    assert told["passed"]


def test_a_ramp_raises_the_rate() -> None:
    done = run(MemoryBus(), records=300, rate=100, ramp_factor=2, ramp_step=0.1)
    assert done.ramp is not None
    assert [rate for rate, _ in done.ramp.steps][:2] == [100, 200]
    assert report(done, {})["ramp"]["steps"]


def test_a_broken_reader_ends_the_run() -> None:
    class Broken(MemoryBus):
        async def decisions(self):
            raise RuntimeError
            yield b""

    with pytest.raises(RuntimeError):
        run(Broken(), seconds=0.2)
