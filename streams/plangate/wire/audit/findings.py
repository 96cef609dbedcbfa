"""What the verifier takes and what it tells. Nothing told ever repeats a text of a record but lawful ids and hashes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

import msgspec
from msgspec import Struct

from ...core.events import MAX_ID
from ...core.policy import FORBIDDEN

_HASH = re.compile(r"[0-9a-f]{64}")
_DECISION_ID = re.compile(r"[0-9a-f]{32}")
#: what decoders raise on hostile bytes
UNREADABLE = (msgspec.MsgspecError, RecursionError, UnicodeError, ValueError, OverflowError)


class Place(NamedTuple):
    """Where a record lies: a line of a file, from 1, or a partition and offset."""

    position: int
    partition: int | None = None


class Seen(NamedTuple):
    """One record as found; ``topic`` is the base name. ``repeat``: its header says so; None where headers are lost."""

    topic: str
    key: bytes | None
    value: bytes | None
    place: Place
    repeat: bool | None = None


class Finding(Struct, omit_defaults=True):
    """One fault. ``expected`` and ``found`` are SHA-256 in hex, ``number`` is a link's place in its chain."""

    finding: str
    topic: str | None = None
    line: int | None = None
    partition: int | None = None
    offset: int | None = None
    window_id: str | None = None
    number: int | None = None
    decision_id: str | None = None
    expected: str | None = None
    found: str | None = None


class Head(Struct):
    """The newest link of a window's chain, as one run saw it; a later run must find it there."""

    window_id: str
    number: int
    hash: str


class Summary(Struct):
    """What a run looked at. ``whole``: there was an audit record, and no finding."""

    whole: bool
    findings: int
    checked: list[str]
    windows: int
    audit_records: int
    decisions: int
    refusals: int
    unchained_decisions: int
    repeats: int
    other_records: int
    undecided_inputs: int | None = None


class _Line(Struct):
    topic: str
    value: msgspec.Raw
    key: str | None = None


_LINES, _HEADS = msgspec.json.Decoder(_Line), msgspec.json.Decoder(Head)


def found(kind: str, topic: str | None = None, place: Place | None = None, **facts: str | int | None) -> Finding:
    """A finding at a place. Ids and hashes that are none are left out: a forger may write anything there."""
    finding = Finding(kind, topic, **facts)  # type: ignore[arg-type]
    if place is not None and place.partition is None:
        finding.line = place.position
    elif place is not None:
        finding.partition, finding.offset = place.partition, place.position
    if not is_id(finding.window_id):
        finding.window_id = None
    if not is_decision_id(finding.decision_id):
        finding.decision_id = None
    finding.expected, finding.found = (h if is_hash(h) else None for h in (finding.expected, finding.found))
    return finding


def is_id(text: str | None) -> bool:
    """Whether a text may be an id (contract section 7)."""
    return bool(text) and len(text.encode("utf-8", "surrogatepass")) <= MAX_ID and not FORBIDDEN.search(text)


def is_hash(text: str | None) -> bool:
    return text is not None and _HASH.fullmatch(text) is not None


def is_decision_id(text: str | None) -> bool:
    return text is not None and _DECISION_ID.fullmatch(text) is not None


def seen_line(line: bytes, number: int) -> Seen | Finding:
    """A line as ``plangate replay`` prints it, {"topic", "key", "value"}; ``number`` from 1. Total over any bytes."""
    try:
        read = _LINES.decode(line)
        key = None if read.key is None else read.key.encode()
    except UNREADABLE:
        return found("unreadable", place=Place(number))
    return Seen(read.topic, key, bytes(read.value), Place(number))


def read_heads(lines: Iterable[bytes]) -> list[Head]:
    """Heads that an earlier run saved, one JSON object a line. Raises ValueError, whose text names the line only."""
    heads = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            head = _HEADS.decode(line)
        except UNREADABLE:
            head = None
        if head is None or not is_id(head.window_id) or not is_hash(head.hash) or head.number < 0:
            raise ValueError(f"line {number} is no head")
        heads.append(head)
    return heads
