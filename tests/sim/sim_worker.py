"""One worker process on the simulated bus: the real tasks, publishers, stores and recovery; only Faust is played.

`play` is what Faust and its consumer do for the product (`plangate.shell.worker`): membership, heartbeats, whole
fetches, and the two rebalance callbacks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from aiokafka import TopicPartition
from aiokafka.errors import KafkaError
from sim_broker import CHANGELOG, GROUP, INPUT, Broker
from sim_clients import MOVED_ON, Network, SimLogConsumer, SimProducer, SimSource
from sim_group import REBALANCE_SECONDS
from sim_loop import Killed, Process

from plangate.shell.changelog_reader import assemble_with
from plangate.shell.logs import logger
from plangate.shell.metrics import Metrics
from plangate.shell.publish import AcknowledgedPublisher, Names, Publisher, TransactionalPublisher
from plangate.shell.store import Recovery, WindowStore
from plangate.shell.task import Deps, Fetch, PartitionTask
from plangate.shell.tasks import PartitionTasks
from plangate.wire.engine import Engine

HEARTBEAT_SECONDS, IDLE_SECONDS = 0.04, 0.012
METRICS = Metrics()  # expensive to make, and nothing here is decided by it


class WatchedRecovery(Recovery):
    """Tells what it recovered, and lets small changes become several records."""

    chunk_bytes = 900_000
    watch: Callable[[int, WindowStore, bool, Recovery], None]

    async def run(self, known: WindowStore | None = None) -> WindowStore:
        store = await super().run(known)
        store.writer._chunk_bytes = self.chunk_bytes
        self.watch(self.source.partition, store, store is known, self)
        return store


@dataclass
class Terms:
    """What a worker gets from the world it runs in."""

    broker: Broker
    engine: Engine
    guarantee: str
    batch_size: int
    batch_bytes: int
    chunk_bytes: int
    new_epoch: Callable[[], bytes]
    watch: Callable[[Process, int, WindowStore, bool, Recovery], None]
    probe: Callable[[Process, str], None]
    ended: Callable[[Process, str], None]


class Worker:
    """`process` is who it is; `leave` ends it as SIGTERM does."""

    def __init__(self, process: Process, network: Network, terms: Terms) -> None:
        self.process, self.network, self.terms = process, network, terms
        self.source = SimSource(terms.broker, network)
        self.tasks = PartitionTasks(self._make, self._fail, METRICS)
        self.moved = asyncio.Event()
        self.told = False
        self._lives = 0
        self._reused: set[int] = set()

    async def play(self) -> None:
        """Never returns; the process ends."""
        loop = asyncio.get_running_loop()
        loop.create_task(self._fetching())
        loop.create_task(self._beating())
        while not self.told:
            self._lives += 1
            self.source.member = self.source.member or f"{self.process.name}/{self._lives}"
            await self.source.join()
            self.moved.clear()
            self.tasks.assign(set(self.source.assigned))
            await self.moved.wait()
            if not self.told:
                await self.tasks.revoke(REBALANCE_SECONDS * 0.9)
            self.source.assigned = set()
            self.source.next_offsets.clear()
        await self.tasks.close(REBALANCE_SECONDS * 0.9)
        self.terms.broker.group.leave(self.source.member)
        self._end("told to stop")

    def reused(self, partition: int) -> bool:
        """Whether this partition's windows were kept from the assignment before, if they are still the newest."""
        return partition in self._reused

    def leave(self) -> None:
        self.told = True
        self.moved.set()

    async def _beating(self) -> None:
        source, group = self.source, self.terms.broker.group
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            if source.generation < 0 or self.moved.is_set():
                continue
            member, generation = source.member, source.generation
            try:
                await self.network.request("heartbeat", lambda: group.heartbeat(member, generation))  # noqa: B023
            except MOVED_ON as error:
                if member == source.member and generation == source.generation:
                    if type(error).__name__ == "UnknownMemberIdError":
                        source.member = ""
                    self.moved.set()
            except KafkaError:
                continue

    async def _fetching(self) -> None:
        loop, faults = asyncio.get_running_loop(), self.network.faults
        due = loop.time()
        while True:
            found = False
            for partition in self.tasks.wanted():
                fetch: Fetch | None = await self.source.fetch(partition)
                if fetch is not None:
                    found = True
                    due = max(due, loop.time() + faults.delay())
                    loop.call_at(due, self.tasks.feed, fetch)
            if not found:
                await asyncio.sleep(IDLE_SECONDS)

    def _make(self, partition: int, known: WindowStore | None) -> tuple[PartitionTask, Publisher]:
        terms, network = self.terms, self.network
        names = Names(INPUT, CHANGELOG, GROUP, "", partition)
        probe = lambda step: terms.probe(self.process, step)  # noqa: E731
        publisher: Publisher
        if terms.guarantee == "transactions":
            producer = SimProducer(terms.broker, network, f"{GROUP}-{partition}", terms.batch_bytes)
            publisher = TransactionalPublisher(producer, names, probe)
        else:
            producer = SimProducer(terms.broker, network, None, terms.batch_bytes)
            producer.member = lambda member=self.source.member: member
            publisher = AcknowledgedPublisher(producer, names, self.source.commit_offset, probe)
        recovery = WatchedRecovery(
            SimLogConsumer(terms.broker, network),
            TopicPartition(CHANGELOG, partition),
            TopicPartition(INPUT, partition),
            assemble_with(terms.engine.policy),
            new_epoch=terms.new_epoch,
        )
        (self._reused.discard if known is None else self._reused.add)(partition)
        recovery.chunk_bytes = terms.chunk_bytes
        recovery.watch = lambda *what: terms.watch(self.process, *what)
        deps = Deps(terms.engine, self.source, METRICS, INPUT, terms.batch_size, probe)
        return PartitionTask(partition, deps, publisher, recovery, known), publisher

    def _fail(self, reason: str, error: BaseException | None = None) -> NoReturn:
        logger.critical("stopped", reason=reason, exc_info=error)
        self._end(f"{reason}: {type(error).__name__}" if error else reason)

    def _end(self, reason: str) -> NoReturn:
        self.process.dead = True
        self.terms.ended(self.process, reason)
        raise Killed
