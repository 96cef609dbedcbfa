"""Faust's consumer with whole fetches instead of one task per record, and positions that are ours alone.

Faust's way of delivering costs more than everything else together, loses records that can't be decoded, and
acknowledges events one by one, also those whose agent failed. So of its consumer the thread, the group membership and
the rebalance callbacks are used; fetching goes through aiokafka's public methods, and no offset is ever committed by
Faust. Names that no release promises to keep are overridden here and only here; the three libraries are pinned
exactly for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

import aiokafka
from aiokafka import TopicPartition
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.errors import (
    CommitFailedError,
    ConsumerStoppedError,
    IllegalGenerationError,
    IllegalStateError,
    NoOffsetForPartitionError,
    OffsetOutOfRangeError,
    RebalanceInProgressError,
    UnknownMemberIdError,
    UnknownTopicOrPartitionError,
)
from faust.transport.drivers import aiokafka as driver

from plangate.shell.clients import group_consumer
from plangate.shell.logs import log_loop_error, logger
from plangate.shell.task import Fetch, NotAssigned, OutOfRange
from plangate.shell.worker.headers import accept_any_header_name

FETCH_SECONDS = 0.2
_GROUP_MOVED_ON = (
    CommitFailedError,
    IllegalGenerationError,
    IllegalStateError,
    RebalanceInProgressError,
    UnknownMemberIdError,
)


class Assignor(StickyPartitionAssignor):
    """Sticky, but never shares out partitions that it doesn't know of.

    A leader that rejoins while the broker comes back may have no metadata of the input topic. The stock one gives
    nobody anything, and looks again in five minutes. The error ends this worker; the group makes another its leader.
    """

    @classmethod
    def assign(cls, cluster: Any, members: Any) -> Any:
        topics = {topic for metadata in members.values() for topic in metadata.subscription}
        if not all(map(cluster.partitions_for_topic, topics)):
            raise UnknownTopicOrPartitionError
        return super().assign(cluster, members)


class ConsumerThread(driver.AIOKafkaConsumerThread):
    """The thread with the group's consumer. `next_offsets`: where the next fetch of a partition starts."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.next_offsets: dict[TopicPartition, int] = {}

    async def on_start(self) -> None:
        self.thread_loop.set_exception_handler(log_loop_error)
        await super().on_start()

    def on_crash(self, msg: str, *fmt: Any, **kwargs: Any) -> None:
        # The stock one prints the exception's text to standard error.
        logger.error("consumer_thread_crashed", exc_info=True)

    def _create_worker_consumer(self, transport: Any) -> aiokafka.AIOKafkaConsumer:
        accept_any_header_name()
        return group_consumer(self.app.settings, Assignor)

    async def on_partitions_revoked(self, revoked: Any) -> None:
        await super().on_partitions_revoked(revoked)
        # After the main loop ended its tasks, so that none of them seeks any more.
        self.next_offsets.clear()

    async def run_in_thread(self, method: Callable[..., Coroutine[Any, Any, Any]], *args: Any) -> Any:
        """Await method(consumer, *args) in the thread. Faust's own queue for this takes two calls at a time."""
        call = asyncio.run_coroutine_threadsafe(method(self._ensure_consumer(), *args), self.thread_loop)
        return await asyncio.wrap_future(call)


class Consumer(driver.Consumer):
    """Hands whole fetches to the app. The methods that tasks call are the port `plangate.shell.task.Source`."""

    _thread: ConsumerThread

    def _new_consumer_thread(self) -> ConsumerThread:
        return ConsumerThread(self, loop=self.loop, beacon=self.beacon)

    async def _drain_messages(self, fetcher: Any) -> None:
        tasks, fetches = self.app.tasks, self.app.fetches
        try:
            while not (self.should_stop or fetcher.should_stop):
                wanted = [self._place(partition) for partition in tasks.wanted()]
                if not wanted:
                    await asyncio.sleep(0.01)
                    continue
                for fetch in await self._thread.run_in_thread(self._fetch, wanted):
                    await fetches.put(fetch)
        except ConsumerStoppedError:
            if not self.app.should_stop:
                raise

    async def _fetch(
        self, consumer: aiokafka.AIOKafkaConsumer, wanted: Iterable[TopicPartition]
    ) -> list[Fetch | OutOfRange]:
        fetches: list[Fetch | OutOfRange] = []
        next_offsets = self._thread.next_offsets
        try:
            fetched = await consumer.getmany(*wanted, timeout_ms=int(FETCH_SECONDS * 1000))
        except NoOffsetForPartitionError:
            return []  # asked before a rebalance, and partitions came back to which their tasks have yet to seek
        except OffsetOutOfRangeError as error:
            places = [place for place in error.args[0] if place in next_offsets]
            firsts, ends = await consumer.beginning_offsets(places), await consumer.end_offsets(places)
            return [OutOfRange(place.partition, firsts[place], ends[place]) for place in places]
        for place, records in fetched.items():
            start = next_offsets.get(place)
            if start is not None:
                # Does not wait: the position is known, it was just read from.
                next_offsets[place] = end = await consumer.position(place)
                fetches.append(Fetch(place.partition, start, end, records))
        return fetches

    async def committed(self, partition: int) -> int | None:
        return await self._thread.run_in_thread(aiokafka.AIOKafkaConsumer.committed, self._place(partition))

    async def seek(self, partition: int, offset: int) -> None:
        async def seek(consumer: aiokafka.AIOKafkaConsumer, place: TopicPartition) -> None:
            consumer.seek(place, offset)
            self._thread.next_offsets[place] = offset

        try:
            await self._thread.run_in_thread(seek, self._place(partition))
        except IllegalStateError:
            raise NotAssigned from None

    async def commit_offset(self, partition: int, offset: int) -> None:
        """Move the group's offset. Raises NotAssigned if the group has moved on: the next owner sees it again."""

        async def commit(consumer: aiokafka.AIOKafkaConsumer, place: TopicPartition) -> None:
            await consumer.commit({place: offset})

        try:
            await self._thread.run_in_thread(commit, self._place(partition))
        except _GROUP_MOVED_ON:
            raise NotAssigned from None

    async def check(self) -> None:
        """Raise what keeps us out of the group: the client tells only those who fetch, and so far nobody does."""

        async def check(consumer: aiokafka.AIOKafkaConsumer) -> None:
            if not consumer.assignment():
                await consumer.getmany()

        if self._thread._consumer is not None:
            await self._thread.run_in_thread(check)

    async def waiting(self, partitions: Iterable[int]) -> dict[int, int]:
        """Records in the log that were not fetched yet, for each partition that is ours."""

        async def distances(consumer: aiokafka.AIOKafkaConsumer) -> dict[int, int]:
            places = [place for place in map(self._place, partitions) if place in consumer.assignment()]
            ends = await consumer.end_offsets(places) if places else {}
            return {place.partition: end - await consumer.position(place) for place, end in ends.items()}

        return await self._thread.run_in_thread(distances)

    async def perform_seek(self) -> None:
        """Nothing: each task seeks itself, when it may."""

    def verify_event_path(self, now: float, tp: Any) -> None:
        """Nothing: Faust would miss the events that it did not deliver; `/live` watches progress."""

    def _place(self, partition: int) -> TopicPartition:
        return TopicPartition(self.app.source_topic, partition)


class Transport(driver.Transport):
    """Faust's Kafka transport with this consumer."""

    Consumer = Consumer
