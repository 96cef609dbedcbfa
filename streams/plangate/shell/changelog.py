"""How the windows of one input partition are kept in a log-compacted topic, and read back. Pure: bytes in, bytes out.

This file is the protocol and its writer; `changelog_reader` puts windows together again.

Contract section 7 holds here too: a patch (`plangate.wire.state`) has ids, sizes and edges, never content.

**Changes.** Each batch writes one *change* for each window it touched: a *snapshot* (the whole state) or a *delta* on
top of the change before it. A change bigger than `CHUNK_BYTES` becomes several records (*chunks*).

**Keys.** Compaction keeps the newest record of a key, so what must outlive the next change needs a key of its own:

    window_id (UTF-8)  00  epoch (8 bytes)  bank (1)  number (4)  chunk (2)

- `epoch`: random, one for each time that a worker takes over the partition. A worker that was replaced without noticing
  (paused, cut off) can write only under its own epoch: it adds a chain that ends earlier, and overwrites nothing.
- `bank`: 0 or 1. Snapshots of an epoch alternate between the banks, so that the one before stays whole until the next
  one is.
- `number`: 0 is the snapshot, n the n-th delta after it. A bank's keys are used again by its next snapshot.

**Values.** Format version (1 byte), serial of the snapshot (4), number of chunks (2), last input offset the change
contains (8), then the chunk's part of the patch. The serial tells the deltas of this snapshot from those that an
earlier one left in the bank.

**Writing.** A window's first change in an epoch is a snapshot. A new one is due when the deltas since the last one
cost as many bytes as it did (each counted `DELTA_OVERHEAD` more, so that small windows are not kept in thousands of
records). What earlier epochs left of a window is deleted by tombstones, but only in a batch after the one with its
first snapshot here: by then that snapshot is acknowledged or committed.

**Reading.** Records in log order, some of them compacted away, doubled, or cut off at the end. A *chain* is a bank's
complete snapshot and the complete deltas 1, 2, ... with its serial. Of all chains of a window the one that ends at
the largest input offset is its state; among equals any, since equal inputs give equal states. Atomic changes are not
needed: a change that is not complete ends its chain before it, and the offsets of that batch are not committed yet.
"""

import struct
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from plangate.core.window import Window
from plangate.wire.state import take_patch

CHUNK_BYTES = 900_000
DELTA_OVERHEAD = 256
SMALL_SNAPSHOT = 65_536
TOMBSTONES_PER_BATCH = 5_000
FORMAT = 1
EPOCH_BYTES = 8

SUFFIX = struct.Struct(">x8sBIH")
HEADER = struct.Struct(">BIHq")

# Per (epoch, bank): how many chunks of each number were seen.
Extents = dict[tuple[bytes, int], array]
Take = Callable[[Window, bool], bytes]


class ChangelogError(Exception):
    """The changelog holds what this version can't have written: deciding on it would be a guess. Names no input."""


class Change(NamedTuple):
    """One record of the changelog; without a value a tombstone."""

    key: bytes
    value: bytes | None


class _Chain:
    """What the writer remembers of a window: the snapshot it is on and what the deltas since then cost."""

    __slots__ = ("deltas_cost", "number", "serial", "snapshot_bytes")

    def __init__(self) -> None:
        self.serial = self.number = self.snapshot_bytes = self.deltas_cost = 0


class ChangelogWriter:
    """Turns changed windows into records. One for each epoch: 8 bytes that no other owner of the partition used."""

    def __init__(
        self,
        epoch: bytes,
        stale: Mapping[str, Extents] | None = None,
        take: Take = take_patch,
        chunk_bytes: int = CHUNK_BYTES,
    ) -> None:
        if len(epoch) != EPOCH_BYTES:
            raise ValueError("an epoch has 8 bytes")
        self._epoch = epoch
        self._stale = dict(stale or {})
        self._take = take
        self._chunk_bytes = chunk_bytes
        self._chains: dict[str, _Chain] = {}
        self._tombstones: deque[Iterator[Change]] = deque()

    def collect(self, touched: Iterable[tuple[str, Window]]) -> list[Change]:
        """The records of one batch: tombstones that became due, then a change for each (window id, window) touched."""
        records = list(self._due_tombstones())
        for window_id, window in touched:
            records += self._change(window_id, window)
        return records

    def _due_tombstones(self) -> Iterator[Change]:
        room = TOMBSTONES_PER_BATCH
        while self._tombstones and room:
            some = list(islice(self._tombstones[0], room))
            room -= len(some)
            yield from some
            if room:
                self._tombstones.popleft()

    def _change(self, window_id: str, window: Window) -> Iterator[Change]:
        chain = self._chains.get(window_id)
        due = chain is None or chain.deltas_cost >= max(chain.snapshot_bytes, SMALL_SNAPSHOT)
        if chain is None:
            chain = self._chains[window_id] = _Chain()
            if extents := self._stale.pop(window_id, None):
                self._tombstones.append(_tombstones(window_id, extents))
        patch = self._take(window, due)
        if due:
            chain.serial, chain.number, chain.snapshot_bytes, chain.deltas_cost = chain.serial + 1, 0, len(patch), 0
        else:
            chain.number += 1
            chain.deltas_cost += len(patch) + DELTA_OVERHEAD
        prefix = window_id.encode()
        chunks = max(1, -(-len(patch) // self._chunk_bytes))
        header = HEADER.pack(FORMAT, chain.serial, chunks, window.head.last_offset)
        for chunk in range(chunks):
            key = prefix + SUFFIX.pack(self._epoch, chain.serial % 2, chain.number, chunk)
            yield Change(key, header + patch[chunk * self._chunk_bytes : (chunk + 1) * self._chunk_bytes])


def _tombstones(window_id: str, extents: Extents) -> Iterator[Change]:
    prefix = window_id.encode()
    for (epoch, bank), counts in extents.items():
        for number, chunks in enumerate(counts):
            for chunk in range(chunks):
                yield Change(prefix + SUFFIX.pack(epoch, bank, number, chunk), None)
