"""One partition over fakes: killed at every step of every batch, nothing is lost and no two answers differ."""

import asyncio
from collections import Counter

import pytest
from aiokafka import TopicPartition
from shell_fakes import CHANGELOG, SOURCE, Bus, FakeProducer, Killed, Worker, until
from shell_story import event, expected, span, story

from plangate.shell.publish import Names, TransactionalPublisher
from plangate.shell.task import Fetch, InputError, NotAssigned
from plangate.wire.engine import Engine, Out

STEPS = {
    "transactions": ["stepped", "begun", "outputs_sent", "changes_sent", "offsets_sent", "committed"],
    "acknowledgements": ["stepped", "begun", "outputs_sent", "changes_sent", "committed"],
}
INPUT = TopicPartition(SOURCE, 0)


def run(worker: Worker) -> None:
    asyncio.run(worker.run())


def without_repeats(outs: list[Out]) -> list[Out]:
    """Each output once, by its CloudEvents id and topic; asserts that all of one id have the same bytes."""
    seen: dict[tuple[str, bytes], Out] = {}
    for out in outs:
        first = seen.setdefault((out.topic, dict(out.headers)["ce_id"]), out)
        assert first == out
    return list(seen.values())


@pytest.mark.parametrize("guarantee", STEPS)
def test_outputs_are_those_of_the_engine(guarantee: str) -> None:
    bus = Bus()
    story(bus)
    run(Worker(bus, guarantee))
    assert {out.topic for out in bus.outputs()} >= {"plan-decisions", "dead-letters", "window-status"}
    assert bus.outputs() == expected(bus)


@pytest.mark.parametrize("batch", [0, 1, 4])
@pytest.mark.parametrize(("guarantee", "step"), [(name, step) for name, steps in STEPS.items() for step in steps])
def test_killed_anywhere_nothing_is_lost_and_answers_agree(guarantee: str, step: str, batch: int) -> None:
    bus = Bus()
    story(bus)
    with pytest.raises(Killed):
        run(Worker(bus, guarantee, (step, batch)))
    second = Worker(bus, guarantee)
    run(second)
    outs, wanted = bus.outputs(), expected(bus)
    assert without_repeats(outs) == wanted
    repeats = len(outs) - len(wanted)
    skipped = second.metrics.registry.get_sample_value("plangate_redelivered_total")
    if guarantee == "transactions":
        assert (repeats, skipped) == (0, 0)
    else:
        if step == "outputs_sent":
            assert repeats > 0
        elif step != "changes_sent":
            assert repeats == 0
        else:
            assert skipped, "records that the changelog has must be skipped"
            # Only what leaves no mark in a window may come again then.
            doubled = Counter(out.topic for out in outs) - Counter(out.topic for out in wanted)
            assert set(doubled) <= {"dead-letters"}


def test_many_owners_one_after_another() -> None:
    for guarantee, steps in STEPS.items():
        bus = Bus()
        story(bus, 60)
        for number, step in enumerate(steps * 2):
            with pytest.raises(Killed):
                run(Worker(bus, guarantee, (step, number % 2)))
        run(Worker(bus, guarantee))
        assert without_repeats(bus.outputs()) == expected(bus)


def test_an_owner_that_was_replaced_publishes_nothing() -> None:
    async def scenario(bus: Bus) -> None:
        names = Names(SOURCE, CHANGELOG, "group", "", 0)
        old, new = (TransactionalPublisher(FakeProducer(bus, "group-0"), names) for _ in range(2))
        await old.start()
        await new.start()
        with pytest.raises(RuntimeError, match="fenced"):
            await old.publish([Out("plan-decisions", b"w", b"{}", [])], [], 1)

    bus = Bus()
    asyncio.run(scenario(bus))
    assert bus.outputs() == []


def test_after_a_lost_fetch_the_task_seeks_to_what_it_expects() -> None:
    """Offsets alone would not tell: commit markers between records leave gaps that are none."""

    async def scenario() -> Worker:
        bus = Bus()
        for number in range(6):
            bus.append(INPUT, *event("w", spans=[span(f"s{number}")]))
            bus.append(INPUT, None, None, control=True)
        worker = Worker(bus)
        job = asyncio.ensure_future(worker.task.run())
        await until(lambda: worker.task.ready)
        task, source = worker.task, worker.source
        task.feed(source.fetch(0, 4))
        source.fetch(0, 4)  # lost on its way
        task.feed(source.fetch(0, 4))
        assert not task.wants_records, "it must seek first"
        await until(lambda: task.wants_records)
        late = Fetch(0, 8, 12, [bus.logs[INPUT][8], bus.logs[INPUT][10]])
        task.feed(late)  # fetched before the seek, delivered after it
        await until(lambda: task.idle and task.wants_records)
        fetch = source.fetch(0)
        task.feed(Fetch(0, 0, 4, [bus.logs[INPUT][0], bus.logs[INPUT][2]]))  # an old one again
        task.feed(fetch)
        await until(lambda: task.idle)
        task.stop()
        await job
        return worker

    worker = asyncio.run(scenario())
    assert worker.source.seeks == [(0, 0), (0, 4), (0, 4)]
    assert worker.bus.outputs() == expected(worker.bus)


