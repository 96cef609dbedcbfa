"""Topics of a real broker as the tests see them."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from kafka_events import Item, new_engine

from plangate.wire.engine import Out, Record
from plangate.wire.topics import INPUT, TOPICS

OUTPUTS = [topic for topic in TOPICS if topic != INPUT]


class Bus:
    """One prefix on one broker. Methods block: the tests are no coroutines."""

    def __init__(self, kafka: str, prefix: str) -> None:
        self.kafka = kafka
        self.prefix = prefix

    def create_topic(self, name: str, partitions: int, **settings: str) -> None:
        async def create(admin: AIOKafkaAdminClient) -> None:
            configs = {setting.replace("_", "."): value for setting, value in settings.items()}
            await admin.create_topics([NewTopic(self.prefix + name, partitions, 1, topic_configs=configs)])

        self._with_admin(create)

    def produce(self, items: Iterable[Item]) -> None:
        """Write input records, acknowledged."""
        self.produce_to(INPUT, items)

    def produce_to(self, topic: str, items: Iterable[Item]) -> None:
        """Write records to any topic, acknowledged."""

        async def send() -> None:
            producer = AIOKafkaProducer(bootstrap_servers=self.kafka, linger_ms=5, max_request_size=9_000_000)
            await producer.start()
            try:
                sent = [
                    await producer.send(
                        self.prefix + topic, item.value, item.key, partition=item.partition, headers=item.headers
                    )
                    for item in items
                ]
                await asyncio.gather(*sent)
            finally:
                await producer.stop()

        asyncio.run(send())

    def read(self, topic: str, isolation: str = "read_committed") -> dict[int, list[Any]]:
        """All records of a topic by partition, from the first to the present end."""

        async def drain() -> dict[int, list[Any]]:
            consumer = AIOKafkaConsumer(
                self.prefix + topic,
                bootstrap_servers=self.kafka,
                isolation_level=isolation,
                auto_offset_reset="earliest",
                max_partition_fetch_bytes=9_000_000,
            )
            await consumer.start()
            try:
                while not (places := sorted(consumer.assignment())):  # noqa: ASYNC110 (a busy broker has none at first)
                    await asyncio.sleep(0.1)
                ends = await consumer.end_offsets(places)
                found: dict[int, list[Any]] = defaultdict(list)
                while any([await consumer.position(place) < ends[place] for place in places]):
                    for place, records in (await consumer.getmany(timeout_ms=200)).items():
                        found[place.partition] += records
                return found
            finally:
                await consumer.stop()

        return asyncio.run(drain())

    def ends(self, topic: str) -> dict[int, int]:
        """The offset behind the last record or marker of each partition."""

        async def ask() -> dict[int, int]:
            consumer = AIOKafkaConsumer(self.prefix + topic, bootstrap_servers=self.kafka)
            await consumer.start()
            try:
                ends = await consumer.end_offsets(consumer.assignment())
                return {place.partition: end for place, end in ends.items()}
            finally:
                await consumer.stop()

        return asyncio.run(ask())

    def decided(self, group: str) -> bool:
        """Whether the group's offsets are behind the last record of every partition."""

        last = {number: records[-1].offset for number, records in self.read(INPUT).items() if records}

        async def offsets(admin: AIOKafkaAdminClient) -> dict[int, int]:
            places = [TopicPartition(self.prefix + INPUT, number) for number in last]
            listed = await admin.list_consumer_group_offsets(self.prefix + group, partitions=places)
            return {place.partition: entry.offset for place, entry in listed.items()}

        moved = self._with_admin(offsets)
        return all(moved.get(number, -1) > offset for number, offset in last.items())

    def outputs(self, topic: str) -> dict[int, list[Out]]:
        """A topic's records as the engine gives them, by partition."""
        return {
            number: [Out(topic, record.key, record.value, list(record.headers)) for record in records]
            for number, records in self.read(topic).items()
        }

    def recomputed(self, keyring: Path | None) -> dict[str, list[Out]]:
        """What an engine makes of each input partition as it lies in the log: by topic, partition after partition."""
        found: dict[str, list[Out]] = defaultdict(list)
        for number, records in sorted(self.read(INPUT).items()):
            engine, windows = new_engine(keyring), {}
            for record in records:
                source = Record(INPUT, number, record.offset, record.key, record.value, record.headers)
                for out in engine.process(windows, source):
                    found[out.topic].append(out)
        return found

    def _with_admin(self, method: Any) -> Any:
        async def run() -> Any:
            admin = AIOKafkaAdminClient(bootstrap_servers=self.kafka)
            await admin.start()
            try:
                return await method(admin)
            finally:
                await admin.close()

        return asyncio.run(run())


def by_window(outs: Iterable[Out]) -> dict[bytes, list[Out]]:
    """Outputs by key, in order: what a window's reader sees."""
    found: dict[bytes, list[Out]] = defaultdict(list)
    for out in outs:
        found[out.key].append(out)
    return found


def differences(bus: Bus, keyring: Path | None) -> tuple[list[str], int]:
    """How the published outputs differ from the recomputed ones, repeats aside; and how many repeats there are.

    Each output is known by its topic and CloudEvents id. Two of one id must have the same bytes, and each window's
    must be in order.
    """
    wrong: list[str] = []
    repeats = 0
    wanted = bus.recomputed(keyring)
    for topic in OUTPUTS:
        seen: dict[bytes, Out] = {}
        for out in (out for outs in bus.outputs(topic).values() for out in outs):
            first = seen.setdefault(dict(out.headers)["ce_id"], out)
            repeats += first is not out
            if first != out:
                wrong.append(f"{topic}: two answers under one id")
        if by_window(seen.values()) != by_window(wanted.get(topic, [])):
            missing = {dict(out.headers)["ce_id"] for out in wanted.get(topic, [])} - seen.keys()
            wrong.append(f"{topic}: {len(seen)} instead of {len(wanted.get(topic, []))}, {len(missing)} missing")
    return wrong, repeats
