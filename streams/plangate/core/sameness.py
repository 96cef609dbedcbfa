"""Whether a span that is sent again is the same: as sent, defaults in, lists as sets (contract section 3)."""

from __future__ import annotations

from hashlib import blake2b

import msgspec

from .events import Span
from .state import LiveSpan

_ENCODER = msgspec.msgpack.Encoder()


def fingerprint(span: Span) -> bytes:
    """16 bytes that are equal for spans with the same fields; accounting and pin texts aside."""
    lists = (span.depends_on, span.needs_verbatim, span.required_by, span.pairs_with, span.closes, span.derived_from)
    fields = (
        span.kind or "other",
        span.cost_units,
        span.priority or 0,
        span.last_used_order,
        [sorted(set(ids)) if ids else [] for ids in lists],
        bool(span.needs_prefix),
        bool(span.open),
        bool(span.pinned),
    )
    return blake2b(_ENCODER.encode(fields), digest_size=16).digest()


def fingerprint_to_keep(span: Span) -> bytes:
    """What a live span must remember of what was sent: nothing where that can be read off the live span itself.

    That is so for most spans, and saves them a hash and a fifth of their memory.
    """
    told = span.last_used_order is not None or span.needs_verbatim or span.required_by or span.closes or span.pinned
    own = span.span_id
    if told or own in (span.depends_on or ()) or own in (span.pairs_with or ()):
        return fingerprint(span)
    return b""


def as_sent(live: LiveSpan) -> bytes:
    """The fingerprint of what was sent for a live span; for one without its own it was as the live span stands."""
    return live.sent or fingerprint(
        Span(
            live.id, live.cost, live.kind, live.priority, None, list(live.depends), None, None, list(live.pairs),
            live.prefix, live.open, None, list(live.derived),
        )
    )  # fmt: skip


def keep_as_sent(live: LiveSpan) -> None:
    """To be called before a live span is changed in a field that :func:`as_sent` reads."""
    live.sent = as_sent(live)
