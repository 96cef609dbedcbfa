"""One window's chain: each link names the hash of the link before it (contract section 1, ``audit-log``).

A link that does not continue the chain is a finding and moves nothing; only if the next one continues it does the
chain go on from there. So one fault gives one finding or two, not one for every link after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import NamedTuple

import msgspec
from msgspec import Struct

from ...core.events import INTEGER_BOUND
from ...core.records import CONTRACT_VERSION, AuditRecord, canonical
from .findings import UNREADABLE, is_decision_id, is_hash, is_id

_LINKS = msgspec.json.Decoder(AuditRecord)
KINDS = frozenset({"decision", "authority", "host_rewrite"})


class Fault(NamedTuple):
    kind: str
    expected: str | None = None
    found: str | None = None


class Next(NamedTuple):
    """What would continue a chain: this number, on one of these hashes (two where the last link's own is wrong)."""

    number: int
    hashes: tuple[str, ...]


def read_link(value: bytes | None) -> AuditRecord | str:
    """An audit record in its one byte form, or the kind of finding it is. Total over any bytes."""
    try:
        link = _LINKS.decode(value or b"")
        exact = canonical(link) == value
    except UNREADABLE:
        return "malformed"
    if link.contract_version != CONTRACT_VERSION:
        return "unknown_version"
    decided = is_decision_id(link.decision_id) if link.kind == "decision" else link.decision_id is None
    lawful = exact and decided and link.kind in KINDS and is_id(link.window_id) and 0 <= link.number <= INTEGER_BOUND
    lawful = lawful and is_hash(link.hash) and is_hash(link.digest)
    return link if lawful and (link.previous_hash == "" or is_hash(link.previous_hash)) else "malformed"


def own_hash(link: AuditRecord) -> str:
    """The hash that a link must bear: SHA-256 of its bytes with ``hash`` empty."""
    return sha256(canonical(msgspec.structs.replace(link, hash=""))).hexdigest()


class Chain(Struct):
    """A window's chain as far as it was read: its head only, unless ``history`` is kept to tell repeats apart.

    ``saved``: hashes that links of these numbers must have, known from an earlier run.
    """

    saved: dict[int, str]
    history: dict[int, str] | None = None
    next: Next = Next(0, ("",))
    stray: Next | None = None
    repeats: int = 0

    def take(self, link: AuditRecord) -> Iterator[Fault]:
        """The next link in the order of the log."""
        own = own_hash(link)
        if own != link.hash:
            yield Fault("hash_mismatch", own, link.hash)
        hashes = (own,) if own == link.hash else (own, link.hash)
        if self._continues(link, self.next) or self._continues(link, self.stray) or self._follows_saved(link):
            yield from self._advance(link, hashes)
        elif link.number < self.next.number:
            if self.history is None:
                yield Fault("repeated", None, link.hash)
            elif len(hashes) == 1 and self.history.get(link.number) == own:
                self.repeats += 1
            else:
                yield Fault("conflicting", self.history.get(link.number), link.hash)
        else:
            kind = "broken_link" if link.number == self.next.number else "gap"
            yield Fault(kind, self.next.hashes[0], link.previous_hash)
            self.stray = Next(link.number + 1, hashes)
            yield from self._saved(link)

    def _continues(self, link: AuditRecord, wanted: Next | None) -> bool:
        return wanted is not None and link.number == wanted.number and link.previous_hash in wanted.hashes

    def _follows_saved(self, link: AuditRecord) -> bool:
        """Whether the log begins right after a saved head: what came before was verified then, and may be gone."""
        before = link.number - 1
        if self.next.number or self.saved.get(before) != link.previous_hash:
            return False
        self.saved = {number: known for number, known in self.saved.items() if number > before}
        return True

    def _advance(self, link: AuditRecord, hashes: tuple[str, ...]) -> Iterator[Fault]:
        self.next = Next(link.number + 1, hashes)
        if self.stray is not None and self.stray.number <= self.next.number:
            self.stray = None
        if self.history is not None:
            self.history[link.number] = link.hash
        yield from self._saved(link)

    def _saved(self, link: AuditRecord) -> Iterator[Fault]:
        if (known := self.saved.pop(link.number, link.hash)) != link.hash:
            yield Fault("head_mismatch", known, link.hash)
