"""Two lists that must be the same, read side by side: what one topic says of answers, and the answers of another.

Memory grows with the answers: an answer may be given again at any later time, and must then be known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from .findings import Finding, Place, found


class _Entry(NamedTuple):
    number: int
    digest: str
    place: Place


class Pairing:
    """``said`` and ``given`` by window and decision_id, each in the order of its topic."""

    def __init__(self, name: str, said_topic: str, given_topic: str, *, allow_repeats: bool) -> None:
        self.name, self.said_topic, self.given_topic, self.allow_repeats = name, said_topic, given_topic, allow_repeats
        self._said: dict[tuple[str, str], _Entry] = {}
        self._given: dict[tuple[str, str], _Entry] = {}
        self._counts: dict[tuple[str, str], int] = defaultdict(int)
        self._newest: dict[str, tuple[int, int]] = {}
        self.repeats = 0

    def say(self, window_id: str, decision_id: str, digest: str, place: Place) -> Iterator[Finding]:
        """There must be an answer of this digest. Said again, it is the chain's business."""
        if (window_id, decision_id) not in self._said:
            entry = _Entry(self._count("said", window_id), digest, place)
            self._said[window_id, decision_id] = entry
            yield from self._matched(window_id, decision_id)

    def give(
        self, window_id: str, decision_id: str, digest: str, place: Place, repeat: bool | None
    ) -> Iterator[Finding]:
        """An answer. ``repeat``: whether its header says that it was given before; None: not known."""
        key = (window_id, decision_id)
        first = self._given.get(key)
        if first is None:
            self._given[key] = _Entry(self._count("given", window_id), digest, place)
            yield from self._matched(window_id, decision_id)
        elif first.digest != digest:
            yield self._finding("changed", key, place, first.digest, digest)
        elif repeat is False and not self.allow_repeats:
            yield self._finding("repeated", key, place, None, digest)
        else:
            self.repeats += 1

    def end(self) -> Iterator[Finding]:
        for key, entry in self._said.items():
            if key not in self._given:
                yield self._finding("missing", key, entry.place, entry.digest, None)
        for key, entry in self._given.items():
            if key not in self._said:
                yield self._finding("unlinked", key, entry.place, None, entry.digest)

    def _count(self, side: str, window_id: str) -> int:
        self._counts[side, window_id] += 1
        return self._counts[side, window_id]

    def _matched(self, window_id: str, decision_id: str) -> Iterator[Finding]:
        """Once both are there: the same bytes, and both later than the pair before."""
        key = (window_id, decision_id)
        said, given = self._said.get(key), self._given.get(key)
        if said is None or given is None:
            return
        if said.digest != given.digest:
            yield self._finding("changed", key, given.place, said.digest, given.digest)
        before = self._newest.get(window_id, (0, 0))
        if said.number < before[0] or given.number < before[1]:
            yield self._finding("out_of_order", key, given.place, None, given.digest)
        self._newest[window_id] = (max(said.number, before[0]), max(given.number, before[1]))

    def _finding(
        self, fault: str, key: tuple[str, str], place: Place, expected: str | None, digest: str | None
    ) -> Finding:
        topic = self.said_topic if fault == "missing" else self.given_topic
        window_id, decision_id = key
        return found(
            f"{self.name}_{fault}", topic, place, window_id=window_id, decision_id=decision_id, expected=expected,
            found=digest,
        )  # fmt: skip
