"""One partition of a simulated topic: offsets, transactions with their markers, compaction, retention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

Headers = Sequence[tuple[str, bytes]]


class Place(NamedTuple):
    """Compares equal to aiokafka's TopicPartition."""

    topic: str
    partition: int


@dataclass(slots=True, eq=False)
class Txn:
    """One transaction: `committed` is None while it is open."""

    committed: bool | None = None


@dataclass(slots=True)
class Entry:
    """A record as it lies in the log. A control record has no key; `writer` is the process that sent it."""

    offset: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    txn: Txn | None = None
    control: bool = False
    writer: str = ""
    swept: bool = False  # a tombstone that one compaction has seen
    timestamp: int = 0

    @property
    def visible(self) -> bool:
        """To readers of committed records, below the last stable offset."""
        return not self.control and (self.txn is None or bool(self.txn.committed))


class Log:
    """Entries by offset, with gaps where compaction or retention took some; `end` is the offset of the next one."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.end = 0
        self.start = 0
        self.compacted = 0  # records that compaction took
        self._open: dict[int, int] = {}

    def append(self, entries: list[Entry]) -> int:
        """Gives them their offsets; the first of them is returned."""
        base = self.end
        for entry in entries:
            entry.offset = self.end
            self.end += 1
            if entry.txn is not None:
                self._open.setdefault(id(entry.txn), entry.offset)
        self.entries += entries
        return base

    def mark(self, txn: Txn) -> None:
        """Write the control record that ends a transaction here."""
        self.append([Entry(0, None, None, control=True)])
        self._open.pop(id(txn), None)

    @property
    def stable(self) -> int:
        """The last stable offset: readers of committed records see what is before it."""
        return min(self._open.values(), default=self.end)

    def read(self, start: int, count: int) -> tuple[list[Entry], int]:
        """Up to `count` committed records from an offset on, and the position after them."""
        stable, found, position = self.stable, [], start
        for entry in self.entries:
            if entry.offset < start:
                continue
            if entry.offset >= stable:
                break
            if entry.visible:
                if len(found) == count:
                    return found, position
                found.append(entry)
            position = entry.offset + 1
        return found, max(position, stable) if len(found) < count else position

    def visible(self) -> list[Entry]:
        """All committed records that are left."""
        return [entry for entry in self.entries if entry.visible and entry.offset < self.stable]

    def compact(self, upto: int) -> None:
        """Keep the newest committed record of each key before `upto`; a tombstone goes at the second visit."""
        upto = min(upto, self.stable)
        newest = {entry.key: entry.offset for entry in self.entries if entry.offset < upto and entry.visible}
        kept = []
        for entry in self.entries:
            if entry.offset < upto:
                if not entry.visible or newest[entry.key] != entry.offset or (entry.value is None and entry.swept):
                    self.compacted += entry.visible
                    continue
                entry.swept = entry.value is None
            kept.append(entry)
        self.entries = kept