def test_an_input_topic_made_anew_is_not_decided_on() -> None:
    bus = Bus()
    story(bus)
    run(Worker(bus))
    del bus.logs[INPUT][5:]
    bus.offsets.clear()
    with pytest.raises(InputError):
        run(Worker(bus))


def test_windows_kept_over_a_rebalance_are_read_again_only_if_somebody_wrote() -> None:
    bus = Bus()
    story(bus, 20)
    first = Worker(bus)
    run(first)
    kept = first.task.store
    second = Worker(bus, known=kept)
    run(second)
    assert second.task.store is kept
    assert second.recovery.records == 0
    story(bus, 5)
    run(Worker(bus))
    third = Worker(bus, known=kept)
    run(third)
    assert third.task.store is not kept
    assert third.recovery.records > 0


@pytest.mark.parametrize("guarantee", STEPS)
def test_stopping_finishes_the_batch_in_flight(guarantee: str) -> None:
    async def scenario(worker: Worker) -> None:
        job = asyncio.ensure_future(worker.task.run())
        await until(lambda: worker.task.ready)
        worker.task.feed(worker.source.fetch(0))
        await asyncio.sleep(0)
        worker.task.stop()
        await job

    bus = Bus()
    story(bus)
    worker = Worker(bus, guarantee)
    asyncio.run(scenario(worker))
    decided = bus.offsets.get(INPUT, 0)
    assert 1 <= decided <= 3, "one batch, and no more; on a slow machine it is cut short"
    run(Worker(bus, guarantee))
    assert bus.outputs() == expected(bus)


def test_a_partition_given_away_ends_its_task_without_harm() -> None:
    bus = Bus()
    story(bus)
    worker = Worker(bus, "acknowledgements")
    worker.source.ours = False
    asyncio.run(worker.task.run())
    assert not worker.task.ready
    assert bus.outputs() == []


def test_the_group_moves_on_before_the_offset_is_moved() -> None:
    """The batch is out and in the changelog; the next owner sees it again and skips it."""
    bus = Bus()
    story(bus)

    worker = Worker(bus, "acknowledgements")
    worker.publisher._commit = _not_ours  # type: ignore[attr-defined]
    asyncio.run(worker.run(until=lambda: False))
    assert INPUT not in bus.offsets
    run(Worker(bus, "acknowledgements"))
    assert without_repeats(bus.outputs()) == expected(bus)


async def _not_ours(partition: int, offset: int) -> None:
    raise NotAssigned


def test_a_defect_of_ours_comes_out() -> None:
    class Broken(Engine):
        def process(self, *args: object) -> list[Out]:
            raise ZeroDivisionError

    bus = Bus()
    story(bus, 3)
    with pytest.raises(ZeroDivisionError):
        run(Worker(bus, engine=Broken()))
    assert bus.outputs() == []


def test_input_lost_to_retention_is_told_and_does_not_stop_the_rest() -> None:
    bus = Bus()
    story(bus, 20)
    run(Worker(bus))
    story(bus, 20)
    bus.first = 30
    worker = Worker(bus)
    run(worker)
    assert worker.metrics.registry.get_sample_value("plangate_input_lost_offsets_total") == 10
    assert bus.offsets[INPUT] == 40


def test_a_new_group_starts_where_the_log_starts() -> None:
    bus = Bus()
    story(bus, 20)
    bus.first = 5
    worker = Worker(bus)
    run(worker)
    assert worker.source.seeks == [(0, 5)]
    assert worker.metrics.registry.get_sample_value("plangate_input_lost_offsets_total") == 0


def test_rows_of_deferrals_are_measured() -> None:
    bus = Bus()
    bus.append(INPUT, *event("w", spans=[span("s")]))
    for number in range(4):
        plan = {"plan_id": f"p{number}", "window_generation": 9, "entries": []}
        bus.append(INPUT, *event("w", type="plan_proposed", **plan))
    worker = Worker(bus)
    run(worker)
    sample = worker.metrics.registry.get_sample_value
    assert sample("plangate_deferral_streak_count") == 4
    assert sample("plangate_deferral_streak_sum") == 1 + 2 + 3 + 4
    assert sample("plangate_decision_reasons_total", {"reason": "generation_changed"}) == 4


def test_decisions_are_counted() -> None:
    bus = Bus()
    story(bus)
    worker = Worker(bus)
    run(worker)
    sample = worker.metrics.registry.get_sample_value
    assert sample("plangate_events_total") == 30
    decided = [out for out in bus.outputs() if out.topic == "plan-decisions"]
    outcomes = Counter(dict(out.headers)["ce_type"].decode().split(".")[1].removeprefix("plan_") for out in decided)
    assert outcomes
    for outcome, count in outcomes.items():
        assert sample("plangate_decisions_total", {"outcome": outcome}) == count
    assert sample("plangate_decision_lag_seconds_count") == len(decided)
    dead = sum(m.value for m in _samples(worker, "plangate_dead_letters_total"))
    assert dead == sum(out.topic == "dead-letters" for out in bus.outputs()) > 0


def _samples(worker: Worker, name: str) -> list:
    return [sample for family in worker.metrics.registry.collect() for sample in family.samples if sample.name == name]
