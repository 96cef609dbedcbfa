"""One input partition: take over, then decide batch after batch. Knows no Kafka library; what it needs are ports.

Named after the stream task of Kafka Streams: it lives from one assignment to the next revocation. Taking over goes in
this order, each step for a reason:

1. start the publisher: with transactions this shuts out, and settles the last batch of, whoever owned the partition
   before;
2. ask the group's committed offset: before the changelog is read, so that the state can be ahead of it, never behind;
3. read the changelog, unless the windows kept from the assignment before are still its end;
4. wait until all partitions that came with the same assignment were read: a worker that can't read one of them, for a
   newer version wrote it, say, must not have decided anything in another;
5. seek to the committed offset, and only then accept records.

A fetch is accepted by the place in the log where it starts: at or before the record expected next. If it starts
later, one before it was dropped on its way (a rebalance does that), and the task seeks back. Offsets alone can't
tell: commit markers and aborted records leave gaps that are none.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic, time
from typing import NamedTuple, Protocol

from plangate.shell.logs import logger
from plangate.shell.metrics import Metrics
from plangate.shell.publish import Probe, Publisher
from plangate.shell.store import Recovery, WindowStore, touched, window_of
from plangate.wire.engine import Engine, Out, Record

# How long deciding may hold the event loop at a stretch, and one batch in all: the first decision waits for the last.
SLICE_SECONDS = 0.01
BATCH_SECONDS = 0.25
BATCH_BYTES = 16 * 1024 * 1024


class InputError(Exception):
    """The input topic is not the one that the windows were made from. The text names no content."""


class Source(Protocol):
    """The group's consumer, as one partition sees it."""

    async def committed(self, partition: int) -> int | None: ...
    async def seek(self, partition: int, offset: int) -> None:
        """Raises NotAssigned if the partition is not ours any more."""


class NotAssigned(Exception):
    """The group has given the partition away, or is about to; the task will be stopped."""


