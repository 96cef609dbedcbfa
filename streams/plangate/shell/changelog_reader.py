"""Windows put together again from their changelog. Pure; the protocol is in `changelog`."""

from array import array
from collections.abc import Callable, Iterator
from typing import NamedTuple

from plangate.core.policy import Policy
from plangate.core.window import Window
from plangate.shell.changelog import FORMAT, HEADER, SUFFIX, ChangelogError, Extents
from plangate.wire.state import apply_patch, check_version

Assemble = Callable[[list[bytes]], Window]
Check = Callable[[bytes], None]


class Recovered(NamedTuple):
    """One window as the changelog has it; None if no change of it is complete. `stale`: the keys it takes there."""

    window_id: str
    window: Window | None
    stale: Extents


class _Part:
    """One change as far as it was read."""

    __slots__ = ("chunks", "last_offset")

    def __init__(self, chunks: int, last_offset: int) -> None:
        self.chunks: list[bytes | None] = [None] * chunks
        self.last_offset = last_offset

    @property
    def complete(self) -> bool:
        return None not in self.chunks


class _Bank:
    """One bank of one epoch of one window."""

    __slots__ = ("counts", "parts", "serial")

    def __init__(self) -> None:
        self.serial = 0
        self.parts: dict[int, _Part] = {}
        self.counts = array("H")

    def saw(self, number: int, chunk: int) -> None:
        if number >= len(self.counts):
            self.counts.extend([0] * (number + 1 - len(self.counts)))
        self.counts[number] = max(self.counts[number], chunk + 1)

    def chain(self) -> Iterator[_Part]:
        """The snapshot and its deltas, as far as they are complete."""
        number = 0
        while (part := self.parts.get(number)) is not None and part.complete:
            yield part
            number += 1

    def end(self) -> int:
        """The input offset at which the chain ends; -1 without one."""
        return max((part.last_offset for part in self.chain()), default=-1)


class ChangelogReader:
    """Puts the windows of one partition together again from its records.

    `check` sees how each patch begins, also of those that are not needed any more, and raises for what another version
    wrote: where a newer one was at work, an older one has no say.
    """

    def __init__(self, assemble: Assemble, check: Check = check_version) -> None:
        self._assemble = assemble
        self._check = check
        self._windows: dict[bytes, dict[tuple[bytes, int], _Bank]] = {}

    def feed(self, key: bytes | None, value: bytes | None) -> None:
        """Take the next record of the log. Raises ChangelogError or StateError for what this version does not know."""
        if key is None or len(key) <= SUFFIX.size or key[-SUFFIX.size]:
            raise ChangelogError("a record of the changelog has no key of ours")
        epoch, bank_number, number, chunk = SUFFIX.unpack_from(key, len(key) - SUFFIX.size)
        banks = self._windows.setdefault(key[: -SUFFIX.size], {})
        bank = banks.get((epoch, bank_number))
        if bank is None:
            bank = banks[epoch, bank_number] = _Bank()
        bank.saw(number, chunk)
        if value is None:
            bank.parts.pop(number, None)
            return
        if not value or value[0] != FORMAT:
            raise ChangelogError("a record of the changelog has an unknown format: it was written by another version")
        if len(value) < HEADER.size:
            raise ChangelogError("a record of the changelog is cut off")
        _, serial, chunks, last_offset = HEADER.unpack_from(value)
        if chunk == 0:
            self._check(value[HEADER.size : HEADER.size + 10])
        if serial < bank.serial:
            return
        if serial > bank.serial:
            bank.serial = serial
            bank.parts.clear()
        part = bank.parts.get(number)
        if part is None:
            part = bank.parts[number] = _Part(chunks, last_offset)
        if chunk >= len(part.chunks) or part.last_offset != last_offset:
            raise ChangelogError("two records of the changelog contradict each other")
        part.chunks[chunk] = value[HEADER.size :]
        other = banks.get((epoch, 1 - bank_number))
        if number == 0 and part.complete and other is not None and other.serial < serial:
            # No delta follows on the snapshot before, so its chain can go; which keys it has is still needed. Chains of
            # other epochs stay: their owners may still be adding to them.
            other.parts.clear()

    def windows(self) -> Iterator[Recovered]:
        """Each window, once, at the end of the log. Raises ChangelogError, and whatever `assemble` raises."""
        while self._windows:
            key, banks = self._windows.popitem()
            best = max(banks.values(), key=_Bank.end)
            patches = [b"".join(chunk or b"" for chunk in part.chunks) for part in best.chain()]
            window = self._assemble(patches) if patches else None
            if window is not None and window.head.last_offset != best.end():
                raise ChangelogError("a window of the changelog is not at the offset that its records name")
            yield Recovered(_text(key), window, {name: bank.counts for name, bank in banks.items()})


def _text(key: bytes) -> str:
    try:
        return key.decode()
    except UnicodeDecodeError:
        raise ChangelogError("a record of the changelog has no key of ours") from None


def assemble_with(default: Policy) -> Assemble:
    """How patches become a window; `default` is the policy of windows that have none of their own."""

    def assemble(patches: list[bytes]) -> Window:
        window: Window | None = None
        for patch in patches:
            window = apply_patch(window, patch, default, rebuild=False)
        assert window is not None
        window.rebuild()
        return window

    return assemble
