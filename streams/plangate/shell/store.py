"""The windows of one input partition: live objects in memory, read back from the changelog at a take-over."""

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Protocol

from aiokafka import TopicPartition

from plangate.core.window import Window
from plangate.shell.changelog import EPOCH_BYTES, ChangelogWriter, Extents
from plangate.shell.changelog_reader import Assemble, ChangelogReader

# How long building windows may hold the event loop; health answers and other partitions go on in between.
SLICE_SECONDS = 0.02


@dataclass(slots=True)
class WindowStore:
    """Windows by id and what writes their changes. `end` is the changelog's end as this store knows it.

    `resume_after`: the largest input offset that any window had seen at the take-over; what comes after is no repeat.
    """

    windows: dict[str, Window]
    writer: ChangelogWriter
    end: int
    resume_after: int = -1


class LogConsumer(Protocol):
    """What is used of an AIOKafkaConsumer without a group, reading only what is committed; fakes have the same."""

    async def start(self) -> None: ...
    async def stop(self) -> None: ...
    def assign(self, partitions: Sequence[TopicPartition]) -> None: ...
    async def seek_to_beginning(self, *partitions: TopicPartition) -> Any: ...
    async def beginning_offsets(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]: ...
    async def end_offsets(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]: ...
    async def position(self, partition: TopicPartition) -> int: ...
    async def getmany(self, *partitions: TopicPartition, timeout_ms: int = 0) -> Mapping[TopicPartition, list[Any]]: ...


@dataclass(slots=True)
class Recovery:
    """Reads one partition's changelog. `progress` is called as records arrive, for the liveness probe.

    After `run`, `bounds` are the first offset kept of the input partition and the one behind its last record.
    """

    consumer: LogConsumer
    changelog: TopicPartition
    source: TopicPartition
    assemble: Assemble
    progress: Callable[[], None] = lambda: None
    new_epoch: Callable[[], bytes] = lambda: os.urandom(EPOCH_BYTES)
    records: int = field(default=0, init=False)
    bounds: tuple[int, int] = field(default=(0, 0), init=False)

    async def run(self, known: WindowStore | None = None) -> WindowStore:
        """The partition's windows. `known` is taken as it is if nobody wrote to the changelog since.

        Raises ChangelogError or StateError if the log can't be understood; nothing is written then.
        """
        await self.consumer.start()
        try:
            end = (await self.consumer.end_offsets([self.changelog]))[self.changelog]
            first = (await self.consumer.beginning_offsets([self.source]))[self.source]
            self.bounds = first, (await self.consumer.end_offsets([self.source]))[self.source]
            if known is not None and known.end == end:
                known.resume_after = _last_offset(known.windows)
                return known
            reader = await self._read(end)
        finally:
            await self.consumer.stop()
        windows: dict[str, Window] = {}
        stale: dict[str, Extents] = {}
        pause = monotonic() + SLICE_SECONDS
        for window_id, window, extents in reader.windows():
            stale[window_id] = extents
            if window is not None:
                windows[window_id] = window
            if monotonic() > pause:
                self.progress()
                await asyncio.sleep(0)
                pause = monotonic() + SLICE_SECONDS
        writer = ChangelogWriter(self.new_epoch(), stale)
        return WindowStore(windows, writer, end, _last_offset(windows))

    async def _read(self, end: int) -> ChangelogReader:
        consumer, place, reader = self.consumer, self.changelog, ChangelogReader(self.assemble)
        consumer.assign([place])
        await consumer.seek_to_beginning(place)
        # The position, not the last record, tells the end: a commit marker takes an offset and is never delivered.
        while await consumer.position(place) < end:
            for records in (await consumer.getmany(place, timeout_ms=500)).values():
                for record in records:
                    reader.feed(record.key, record.value)
                self.records += len(records)
                self.progress()
            await asyncio.sleep(0)
        return reader


def _last_offset(windows: Mapping[str, Window]) -> int:
    return max((window.head.last_offset for window in windows.values()), default=-1)


def touched(windows: Mapping[str, Window], keys: Iterable[bytes | None], since: int) -> list[tuple[str, Window]]:
    """The windows that records with these keys changed: those whose last offset is at or after `since`."""
    found = []
    for key in keys:
        window = window_of(windows, key)
        if window is not None and window.head.last_offset >= since:
            found.append((window_id(key), window))
    return found


def window_of(windows: Mapping[str, Window], key: bytes | None) -> Window | None:
    """The window that a record's key names, if there is one; a key that is no text names none."""
    return windows.get(window_id(key))


def window_id(key: bytes | None) -> str:
    """A key as text; empty, which is no window's id, where it is none."""
    try:
        return key.decode() if key else ""
    except UnicodeDecodeError:
        return ""
