"""The records that the inputs give, against those that are there: same bytes, same order, window by window.

Keeps one digest for each expected record.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from hashlib import sha256

from ...core.policy import Policy
from ..encode import Out
from ..replay import replay
from .findings import Finding, Seen, found


class _Sequence:
    """What one topic must hold of one window. The first ``required`` must be there; later ones may still come."""

    __slots__ = ("digests", "next", "places", "required")

    def __init__(self) -> None:
        self.digests: list[bytes] = []
        self.required = 0
        self.next = 0
        self.places: dict[bytes, list[int]] | None = None

    def find(self, digest: bytes) -> list[int]:
        if self.places is None:  # only where something is wrong
            self.places = {}
            for place, known in enumerate(self.digests):
                self.places.setdefault(known, []).append(place)
        return self.places.get(digest, [])


class Recomputed:
    """Filled with :meth:`add`, then compared with :meth:`take`, then :meth:`end`."""

    def __init__(self, topics: Iterable[str], *, allow_repeats: bool = False) -> None:
        self._topics, self.allow_repeats = frozenset(topics), allow_repeats
        self._sequences: dict[tuple[str, bytes], _Sequence] = {}
        self.undecided = 0

    def add_lines(self, lines: Iterable[bytes], policy: Policy) -> None:
        """What ``plangate replay`` prints for these lines."""
        for out in replay(lines, policy):
            self.add(out)

    def add(self, out: Out, *, required: bool = True) -> None:
        """A record that an input gives. Not ``required``: the input may not be decided yet."""
        if out.topic in self._topics:
            sequence = self._sequences.setdefault((out.topic, out.key), _Sequence())
            sequence.digests.append(sha256(out.value).digest())
            sequence.required += required

    def take(self, seen: Seen) -> Iterator[Finding]:
        if seen.topic not in self._topics:
            return
        sequence = self._sequences.get((seen.topic, seen.key or b"")) or _Sequence()
        digest, wanted = sha256(seen.value or b"").digest(), sequence.next
        if wanted < len(sequence.digests) and sequence.digests[wanted] == digest:
            sequence.next += 1
            return
        places = sequence.find(digest)
        if places and places[0] < wanted:
            if not self.allow_repeats:
                yield self._finding("not_given_again", seen, None, digest)
        elif places:
            place = places[bisect_left(places, wanted)]
            for skipped in sequence.digests[wanted:place]:
                yield self._finding("not_there", seen, skipped, None)
            sequence.next = place + 1
        else:
            expected = sequence.digests[wanted] if wanted < len(sequence.digests) else None
            yield self._finding("not_given", seen, expected, digest)

    def end(self) -> Iterator[Finding]:
        for (topic, key), sequence in self._sequences.items():
            for digest in sequence.digests[sequence.next : sequence.required]:
                yield found("not_there", topic, window_id=_text(key), expected=digest.hex())

    def _finding(self, kind: str, seen: Seen, expected: bytes | None, digest: bytes | None) -> Finding:
        return found(
            kind, seen.topic, seen.place, window_id=_text(seen.key or b""), expected=expected and expected.hex(),
            found=digest and digest.hex(),
        )  # fmt: skip


def _text(key: bytes) -> str:
    """A record's key as an id; empty, which is none, where it is no text."""
    try:
        return key.decode()
    except UnicodeDecodeError:
        return ""
