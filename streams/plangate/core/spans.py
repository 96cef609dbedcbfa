"""From declared spans to live spans: defaults, edges, pins and their taint (contract section 3)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .events import Span
from .sameness import fingerprint_to_keep
from .state import LiveSpan
from .window import Window


def edges_of(ids: list[str] | None, own: str) -> tuple[str, ...]:
    """Edges without repetition; a span itself is never its own dependency (contract section 4)."""
    if not ids:
        return ()
    if len(ids) == 1:
        return () if ids[0] == own else (ids[0],)
    return tuple(dict.fromkeys(i for i in ids if i != own))


def live_span(span: Span, place: int, *, signed: bool) -> LiveSpan:
    """A live span at ``place``, unpinned; ``required`` still holds ids that may not be live."""
    own = span.span_id
    verbatim = edges_of(span.needs_verbatim, own)
    depends = edges_of(span.depends_on, own)
    return LiveSpan(
        own,
        span.kind or "other",
        span.cost_units,
        span.priority or 0,
        place if span.last_used_order is None else span.last_used_order,
        place,
        fingerprint_to_keep(span),
        signed,
        False,
        bool(span.open),
        bool(span.needs_prefix),
        tuple(dict.fromkeys(depends + verbatim)) if verbatim else depends,
        verbatim,
        edges_of(span.required_by, own),
        edges_of(span.pairs_with, own),
        tuple(dict.fromkeys(span.derived_from or ())),
    )


def add_spans(
    window: Window, spans: Iterable[Span], *, signed: bool, unsigned: frozenset[str] = frozenset()
) -> list[LiveSpan]:
    """Link new spans, all of the event being there for each other. ``unsigned``: ids that once were so, and stay so."""
    first = window.head.running + 1
    added = [
        live_span(span, place, signed=signed and span.span_id not in unsigned)
        for place, span in enumerate(spans, first)
    ]
    window.head.running += len(added)
    if any(live.required for live in added):
        coming = {live.id for live in added}
        for live in added:
            live.required = tuple(r for r in live.required if r in window.spans or r in coming)
    for live in added:
        window.link(live)
    return added


def close_obligations(window: Window, spans: Iterable[Span]) -> None:
    for span in spans:
        for closed in span.closes or ():
            live = window.spans.get(closed)
            if live is not None and live.open:
                window.close_obligation(live)


def is_tainted(window: Window, span: LiveSpan) -> bool:
    """Whether any ancestor, as last declared and through spans that left, is unsigned or was never seen."""
    stack, met = list(span.derived), set()
    while stack:
        key = stack.pop()
        if key in met:
            continue
        met.add(key)
        found: Any = window.spans.get(key) or window.left.get(key)
        if found is None or not found.signed:
            return True
        stack.extend(found.derived)
    return False


def settle_pins(window: Window, spans: Iterable[Span], *, signed: bool) -> tuple[list[tuple[str, str]], bool]:
    """Judge the pin requests of an event and meet waiting pins: alerts (name, span_id), whether a pin was granted."""
    alerts: list[tuple[str, str]] = []
    granted = False
    for span in spans:
        if not (span.pinned or window.waiting):
            continue
        live = window.spans[span.span_id]
        if live.id in window.waiting:
            del window.waiting[live.id]
            window.set_pin(live, True)
        if not span.pinned:
            continue
        if not signed:
            alerts.append(("untrusted_pin", live.id))
        elif not span.pin_owner or not span.pin_reason:
            alerts.append(("unowned_pin", live.id))
        elif is_tainted(window, live):
            alerts.append(("tainted_pin", live.id))
        else:
            window.set_pin(live, True)
            granted = True
    return alerts, granted


def missing_edges(window: Window, live: LiveSpan) -> list[str]:
    """What a span names in depends_on or pairs_with that is not live."""
    if live.id not in window.unmet and all(y in window.spans for y in live.pairs):
        return []
    return sorted({i for i in (*live.depends, *live.pairs) if i not in window.spans})
