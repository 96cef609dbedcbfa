"""Many records to a producer at once."""

import asyncio
import time
from collections.abc import Awaitable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from aiokafka.errors import IllegalOperation, InvalidTxnState
from aiokafka.partitioner import DefaultPartitioner

# One record batch on its way: its first offset and how many records it has.
Sent = asyncio.Future[tuple[int, int]]


class Message(NamedTuple):
    """A record on its way out; without a partition its key decides."""

    topic: str
    key: bytes
    value: bytes | None
    headers: Sequence[tuple[str, bytes]] = ()
    partition: int | None = None


class Producer(Protocol):
    """What is used of an AIOKafkaProducer; fakes have the same."""

    async def start(self) -> None: ...
    async def stop(self) -> None: ...
    def create_batch(self) -> Any: ...
    async def send_batch(self, batch: Any, topic: str, *, partition: int) -> Awaitable[Any]: ...
    async def partitions_for(self, topic: str) -> Iterable[int]: ...
    async def begin_transaction(self) -> None: ...
    async def send_offsets_to_transaction(self, offsets: Any, group_id: str) -> None: ...
    async def commit_transaction(self) -> None: ...


# What is said of a batch because another one of its transaction failed.
CONSEQUENCES = (IllegalOperation, InvalidTxnState)


async def cause_of(error: BaseException, sent: Iterable[Sent]) -> BaseException:
    """What ended a transaction, where `error` only says that it has: a batch sent before got the broker's answer."""
    results = await asyncio.gather(*sent, return_exceptions=True)
    if not isinstance(error, CONSEQUENCES):
        return error
    found = [result for result in results if isinstance(result, BaseException)]
    return next((result for result in found if not isinstance(result, CONSEQUENCES)), error)


class Sender:
    """Packs messages into record batches itself: one future for each batch instead of one for each message."""

    def __init__(self, producer: Producer) -> None:
        self._producer = producer
        self._partitioner = DefaultPartitioner()

    async def send(self, messages: Iterable[Message]) -> list[Sent]:
        """Hand the messages over, in order for each topic and partition."""
        open_batches: dict[tuple[str, int], Any] = {}
        places: dict[tuple[str, bytes], int] = {}
        partitions: dict[str, list[int]] = {}
        futures: list[Sent] = []
        now = int(time.time() * 1000)
        try:
            for topic, key, value, headers, partition in messages:
                if partition is None:
                    partition = places.get((topic, key))
                    if partition is None:
                        if topic not in partitions:
                            partitions[topic] = sorted(await self._producer.partitions_for(topic))
                        all_ = partitions[topic]
                        partition = places[topic, key] = self._partitioner(key, all_, all_)
                place = (topic, partition)
                batch = open_batches.get(place)
                if batch is None:
                    batch = open_batches[place] = self._producer.create_batch()
                if batch.append(timestamp=now, key=key, value=value, headers=list(headers)) is None:
                    futures.append(await self._hand_over(batch, place))
                    batch = open_batches[place] = self._producer.create_batch()
                    if batch.append(timestamp=now, key=key, value=value, headers=list(headers)) is None:
                        raise ValueError("a record does not fit into an empty batch")
            for place, batch in open_batches.items():
                futures.append(await self._hand_over(batch, place))
        except BaseException as error:
            raise await cause_of(error, futures) from None
        return futures

    async def _hand_over(self, batch: Any, place: tuple[str, int]) -> Sent:
        batch.close()
        count = batch.record_count()
        sent = await self._producer.send_batch(batch, place[0], partition=place[1])

        async def base_and_count() -> tuple[int, int]:
            return (await sent).offset, count

        return asyncio.ensure_future(base_and_count())
