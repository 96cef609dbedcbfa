"""Clients of the simulated broker at the shell's ports. Every request is a message each way, and may meet a fault."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from aiokafka.errors import (
    IllegalGenerationError,
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    RebalanceInProgressError,
    UnknownMemberIdError,
)
from sim_broker import AGAIN, CHANGELOG, INPUT, Broker
from sim_faults import Faults
from sim_log import Entry, Place
from sim_loop import NOBODY, Loop

from plangate.shell.task import Fetch, NotAssigned

LOST = object()
TIMEOUT = 0.03
MOVED_ON = (IllegalGenerationError, RebalanceInProgressError, UnknownMemberIdError)


class Network:
    """Between one process and the broker. What was sent arrives, and is done, also if the sender is dead by then."""

    def __init__(self, loop: Loop, faults: Faults, name: str) -> None:
        self.loop, self.faults, self.name = loop, faults, name
        self.on_request: Callable[[str], None] = lambda what: None

    async def request(self, what: str, work: Callable[[], Any], tries: int = 8) -> Any:
        """The broker's answer to `work`, tried again where it is lost or says AGAIN. Raises KafkaError."""
        faults = self.faults
        if what not in ("heartbeat", "fetch"):
            self.on_request(what)
        for _ in range(tries):
            fate = faults.fate(what, self.name)
            if fate == "refused":
                raise KafkaConnectionError
            answer = self.loop.create_future()
            self._send(work, answer, fate)
            said = await answer
            if isinstance(said, KafkaError):
                raise said
            if said is LOST and not faults.retries(what):
                faults.note(f"gave up after a lost answer: {what}")
                raise KafkaTimeoutError
            if said is not AGAIN and said is not LOST:
                return said
            await asyncio.sleep(0.002)
        raise KafkaTimeoutError

    def _send(self, work: Callable[[], Any], answer: asyncio.Future[Any], fate: str) -> None:
        loop, faults = self.loop, self.faults

        def settle(said: Any) -> None:
            if not answer.done():
                answer.set_result(said)

        def arrive() -> None:
            try:
                said = work()
            except KafkaError as error:
                said = error
            if fate != "answer lost":
                loop.after(faults.delay(), settle, said)

        if fate != "request lost":
            loop.after(faults.delay(20 if fate == "slow" else 1), arrive)
        if fate == "doubled":
            loop.after(faults.delay(3), arrive)
        if fate in ("answer lost", "request lost"):
            loop.after(TIMEOUT, settle, LOST)


class Batch:
    """Records that are sent together."""

    def __init__(self, limit: int, writer: str) -> None:
        self.entries: list[Entry] = []
        self._room, self._writer = limit, writer

    def append(self, *, timestamp: int, key: bytes, value: bytes | None, headers: Any) -> object | None:
        size = len(key) + len(value or b"")
        if self.entries and size > self._room:
            return None
        self._room -= size
        self.entries.append(Entry(0, key, value, headers, writer=self._writer, timestamp=timestamp))
        return self

    def close(self) -> None: ...

    def record_count(self) -> int:
        return len(self.entries)

    def copies(self) -> list[Entry]:
        return [Entry(0, e.key, e.value, e.headers, writer=e.writer, timestamp=e.timestamp) for e in self.entries]


class SimProducer:
    """With a transactional id as aiokafka's: what was sent once is in the log once. Without: once for each try."""

    def __init__(self, broker: Broker, network: Network, transactional_id: str | None, batch_bytes: int) -> None:
        self._broker, self._network, self._id, self._batch_bytes = broker, network, transactional_id, batch_bytes
        self._epoch = -1
        self.member: Callable[[], str] = lambda: ""
        self._last: dict[Place, asyncio.Future[Any]] = {}

    async def start(self) -> None:
        if self._id is not None:
            work = lambda: self._broker.init(self._id or "", self._network.name)  # noqa: E731
            self._epoch = await self._network.request("start of the producer", work, 200)

    async def stop(self) -> None: ...

    def create_batch(self) -> Batch:
        return Batch(self._batch_bytes, self._network.name)

    async def partitions_for(self, topic: str) -> Iterable[int]:
        return (0,)

    async def send_batch(self, batch: Batch, topic: str, *, partition: int) -> asyncio.Future[Any]:
        place = Place(topic, partition)
        sent = asyncio.ensure_future(self._send(batch, place, self._last.get(place)))
        self._last[place] = sent
        return sent

    async def _send(self, batch: Batch, place: Place, before: asyncio.Future[Any] | None) -> Any:
        if before is not None and not before.done():
            await asyncio.wait([before])
        broker, done = self._broker, []

        def produce() -> Any:
            if self._id is None:
                if done:
                    broker.note("broker: record doubled by a retry")
                if self._fenced_elsewhere():
                    broker.note("zombie wrote without being fenced")
                done.append(broker.produce(place, batch.copies()))
                return done[0]
            if not done:  # the broker knows the numbers of records that it has
                said = broker.produce_in_txn(self._id, self._epoch, place, batch.entries)
                if said is AGAIN:
                    return AGAIN
                done.append(said)
            return done[0]

        what = "changes" if place.topic == CHANGELOG else "outputs"
        return SimpleNamespace(offset=await self._network.request(what, produce))

    def _fenced_elsewhere(self) -> bool:
        """Whether a broker with transactions would have refused this."""
        return self.member() not in self._broker.group.members

    async def begin_transaction(self) -> None: ...

    async def send_offsets_to_transaction(self, offsets: Mapping[Any, int], group_id: str) -> None:
        [(place, offset)] = offsets.items()
        work = lambda: self._broker.offsets_in_txn(self._id or "", self._epoch, place.partition, offset)  # noqa: E731
        await self._network.request("offsets", work)

    async def commit_transaction(self) -> None:
        await self._network.request("commit", lambda: self._broker.end(self._id or "", self._epoch, True))


