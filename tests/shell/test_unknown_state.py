"""A changelog that this version can't have written ends the worker with a clear word, and nothing is touched."""

import asyncio
import copy
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from aiokafka import TopicPartition
from shell_fakes import CHANGELOG, SOURCE, Bus, Entry, Worker, until
from shell_story import event, expected, span, story

from plangate.shell.changelog import HEADER, ChangelogError
from plangate.shell.metrics import Metrics
from plangate.shell.task import InputError
from plangate.shell.tasks import PartitionTasks
from plangate.wire.state import VERSION, StateError, StateVersionError

INPUT, LOG = TopicPartition(SOURCE, 0), TopicPartition(CHANGELOG, 0)
CANARY = "c4n4ry"


def decided() -> Bus:
    """A bus on which everything was decided, and where more waits."""
    bus = Bus()
    story(bus)
    asyncio.run(Worker(bus).run())
    story(bus, 10)
    return bus


def changed(change: Callable[[list[Any]], Any]) -> Callable[[Entry], None]:
    """An edit of the patch in a changelog record: it gets [version, full, head, items, removed]."""

    def edit(entry: Entry) -> None:
        assert entry.value is not None
        patch = msgspec.msgpack.decode(entry.value[HEADER.size :])
        made = change(patch)
        entry.value = entry.value[: HEADER.size] + msgspec.msgpack.encode(patch if made is None else made)

    return edit


def cut(entry: Entry) -> None:
    assert entry.value is not None
    entry.value = entry.value[:-3]


def nothing(entry: Entry) -> None:
    assert entry.value is not None
    entry.value = entry.value[: HEADER.size]


NEWER = changed(lambda patch: patch.__setitem__(0, VERSION + 1))
EDITS: dict[str, tuple[Callable[[Entry], None], str]] = {
    "a newer version": (NEWER, f"state version {VERSION + 1} is newer than {VERSION}"),
    "a newer version of another shape": (changed(lambda patch: [VERSION + 9, {CANARY: CANARY}]), "is newer than"),
    "a newer version of two bytes": (changed(lambda patch: patch.__setitem__(0, 300)), "state version 300 is newer"),
    "a version before the first": (changed(lambda patch: patch.__setitem__(0, 0)), "has no version"),
    "a version that is no number": (changed(lambda patch: patch.__setitem__(0, CANARY)), "has no version"),
    "no array": (changed(lambda patch: {CANARY: 1}), "has no version"),
    "nothing": (nothing, "has no version"),
    "cut off": (cut, "can't be read"),
    "one field more": (changed(lambda patch: patch.append(CANARY)), "can't be read"),
    "an unknown field of the head": (changed(lambda patch: patch[2].append(CANARY)), "can't be read"),
    "an unknown field of a span": (changed(lambda patch: patch[3]["spans"][0][1].append(CANARY)), "can't be read"),
    "an unknown map": (changed(lambda patch: patch[3].update({CANARY: [["a", 1]]})), "can't be read"),
    "an attribute that is no map": (changed(lambda patch: patch[3].update({"head": [["a", 1]]})), "can't be read"),
    "an unknown map of removals": (changed(lambda patch: patch[4].update({CANARY: ["a"]})), "can't be read"),
    "a value of another type": (changed(lambda patch: patch[3]["spans"][0].__setitem__(1, CANARY)), "can't be read"),
    "a policy no longer lawful": (
        changed(lambda patch: patch[2].__setitem__(15, {"limits": {"live_spans": 10**9}})),
        "the worker's own no longer allows: .*limits.live_spans",
    ),
    "a change without its snapshot": (changed(lambda patch: patch.__setitem__(1, False)), "without the state"),
}  # fmt: skip


@pytest.mark.parametrize("name", EDITS)
def test_what_this_version_never_wrote_stops_it_and_nothing_is_touched(name: str) -> None:
    edit, says = EDITS[name]
    bus = decided()
    edit(next(entry for entry in bus.logs[LOG] if entry.value))
    before = copy.deepcopy((bus.logs, bus.offsets))
    with pytest.raises(StateError, match=says) as caught:
        asyncio.run(Worker(bus).run())
    assert (bus.logs, bus.offsets) == before
    assert isinstance(caught.value, StateVersionError) == ("newer" in says)
    assert CANARY not in str(caught.value)
    assert caught.value.__cause__ is None, "the text of a cause would repeat what was read"


