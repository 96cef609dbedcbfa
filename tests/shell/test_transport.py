"""What becomes of a fetch that the broker, or a rebalance, refuses."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import NoOffsetForPartitionError, OffsetOutOfRangeError, UnknownTopicOrPartitionError

from plangate.shell.task import Fetch, OutOfRange
from plangate.shell.worker.transport import Assignor, Consumer

HERE, THERE = TopicPartition("t", 0), TopicPartition("t", 1)


class Group:
    """The group's consumer of aiokafka, as far as a fetch uses it."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    async def getmany(self, *_: Any, **__: Any) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    async def position(self, place: TopicPartition) -> int:
        return 9

    async def beginning_offsets(self, places: list[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(places, 20)

    async def end_offsets(self, places: list[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(places, 30)


def fetch(answer: Any) -> list[Fetch | OutOfRange]:
    ours = SimpleNamespace(_thread=SimpleNamespace(next_offsets={HERE: 5}))
    return asyncio.run(Consumer._fetch(ours, Group(answer), [HERE]))  # type: ignore[arg-type]


def test_records_are_given_with_where_they_start_and_end() -> None:
    assert fetch({HERE: ["r"], THERE: ["no task has sought here yet"]}) == [Fetch(0, 5, 9, ["r"])]


def test_a_partition_that_came_back_and_was_not_sought_yet_is_no_error() -> None:
    """A fetch may outlive the rebalance in which its partitions were given away and came back, without an offset."""
    assert fetch(NoOffsetForPartitionError(HERE)) == []


def test_what_is_out_of_range_is_told_with_the_range() -> None:
    assert fetch(OffsetOutOfRangeError({HERE: 5})) == [OutOfRange(0, 20, 30)]
    assert fetch(OffsetOutOfRangeError({THERE: 5})) == []


class Cluster:
    """What a client knows of topics and their partitions."""

    def __init__(self, known: dict[str, set[int] | None]) -> None:
        self.known = known

    def topics(self) -> set[str]:
        return set(self.known)

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        return self.known.get(topic)


MEMBERS = {name: Assignor.metadata({"window-events"}) for name in ("a", "b")}


@pytest.mark.parametrize("known", [{}, {"window-events": None}, {"window-events": set()}])
def test_partitions_not_known_of_are_not_shared_out(known: dict[str, set[int] | None]) -> None:
    """A leader that rejoined a broker just restarted once gave nobody anything: nothing was decided for minutes."""
    with pytest.raises(UnknownTopicOrPartitionError):
        Assignor.assign(Cluster(known), MEMBERS)


def test_partitions_known_of_are_shared_out() -> None:
    given = Assignor.assign(Cluster({"window-events": {0, 1, 2, 3}}), MEMBERS)
    shares = [partitions for member in given.values() for _, partitions in member.assignment]
    assert sorted(map(len, shares)) == [2, 2] and {p for share in shares for p in share} == {0, 1, 2, 3}