class SimLogConsumer:
    """Reads a changelog as an AIOKafkaConsumer without a group does."""

    def __init__(self, broker: Broker, network: Network) -> None:
        self._broker, self._network = broker, network
        self._position: dict[Any, int] = {}

    async def start(self) -> None:
        await self._network.request("start of the recovery", lambda: None)

    async def stop(self) -> None: ...

    def assign(self, partitions: Sequence[Any]) -> None: ...

    async def seek_to_beginning(self, *partitions: Any) -> None:
        self._position.update(dict.fromkeys(partitions, 0))

    async def beginning_offsets(self, partitions: Sequence[Any]) -> dict[Any, int]:
        logs = self._broker.logs
        return await self._network.request("first offset", lambda: {p: logs[p].start for p in partitions})

    async def end_offsets(self, partitions: Sequence[Any]) -> dict[Any, int]:
        logs = self._broker.logs
        return await self._network.request("end offset", lambda: {p: logs[p].stable for p in partitions})

    async def position(self, partition: Any) -> int:
        return self._position[partition]

    async def getmany(self, *partitions: Any, timeout_ms: int = 0) -> dict[Any, list[Entry]]:
        [place] = partitions
        count = self._network.faults.fetch_count("changelog")
        log, start = self._broker.logs[place], self._position[place]
        records, position = await self._network.request("changelog fetch", lambda: log.read(start, count))
        self._position[place] = position
        return {place: records} if records else {}


class SimSource:
    """The group's consumer of one process. `member` is None while it is not in the group."""

    def __init__(self, broker: Broker, network: Network) -> None:
        self._broker, self._network = broker, network
        self.member = ""
        self.generation = -1
        self.assigned: set[int] = set()
        self.told: dict[int, int | None] = {}  # the last committed offset that it was told, by partition
        self.next_offsets: dict[int, int] = {}

    async def committed(self, partition: int) -> int | None:
        offsets = self._broker.offsets
        self.told[partition] = await self._network.request("committed offset", lambda: offsets.get(partition))
        return self.told[partition]

    async def seek(self, partition: int, offset: int) -> None:
        if self.next_offsets.get(partition, -1) > offset:
            self._broker.note("seek back after a dropped fetch")
        await asyncio.sleep(self._network.faults.delay())
        if partition not in self.assigned:
            raise NotAssigned
        self.next_offsets[partition] = offset

    async def commit_offset(self, partition: int, offset: int) -> None:
        def commit() -> None:
            self._broker.group.commit(self.member, self.generation)
            self._broker.offsets[partition] = offset

        try:
            await self._network.request("offset", commit)
        except MOVED_ON:
            self._broker.note("offset refused: the group moved on")
            raise NotAssigned from None

    async def fetch(self, partition: int) -> Fetch | None:
        """What the consumer's thread hands over; None if there was nothing, or it was for an old position."""
        faults = self._network.faults
        start = self.next_offsets.get(partition)
        if start is None:
            return None
        log, count = self._broker.logs[Place(INPUT, partition)], faults.fetch_count("input")
        records, position = await self._network.request("fetch", lambda: log.read(start, count))
        if not records or self.next_offsets.get(partition) != start:
            return None
        self.next_offsets[partition] = position
        if any(entry.visible and entry.offset >= position for entry in log.entries) and faults.drops_fetch():
            return None
        return Fetch(partition, start, position, records)

    async def join(self) -> None:
        answer: asyncio.Future[Any] = self._network.loop.create_future()
        group, member = self._broker.group, self.member
        self._network.loop.call_later(self._network.faults.delay(), group.join, member, answer, context=NOBODY)
        self.generation, self.assigned = await answer
