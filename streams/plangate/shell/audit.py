"""The audited topics of a broker, from their first record to the end at the start, for ``plangate audit verify``.

On a live topic, so the order is: (1) the group's offsets: inputs before them are decided and published; (2) the ends
of the outputs, of open transactions too, which are waited for; (3) the ends of the inputs: nothing that an output
rests on lies behind them. Outputs of inputs between (1) and (3) may be there or not.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from time import monotonic
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition

from plangate.core.window import Window
from plangate.shell import clients
from plangate.shell.settings import Settings
from plangate.wire.audit import Recomputed, Seen
from plangate.wire.audit.findings import Place
from plangate.wire.engine import Engine, Record
from plangate.wire.topics import INPUT

# Without a record for so long the broker has nothing more to give: longer than it lets a hanging transaction be open.
PATIENCE_SECONDS = 60.0


class AuditError(Exception):
    """The topics can't be read, or can't be compared. The text names topics and offsets only."""


class AuditReader:
    """Reads outputs as records to verify; before that, if asked, what the inputs give. A context manager."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._decided: dict[int, int] = {}
        self._ends: dict[TopicPartition, int] = {}
        self._consumer: AIOKafkaConsumer

    async def __aenter__(self) -> "AuditReader":
        self._consumer = clients.recovery_consumer(self._settings)
        await self._consumer.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._consumer.stop()

    async def start(self, topics: Iterable[str], *, decided: bool) -> None:
        """Fix how far to read ``topics`` (base names); ``decided``: how far the worker is, too. Raises AuditError."""
        names = [self._settings.topic(topic) for topic in topics]
        admin = clients.admin_client(self._settings)
        await admin.start()
        try:
            present = set(await admin.list_topics())
            if missing := sorted({*names, self._settings.topic(INPUT)} - present if decided else set(names) - present):
                raise AuditError(f"no such topic: {', '.join(missing)}")
            if decided:
                listed = await admin.list_consumer_group_offsets(self._settings.group_id)
                source = self._settings.topic(INPUT)
                self._decided = {p.partition: entry.offset for p, entry in listed.items() if p.topic == source}
            described = await admin.describe_topics([*names, self._settings.topic(INPUT)] if decided else names)
        finally:
            await admin.close()
        places = [TopicPartition(t["topic"], p["partition"]) for t in described for p in t["partitions"]]
        self._inputs = [place for place in places if place.topic == self._settings.topic(INPUT)]
        outputs = [place for place in places if place not in self._inputs]
        probe = AIOKafkaConsumer(**clients.connection(self._settings), isolation_level="read_uncommitted")
        await probe.start()
        try:
            self._ends = await probe.end_offsets(outputs)
        finally:
            await probe.stop()

    async def recompute(self, engine: Engine, recomputed: Recomputed) -> None:
        """What the inputs give. Raises AuditError where retention has deleted some of them."""
        first = await self._consumer.beginning_offsets(self._inputs)
        if gone := [f"{p.topic}/{p.partition} begins at {offset}" for p, offset in first.items() if offset > 0]:
            raise AuditError(f"inputs are gone, so decisions can't be made again: {', '.join(gone)}")
        windows: dict[int, dict[str, Window]] = {place.partition: {} for place in self._inputs}
        async for place, record in self._read(await self._consumer.end_offsets(self._inputs)):
            number = place.partition
            source = Record(INPUT, number, record.offset, record.key, record.value, record.headers)
            required = record.offset < self._decided.get(number, 0)
            recomputed.undecided += not required
            for out in engine.process(windows[number], source):
                recomputed.add(out, required=required)

    async def outputs(self) -> AsyncIterator[Seen]:
        """Every record of the topics of :meth:`start`, each topic's partition in its order."""
        prefix = len(self._settings.topic_prefix)
        async for place, record in self._read(self._ends):
            repeat = ("plangate-duplicate", b"1") in [(name, bytes(value or b"")) for name, value in record.headers]
            found = Place(record.offset, place.partition)
            yield Seen(place.topic[prefix:], record.key, record.value, found, repeat)

    async def _read(self, ends: Mapping[TopicPartition, int]) -> AsyncIterator[tuple[TopicPartition, Any]]:
        consumer = self._consumer
        open_: Sequence[TopicPartition] = list(ends)
        consumer.assign(open_)
        await consumer.seek_to_beginning(*open_)
        deadline = monotonic() + PATIENCE_SECONDS
        # The position tells the end, not the last record: commit markers take offsets and are never delivered.
        while open_ := [place for place in open_ if await consumer.position(place) < ends[place]]:
            batches = await consumer.getmany(*open_, timeout_ms=500)
            for place, records in batches.items():
                for record in records:
                    if record.offset < ends[place]:
                        yield place, record
            if batches:
                deadline = monotonic() + PATIENCE_SECONDS
            elif monotonic() > deadline:
                raise AuditError(f"the broker gives no more of {open_[0].topic}/{open_[0].partition}")
            await asyncio.sleep(0)
