"""The partitions that this worker owns now: a task for each, between one assignment and the next revocation."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from time import monotonic

from plangate.shell.logs import logger
from plangate.shell.metrics import Metrics
from plangate.shell.publish import Publisher
from plangate.shell.store import WindowStore
from plangate.shell.task import Fetch, OutOfRange, PartitionTask

MakeTask = Callable[[int, WindowStore | None], tuple[PartitionTask, Publisher]]
CLOSE_SECONDS = 5.0


class PartitionTasks:
    """Starts tasks when partitions are assigned and ends them when they are revoked.

    `fail` is told of what the process should not survive. Windows of a partition that comes back with the next
    assignment are kept if nobody wrote to its changelog meanwhile (`Recovery.run` checks); those of all others are
    dropped.
    """

    def __init__(self, make: MakeTask, fail: Callable[[str, BaseException | None], None], metrics: Metrics) -> None:
        self._make = make
        self._fail = fail
        self._metrics = metrics
        self._running: dict[int, tuple[PartitionTask, Publisher, asyncio.Task[None]]] = {}
        self._kept: dict[int, WindowStore] = {}
        self._closed = False
        self._assigned = False
        self._since = monotonic()

    def assign(self, partitions: set[int]) -> None:
        """These partitions, and no others, are ours; every earlier one has been revoked."""
        if self._closed:
            return
        for partition in sorted(partitions):
            task, publisher = self._make(partition, self._kept.pop(partition, None))
            job = asyncio.create_task(task.run(), name=f"partition-{partition}")
            job.add_done_callback(self._ended)
            self._running[partition] = task, publisher, job
        for task in self.tasks:
            task.peers = self.tasks
        self._kept.clear()
        logger.info("partitions_assigned", partitions=sorted(partitions))
        self._metrics.rebalances.inc()
        self._assigned, self._since = True, monotonic()

    async def revoke(self, seconds: float) -> None:
        """None is ours any more. Waits, at most so many seconds, until all batches in flight are committed."""
        self._assigned, self._since = False, monotonic()
        running, self._running = self._running, {}
        logger.info("partitions_revoked", partitions=sorted(running))
        for task, _, job in running.values():
            in_batch = task.ready
            task.stop()
            if not in_batch:
                job.cancel()
        if running:
            _, late = await asyncio.wait([job for _, _, job in running.values()], timeout=seconds)
            if late:
                self._fail("a batch did not end in time for the rebalance", None)
        for partition, (task, publisher, _) in running.items():
            if task.store is not None:
                self._kept[partition] = task.store
            with suppress(Exception):  # an unreachable broker; nothing is in flight
                await asyncio.wait_for(publisher.stop(), CLOSE_SECONDS)

    async def close(self, seconds: float) -> None:
        """As revoke, for good."""
        self._closed = True
        await self.revoke(seconds)

    def _ended(self, job: asyncio.Task[None]) -> None:
        if not job.cancelled() and (error := job.exception()) is not None:
            self._fail("a partition can't go on", error)

    def wanted(self) -> list[int]:
        """The partitions to fetch from now."""
        return [partition for partition, (task, _, _) in self._running.items() if task.wants_records]

    def feed(self, fetch: Fetch | OutOfRange) -> None:
        """Hand a fetch to its task; without one it is dropped, and its records come to the next owner."""
        if fetch.partition in self._running:
            task = self._running[fetch.partition][0]
            task.feed(fetch) if isinstance(fetch, Fetch) else task.out_of_range(fetch)

    @property
    def tasks(self) -> list[PartitionTask]:
        """The tasks of now."""
        return [task for task, _, _ in self._running.values()]

    @property
    def ready(self) -> bool:
        """Assigned, and all partitions recovered; also with none at all: then others have them."""
        return self._assigned and all(task.ready for task in self.tasks)

    def stalled(self, limit: float) -> bool:
        """Whether something should have happened for `limit` seconds and did not."""
        if not self._assigned:
            return monotonic() - self._since > limit
        return bool(self.stuck(limit))

    def stuck(self, limit: float) -> list[int]:
        """The partitions where something should have happened for `limit` seconds and did not."""
        now = monotonic()
        # Those that wait for others go on as soon as these do.
        going = [task for task in self.tasks if not task.waits_for_peers]
        return [task.partition for task in going if now - task.last_progress > limit]

    def measure(self, limit: float) -> None:
        """Set the gauges; `limit` as for `stalled`."""
        tasks = self.tasks
        self._metrics.stalled.set(len(self.stuck(limit)))
        self._metrics.partitions.set(sum(task.ready for task in tasks))
        self._metrics.backlog.set(sum(task.backlog for task in tasks))
        self._metrics.windows.set(sum(len(task.store.windows) for task in tasks if task.store is not None))
