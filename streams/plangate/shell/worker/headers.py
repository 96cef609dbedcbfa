"""Header names that are no UTF-8: a broker takes them, and aiokafka's decoder raises on them, on every fetch anew.

One such record, which any producer can write, would end every worker that fetches it. So batches are read by the quick
decoder as far as it gets, and from there by aiokafka's other one, with such names made readable. They are then no name
that means anything here, and are dropped like any other.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from aiokafka.consumer import fetcher
from aiokafka.errors import CorruptRecordException
from aiokafka.record.default_records import DefaultRecordBatch, _DefaultRecordBatchPy
from aiokafka.record.memory_records import _MemoryRecordsPy


class _Lenient(bytearray):
    """Bytes whose slices decode whatever they hold."""

    def __getitem__(self, at: Any) -> Any:
        found = super().__getitem__(at)
        return _Lenient(found) if isinstance(at, slice) else found

    def decode(self, *_: Any) -> str:
        return super().decode("utf-8", "replace")


class _SlowBatch(_DefaultRecordBatchPy):
    def _maybe_uncompress(self) -> None:
        super()._maybe_uncompress()
        if not isinstance(self._buffer, _Lenient):
            self._buffer = _Lenient(self._buffer)


class Batch:
    """A record batch as aiokafka's fetcher uses it."""

    def __init__(self, raw: memoryview) -> None:
        self._raw = raw
        self._quick = DefaultRecordBatch(raw)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._quick, name)

    def __next__(self) -> Any:
        """The first record of a control batch, which is nobody's input."""
        return next(self._quick)

    def __iter__(self) -> Iterator[Any]:
        read = 0
        try:
            for record in self._quick:
                read += 1
                yield record
        except (UnicodeDecodeError, CorruptRecordException):  # the second where aiokafka has no compiled decoder
            yield from islice(_SlowBatch(self._raw), read, None)


class Records(_MemoryRecordsPy):
    """The batches of a fetch. A broker that speaks to this client has stored nothing older than them (Kafka 4)."""

    def next_batch(self, *_: Any) -> Any:
        raw = self._next_slice
        if raw is None or len(raw) < self.MIN_SLICE or raw[self.MAGIC_OFFSET] < 2:
            return super().next_batch()
        self._cache_next()
        return Batch(raw)


def accept_any_header_name() -> None:
    """Let every consumer of this process read through :class:`Records`."""
    fetcher.MemoryRecords = Records  # type: ignore[attr-defined]
