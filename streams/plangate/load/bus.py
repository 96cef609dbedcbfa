"""The generator's side of Kafka: sends events, reads decisions, and tells how far the workers' group is behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from ..shell.clients import MAX_MESSAGE_BYTES, admin_client, connection
from ..shell.settings import Settings
from ..wire.topics import INPUT

DECISIONS = "plan-decisions"
LINGER_MS = 2
STOP_SECONDS = 15.0


class BusError(Exception):
    """The cluster can't be reached or its topics are not there; the text holds topic names only."""


class Bus:
    """Clients of one cluster. With `transactions` decisions are read committed, and sending is idempotent."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        safe = settings.guarantee == "transactions"
        self._producer = AIOKafkaProducer(
            **connection(settings),
            acks="all",
            enable_idempotence=safe,
            linger_ms=LINGER_MS,
            max_request_size=MAX_MESSAGE_BYTES,
        )
        self._consumer = AIOKafkaConsumer(
            **connection(settings),
            enable_auto_commit=False,
            auto_offset_reset="latest",
            isolation_level="read_committed" if safe else "read_uncommitted",
            max_partition_fetch_bytes=MAX_MESSAGE_BYTES,
            fetch_max_wait_ms=20,
        )
        self._admin: AIOKafkaAdminClient = admin_client(settings)
        self._input: list[TopicPartition] = []

    async def start(self) -> None:
        """Raises BusError. Only decisions made after this are read."""
        try:
            await self._producer.start()
            await self._consumer.start()
            await self._admin.start()
        except KafkaError as error:
            await self.stop()
            raise BusError(f"the broker can't be reached ({type(error).__name__})") from None
        names = [self._settings.topic(name) for name in (INPUT, DECISIONS)]
        present = await self._consumer.topics()
        if missing := [name for name in names if name not in present]:
            await self.stop()
            raise BusError(f"no topic {', '.join(missing)}: start a worker first, it creates them")
        inputs, decisions = [
            [TopicPartition(name, number) for number in sorted(await self._partitions(name))] for name in names
        ]
        self._input = inputs
        self._consumer.assign(decisions)
        await self._consumer.seek_to_end(*decisions)

    async def _partitions(self, topic: str) -> set[int]:
        return set(await self._producer.partitions_for(topic))

    async def stop(self) -> None:
        """Close all clients, waiting for none longer than some seconds."""
        for client in (self._producer.stop, self._consumer.stop, self._admin.close):
            try:
                await asyncio.wait_for(client(), STOP_SECONDS)
            except (KafkaError, OSError, TimeoutError):
                pass

    async def send(self, window_id: str, value: bytes, done: Callable[[bool], None]) -> None:
        """Hand an event to the producer; `done` is told whether it was acknowledged."""
        try:
            sent = await self._producer.send(self._settings.topic(INPUT), value, key=window_id.encode())
        except KafkaError:
            done(False)
            return
        sent.add_done_callback(lambda future: done(not future.cancelled() and future.exception() is None))

    async def flush(self) -> None:
        """Wait for all acknowledgements."""
        await self._producer.flush()

    async def decisions(self) -> AsyncIterator[bytes]:
        """Values of decisions, for ever. An unreachable broker is waited for."""
        while True:
            try:
                found = await self._consumer.getmany(timeout_ms=200)
            except KafkaError:
                await asyncio.sleep(0.2)
                continue
            for records in found.values():
                for record in records:
                    if record.value is not None:
                        yield record.value

    async def lag(self) -> int | None:
        """Input records that the workers' group has not committed; None if the broker does not tell now."""
        try:
            ends: dict[TopicPartition, int] = await self._consumer.end_offsets(self._input)
            told: dict[TopicPartition, Any] = await self._admin.list_consumer_group_offsets(
                self._settings.group_id, partitions=self._input
            )
        except (KafkaError, OSError, TimeoutError):
            return None
        return sum(max(0, end - max(0, told[place].offset if place in told else 0)) for place, end in ends.items())