def test_another_windows_change_is_not_laid_over_it() -> None:
    bus = decided()
    values = [entry for entry in bus.logs[LOG] if entry.value and entry.key and entry.key.startswith(b"w1")]
    changed(lambda patch: patch[2].__setitem__(0, "w2"))(values[1])
    with pytest.raises(StateError, match="another window's"):
        asyncio.run(Worker(bus).run())


def test_a_newer_version_anywhere_in_the_log_stops_an_older_one() -> None:
    """Also in a change that no state rests on any more: where a newer version was at work, an older one has no say."""
    bus = decided()
    first = copy.deepcopy(next(entry for entry in bus.logs[LOG] if entry.value))
    asyncio.run(Worker(bus).run())  # another owner: its snapshots end later than all that stands before
    asyncio.run(Worker(bus).run())
    NEWER(first)
    bus.append(LOG, first.key, first.value)
    with pytest.raises(StateVersionError):
        asyncio.run(Worker(bus).run())


def test_an_unknown_format_of_the_changelog_touches_nothing_either() -> None:
    bus = decided()
    entry = next(entry for entry in bus.logs[LOG] if entry.value)
    assert entry.value is not None
    entry.value = b"\x02" + entry.value[1:]
    before = copy.deepcopy((bus.logs, bus.offsets))
    with pytest.raises(ChangelogError, match="written by another version"):
        asyncio.run(Worker(bus).run())
    assert (bus.logs, bus.offsets) == before


def two_partitions() -> Bus:
    bus = decided()
    for number in range(40):
        bus.append(TopicPartition(SOURCE, 1), *event("v", spans=[span(f"s{number}")]))
    asyncio.run(Worker(bus, partition=1).run())
    bus.append(TopicPartition(SOURCE, 1), *event("v", spans=[span("last")]))
    return bus


async def take_both(bus: Bus, failures: list[BaseException | None]) -> PartitionTasks:
    """Both partitions assigned; fed until both are decided, or one failed."""
    workers: dict[int, Worker] = {}

    def make(partition: int, known: Any) -> tuple[Any, Any]:
        workers[partition] = worker = Worker(bus, partition=partition)
        worker.consumer.chunk = 1 + 20 * (partition == 0)  # one is read much faster than the other
        return worker.task, worker.publisher

    tasks = PartitionTasks(make, lambda _, error: failures.append(error), Metrics())
    tasks.assign({0, 1})
    places = [INPUT, TopicPartition(SOURCE, 1)]

    def done() -> bool:
        for partition in tasks.wanted():
            if fetch := workers[partition].source.fetch(partition, 5):
                tasks.feed(fetch)
        return bool(failures) or all(bus.offsets[place] >= len(bus.logs[place]) for place in places)

    await until(done)
    return tasks


def test_no_partition_is_decided_before_all_of_the_assignment_were_read() -> None:
    bus = two_partitions()
    entry = [entry for entry in bus.logs[TopicPartition(CHANGELOG, 1)] if entry.value][-1]
    NEWER(entry)
    before, failures = copy.deepcopy((bus.logs, bus.offsets)), list[BaseException | None]()
    asyncio.run(take_both(bus, failures))
    assert isinstance(failures[0], StateVersionError)
    assert (bus.logs, bus.offsets) == before


def test_partitions_that_wait_for_each_other_all_go_on() -> None:
    async def scenario(bus: Bus, failures: list[BaseException | None]) -> None:
        tasks = await take_both(bus, failures)
        assert tasks.ready and not tasks.stalled(60)
        tasks.tasks[0].waits_for_peers, tasks.tasks[0].last_progress = True, -1e9
        assert not tasks.stalled(60), "who waits is not stuck, who is waited for may be"
        tasks.tasks[1].last_progress = -1e9
        assert tasks.stuck(60) == [1]
        await tasks.close(5)

    bus, failures = two_partitions(), list[BaseException | None]()
    asyncio.run(scenario(bus, failures))
    assert failures == []
    assert [out for out in bus.outputs() if out.key in (b"w0", b"w1", b"w2")]
    bus.logs[TopicPartition(SOURCE, 1)].clear()
    assert {out.key for out in expected(bus)} <= {out.key for out in bus.outputs()}


def test_an_input_topic_made_anew_is_seen_by_windows_that_were_kept_over_a_rebalance() -> None:
    """Their offsets count, not those of the time when they were read."""
    bus = Bus()
    story(bus, 12)
    first = Worker(bus)
    asyncio.run(first.run())
    bus.logs[INPUT].clear()
    bus.offsets.clear()  # Kafka forgets them with the topic
    with pytest.raises(InputError, match="emptied or made anew"):
        asyncio.run(Worker(bus, known=first.task.store).run())
