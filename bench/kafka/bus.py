"""The broker in its container, and topics with one prefix for each run."""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.partitioner import DefaultPartitioner

from plangate.wire.engine import Engine, Record
from plangate.wire.topics import INPUT, TOPICS

sys.path.append(str(Path(__file__).parents[2] / "tests" / "broker"))
OUTPUTS = [name for name in TOPICS if name != INPUT]


@contextmanager
def broker() -> Iterator[str]:
    """The container that the tests use too; its bootstrap address."""
    from engine import KAFKA_IMAGE, fetch_image, missing_engine
    from kafka_container import ApacheKafka

    if reason := missing_engine() or fetch_image(KAFKA_IMAGE):
        raise SystemExit(f"this section needs a Docker engine and Kafka's image: {reason}")
    with ApacheKafka(KAFKA_LOG_MESSAGE_TIMESTAMP_TYPE="LogAppendTime") as container:
        yield container.bootstrap


class Bus:
    """The topics of one run. Methods block."""

    def __init__(self, kafka: str, prefix: str, partitions: int = 4) -> None:
        self.kafka, self.prefix, self.partitions = kafka, prefix, partitions

    def create(self) -> None:
        """All topics of the contract, as the worker makes them."""
        topics = []
        for name, topic in TOPICS.items():
            configs = {"cleanup.policy": topic.cleanup, "max.message.bytes": "9437184"}
            if name == INPUT:
                configs["compression.type"] = "uncompressed"
            topics.append(NewTopic(self.prefix + name, self.partitions, 1, topic_configs=configs))

        async def create() -> None:
            admin = AIOKafkaAdminClient(bootstrap_servers=self.kafka)
            await admin.start()
            await admin.create_topics(topics)
            await admin.close()

        asyncio.run(create())

    def fill(self, items: Iterable[tuple[bytes, bytes]]) -> None:
        """Write input records, acknowledged, in order."""

        async def send() -> None:
            producer = AIOKafkaProducer(bootstrap_servers=self.kafka, linger_ms=5, max_batch_size=500_000)
            await producer.start()
            partitioner, every = DefaultPartitioner(), list(range(self.partitions))
            sent = []
            for key, value in items:
                place = partitioner(key, every, every)
                sent.append(await producer.send(self.prefix + INPUT, value, key, partition=place))
            await asyncio.gather(*sent)
            await producer.stop()

        asyncio.run(send())

    def await_records(self, topic: str, count: int, seconds: float, alive: Callable[[], bool]) -> float:
        """When so many records of a topic can be read by a reader of committed ones, by the clock of `time.time`."""

        async def wait() -> float:
            consumer = self._consumer(topic)
            await consumer.start()
            seen, deadline = 0, time.time() + seconds
            try:
                while seen < count:
                    if time.time() > deadline or not alive():
                        raise TimeoutError(f"{seen} of {count} records of {topic} after {seconds} s")
                    seen += sum(map(len, (await consumer.getmany(timeout_ms=200)).values()))
                return time.time()
            finally:
                await consumer.stop()

        return asyncio.run(wait())

    def read(self, *topics: str) -> list[Any]:
        """All committed records of these topics."""

        async def drain() -> list[Any]:
            consumer = self._consumer(*topics)
            await consumer.start()
            try:
                places = sorted(consumer.assignment())
                ends = await consumer.end_offsets(places)
                found: list[Any] = []
                while any([await consumer.position(place) < ends[place] for place in places]):
                    for records in (await consumer.getmany(timeout_ms=200)).values():
                        found += records
                return found
            finally:
                await consumer.stop()

        return asyncio.run(drain())

    def _consumer(self, *topics: str) -> AIOKafkaConsumer:
        return AIOKafkaConsumer(
            *(self.prefix + topic for topic in topics),
            bootstrap_servers=self.kafka,
            isolation_level="read_committed",
            auto_offset_reset="earliest",
            max_partition_fetch_bytes=9_000_000,
        )


def expected(items: Sequence[tuple[bytes, bytes]], partitions: int) -> Counter[tuple[str, bytes, bytes]]:
    """What an engine makes of the items as they lie in the log: (topic, key, value), counted."""
    engine, every, partitioner = Engine(), list(range(partitions)), DefaultPartitioner()
    windows: list[dict[str, Any]] = [{} for _ in every]
    offsets = [0] * partitions
    found: Counter[tuple[str, bytes, bytes]] = Counter()
    for key, value in items:
        place = partitioner(key, every, every)
        for out in engine.process(windows[place], Record(INPUT, place, offsets[place], key, value)):
            found[out.topic, out.key, out.value] += 1
        offsets[place] += 1
    return found