class Fetched(Protocol):
    """What is used of a consumer's record."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes]]


class Fetch(NamedTuple):
    """All records of one partition in the log from `start` up to, and without, `end`."""

    partition: int
    start: int
    end: int
    records: Sequence[Fetched]


class OutOfRange(NamedTuple):
    """The log has nothing at the offset that was to be fetched next: it goes from `first` up to, and without, `end`."""

    partition: int
    first: int
    end: int


@dataclass(slots=True)
class Deps:
    """What all tasks of a worker share."""

    engine: Engine
    source: Source
    metrics: Metrics
    topic: str  # base name of the input topic
    batch_size: int = 2000
    probe: Probe = lambda step: None


class PartitionTask:
    """See the module. `run` ends when `stop` is called, and raises on whatever the process should not survive."""

    def __init__(
        self, partition: int, deps: Deps, publisher: Publisher, recovery: Recovery, known: WindowStore | None = None
    ) -> None:
        self.partition = partition
        self.store: WindowStore | None = known
        self.ready = False
        self.expected = -1
        self.last_progress = monotonic()
        self.recovered = asyncio.Event()
        self.peers: Sequence[PartitionTask] = ()  # that came with the same assignment
        self.waits_for_peers = False
        self._deps = deps
        self._publisher = publisher
        self._recovery = recovery
        recovery.progress = self._recovering
        self._queue: deque[Fetched] = deque()
        self._bytes = 0
        self._seek_wanted = False
        self._stopping = False
        self._in_batch = False
        self._cut_off = False
        self._wake = asyncio.Event()

    @property
    def backlog(self) -> int:
        """Records fetched and not yet decided."""
        return len(self._queue)

    @property
    def idle(self) -> bool:
        """Ready, and with nothing to do."""
        return self.ready and not (self._queue or self._in_batch or self._seek_wanted)

    @property
    def wants_records(self) -> bool:
        """Whether fetching more makes sense now."""
        full = len(self._queue) >= self._deps.batch_size or self._bytes >= BATCH_BYTES
        return self.ready and not (self._seek_wanted or full)

    def touch(self) -> None:
        """Something got on; the liveness probe looks at it."""
        self.last_progress = monotonic()

    def _recovering(self) -> None:
        self.touch()
        self._deps.probe("recovering")

    def feed(self, fetch: Fetch) -> None:
        """What was fetched; may be called at any time."""
        if not self.ready or self._seek_wanted:
            return
        if fetch.start > self.expected:
            self._seek_wanted = True
        else:
            if not (self._queue or self._in_batch):
                self.touch()
            for record in fetch.records:
                if record.offset >= self.expected:
                    self._queue.append(record)
                    self._bytes += len(record.value or b"")
            self.expected = max(self.expected, fetch.end)
        self._wake.set()

    def out_of_range(self, now: OutOfRange) -> None:
        """What was expected next can't be had any more; may be called at any time."""
        if not self.ready or self._seek_wanted:
            return
        self._cut_off = now.end < self.expected
        self._lost_up_to(now.first)
        self._seek_wanted = True
        self._wake.set()

    def _lost_up_to(self, first: int) -> None:
        """Go on at `first` if retention was faster than we.

        Plans made against a window that misses events are deferred, as for any other generation.
        """
        if first > self.expected:
            self._deps.metrics.lost.inc(first - self.expected)
            logger.error("input_lost", partition=self.partition, next_offset=self.expected, first_offset=first)
            self.expected = first

    async def run(self) -> None:
        """Take over, then decide until told to stop."""
        try:
            await self._take_over()
            while not self._stopping:
                self._wake.clear()
                if self._cut_off:
                    raise InputError("the input topic ends before what was read of it: it was emptied or made anew")
                if self._seek_wanted:
                    await self._deps.source.seek(self.partition, self.expected)
                    self._seek_wanted = False
                if self._queue:
                    self._in_batch = True
                    await self._batch()
                    self._in_batch = False
                    self.touch()
                else:
                    await self._wake.wait()
        except NotAssigned:
            self.ready = False
            self.recovered.set()

    def stop(self) -> None:
        """Finish the batch in flight and end; what is queued is left to the next owner."""
        self._deps.probe("revoked")
        self._stopping = True
        self.ready = False
        self._queue.clear()
        self._wake.set()

    async def _take_over(self) -> None:
        began = monotonic()
        source, partition, metrics, probe = self._deps.source, self.partition, self._deps.metrics, self._deps.probe
        probe("assigned")
        await self._publisher.start()
        probe("shut_out")
        committed = await source.committed(partition)
        store = await self._recovery.run(self.store)
        probe("recovered")
        first, end = self._recovery.bounds
        if store.resume_after >= end or (committed or 0) > end:
            raise InputError("the input topic ends before what its windows have seen: it was emptied or made anew")
        self.store = store
        self.expected = first if committed is None else committed
        self._lost_up_to(first)
        self.recovered.set()
        self.waits_for_peers = True
        for peer in self.peers:
            await peer.recovered.wait()
        self.waits_for_peers = False
        seconds = monotonic() - began
        metrics.recovered.inc(self._recovery.records)
        metrics.recovery.set(seconds)
        logger.info(
            "partition_taken_over",
            partition=partition,
            windows=len(store.windows),
            changelog_records=self._recovery.records,
            next_offset=self.expected,
            seconds=round(seconds, 3),
        )
        if any(map(self._deps.engine.unkeyed, store.windows.values())):
            logger.warning("redaction_without_key", partition=partition)
        await source.seek(partition, self.expected)
        self.touch()
        self.ready = not self._stopping

    async def _batch(self) -> None:
        deps, store = self._deps, self.store
        assert store is not None
        outputs: list[Out] = []
        keys: dict[bytes | None, None] = {}
        asked_at: list[int] = []
        began = pause = monotonic()
        first = self._queue[0].offset
        taken = size = 0
        while self._queue and not self._stopping:
            record = self._queue.popleft()
            taken += 1
            last = record.offset
            size += len(record.value or b"")
            window = window_of(store.windows, record.key) if last <= store.resume_after else None
            if window is not None and last <= window.head.last_offset:
                deps.metrics.repeats.inc()
            else:
                made = self._decide(store, record)
                outputs += made
                size += sum(len(out.value) for out in made)
                keys[record.key] = None
                # A producer may leave the time out, which is then -1.
                if record.timestamp > 0 and any(out.topic == "plan-decisions" for out in made):
                    asked_at.append(record.timestamp)
            now = monotonic()
            if taken >= deps.batch_size or size >= BATCH_BYTES or now - began > BATCH_SECONDS:
                break
            if now - pause > SLICE_SECONDS:
                await asyncio.sleep(0)
                pause = monotonic()
        self._bytes = sum(len(record.value or b"") for record in self._queue) if self._queue else 0
        deps.probe("stepped")
        changes = store.writer.collect(touched(store.windows, keys, first))
        end = await self._publisher.publish(outputs, changes, last + 1)
        store.end = store.end if end is None else end
        published = time()
        deps.metrics.events.inc(taken)
        deps.metrics.batches.observe(taken)
        deps.metrics.count(outputs)
        for timestamp in asked_at:
            deps.metrics.lag.observe(max(0.0, published - timestamp / 1000))

    def _decide(self, store: WindowStore, record: Fetched) -> list[Out]:
        deps = self._deps
        source = Record(deps.topic, self.partition, record.offset, record.key, record.value, record.headers)
        unkeyed = deps.engine.unkeyed_policies
        outs = deps.engine.process(store.windows, source)
        if deps.engine.unkeyed_policies > unkeyed:
            logger.warning("redaction_without_key", partition=self.partition, offset=record.offset)
        return outs
