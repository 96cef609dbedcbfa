"""Fakes at the shell's ports: a bus in memory, and clients of it that look like aiokafka's as far as they are used."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from aiokafka import TopicPartition

from plangate.core.policy import Policy
from plangate.shell.changelog_reader import assemble_with
from plangate.shell.metrics import Metrics
from plangate.shell.publish import AcknowledgedPublisher, Names, Publisher, TransactionalPublisher
from plangate.shell.store import Recovery, WindowStore
from plangate.shell.task import Deps, Fetch, NotAssigned, PartitionTask
from plangate.wire.engine import Engine, Out

SOURCE, CHANGELOG, GROUP = "window-events", "changelog", "group"


class Killed(BaseException):
    """The process is gone; nothing after it runs."""


@dataclass
class Entry:
    """A record in a log; a commit marker has no key and `control` set."""

    offset: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes]] = ()
    timestamp: int = 1_700_000_000_000
    control: bool = False


class Bus:
    """Logs by topic and partition, committed offsets, and who owns which transactional id."""

    def __init__(self) -> None:
        self.logs: dict[TopicPartition, list[Entry]] = defaultdict(list)
        self.offsets: dict[TopicPartition, int] = {}
        self.first = 0  # what retention left of the input
        self.owners: dict[str, FakeProducer] = {}

    def append(self, place: TopicPartition, key: bytes | None, value: bytes | None, **more: Any) -> int:
        log = self.logs[place]
        log.append(Entry(len(log), key, value, **more))
        return len(log) - 1

    def visible(self, place: TopicPartition, start: int = 0) -> list[Entry]:
        return [entry for entry in self.logs[place][start:] if not entry.control]

    def outputs(self) -> list[Out]:
        """All outputs, in order for each topic; every topic has one partition here."""
        topics = sorted({place.topic for place in self.logs} - {SOURCE, CHANGELOG})
        return [
            Out(topic, entry.key or b"", entry.value or b"", list(entry.headers))
            for topic in topics
            for entry in self.visible(TopicPartition(topic, 0))
        ]


class FakeBatch:
    def __init__(self, limit: int) -> None:
        self.records: list[tuple[bytes, bytes | None, Any]] = []
        self._room = limit

    def append(self, *, timestamp: int, key: bytes, value: bytes | None, headers: Any) -> object | None:
        size = len(key) + len(value or b"")
        if self.records and size > self._room:
            return None
        self._room -= size
        self.records.append((key, value, headers))
        return object()

    def close(self) -> None: ...

    def record_count(self) -> int:
        return len(self.records)


class FakeProducer:
    """With a transactional id: nothing is in the logs before the commit, and a later producer of the same id fences."""

    def __init__(self, bus: Bus, transactional_id: str | None = None, batch_bytes: int = 2000) -> None:
        self.bus = bus
        self.id = transactional_id
        self.batch_bytes = batch_bytes
        self.open: list[tuple[TopicPartition, FakeBatch, asyncio.Future]] | None = None
        self.moved: dict[TopicPartition, int] = {}

    async def start(self) -> None:
        if self.id:
            self.bus.owners[self.id] = self

    async def stop(self) -> None: ...

    def create_batch(self) -> FakeBatch:
        return FakeBatch(self.batch_bytes)

    async def partitions_for(self, topic: str) -> Iterable[int]:
        return {0}

    async def send_batch(self, batch: FakeBatch, topic: str, *, partition: int) -> asyncio.Future:
        future = asyncio.get_running_loop().create_future()
        place = TopicPartition(topic, partition)
        if self.id:
            assert self.open is not None, "not in a transaction"
            self.open.append((place, batch, future))
            # The offset it will have: nobody else writes here in a transaction's time.
            before = sum(b.record_count() for p, b, _ in self.open[:-1] if p == place)
            future.set_result(SimpleNamespace(offset=len(self.bus.logs[place]) + before))
        else:
            future.set_result(SimpleNamespace(offset=self._write(place, batch)))
        return future

    def _write(self, place: TopicPartition, batch: FakeBatch) -> int:
        return [self.bus.append(place, key, value, headers=headers) for key, value, headers in batch.records][0]

    async def begin_transaction(self) -> None:
        self._check()
        self.open, self.moved = [], {}

    async def send_offsets_to_transaction(self, offsets: Mapping[TopicPartition, int], group_id: str) -> None:
        assert group_id == GROUP
        self.moved.update(offsets)

    async def commit_transaction(self) -> None:
        self._check()
        assert self.open is not None
        for place, batch, _ in self.open:
            self._write(place, batch)
        for place in {place for place, _, _ in self.open}:
            self.bus.append(place, None, None, control=True)
        self.bus.offsets.update(self.moved)
        self.open = None

    def _check(self) -> None:
        if self.bus.owners.get(self.id or "") is not self:
            raise RuntimeError("fenced")


class FakeLogConsumer:
    def __init__(self, bus: Bus, chunk: int = 3) -> None:
        self.bus, self.chunk = bus, chunk
        self.at: dict[TopicPartition, int] = {}
        self.started = 0

    async def start(self) -> None:
        self.started += 1

    async def stop(self) -> None: ...

    def assign(self, partitions: Sequence[TopicPartition]) -> None: ...

    async def seek_to_beginning(self, *partitions: TopicPartition) -> None:
        self.at.update(dict.fromkeys(partitions, 0))

    async def beginning_offsets(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(partitions, self.bus.first)

    async def end_offsets(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return {place: len(self.bus.logs[place]) for place in partitions}

    async def position(self, partition: TopicPartition) -> int:
        return self.at[partition]

    async def getmany(self, *partitions: TopicPartition, timeout_ms: int = 0) -> dict[TopicPartition, list[Entry]]:
        [place] = partitions
        some = self.bus.logs[place][self.at[place] : self.at[place] + self.chunk]
        self.at[place] += len(some)
        return {place: [entry for entry in some if not entry.control]}


@dataclass
class FakeSource:
    """The group's consumer; `fetch` is what the consumer's thread does."""

    bus: Bus
    ours: bool = True
    next_offsets: dict[int, int] = field(default_factory=dict)
    seeks: list[tuple[int, int]] = field(default_factory=list)

    async def committed(self, partition: int) -> int | None:
        return self.bus.offsets.get(TopicPartition(SOURCE, partition))

    async def seek(self, partition: int, offset: int) -> None:
        if not self.ours:
            raise NotAssigned
        self.seeks.append((partition, offset))
        self.next_offsets[partition] = offset

    async def commit_offset(self, partition: int, offset: int) -> None:
        if not self.ours:
            raise NotAssigned
        self.bus.offsets[TopicPartition(SOURCE, partition)] = offset

    def fetch(self, partition: int, count: int = 1000) -> Fetch | None:
        start = self.next_offsets[partition]
        log = self.bus.logs[TopicPartition(SOURCE, partition)][start : start + count]
        self.next_offsets[partition] = start + len(log)
        records = [entry for entry in log if not entry.control]
        return Fetch(partition, start, start + len(log), records) if records else None


async def until(condition: Callable[[], bool]) -> None:
    """Let others run until the condition holds."""
    for _ in range(100_000):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("it never came to that")


@dataclass
class Worker:
    """A task of one partition with all that it needs. `die_at`: a step, and in which batch, from 0, it is killed."""

    bus: Bus
    guarantee: str = "transactions"
    die_at: tuple[str, int] = ("", -1)
    engine: Engine = field(default_factory=Engine)
    known: WindowStore | None = None
    batch_size: int = 3
    metrics: Metrics = field(default_factory=Metrics)
    batches: int = 0
    partition: int = 0

    def __post_init__(self) -> None:
        self.source = FakeSource(self.bus)
        names = Names(SOURCE, CHANGELOG, GROUP, "", self.partition)
        publisher: Publisher
        if self.guarantee == "transactions":
            publisher = TransactionalPublisher(FakeProducer(self.bus, f"group-{self.partition}"), names, self.probe)
        else:
            publisher = AcknowledgedPublisher(FakeProducer(self.bus), names, self.source.commit_offset, self.probe)
        self.consumer = FakeLogConsumer(self.bus)
        self.recovery = Recovery(
            self.consumer,
            TopicPartition(CHANGELOG, self.partition),
            TopicPartition(SOURCE, self.partition),
            assemble_with(Policy()),
        )
        deps = Deps(self.engine, self.source, self.metrics, SOURCE, self.batch_size, self.probe)
        self.publisher = publisher
        self.task = PartitionTask(self.partition, deps, publisher, self.recovery, self.known)

    def probe(self, step: str) -> None:
        if (step, self.batches) == self.die_at:
            raise Killed
        if step == "committed":
            self.batches += 1

    async def run(self, until: Callable[[], bool] | None = None) -> None:
        """Feed the task until all is decided (or `until` says so), then stop it. Raises what it dies of."""
        job = asyncio.ensure_future(self.task.run())
        place = TopicPartition(SOURCE, self.partition)
        done = until or (lambda: not self.bus.visible(place, self.bus.offsets.get(place, 0)))
        while not (job.done() or (self.task.ready and self.task.idle and done())):
            if self.task.wants_records and (fetch := self.source.fetch(self.partition, 5)):
                self.task.feed(fetch)
            await asyncio.sleep(0)
        self.task.stop()
        await job
