"""Events of the runtime: append, edit, removal, resync, use (contract sections 2 and 3)."""

from __future__ import annotations

from .context import Context
from .events import Span, SpanAppended, SpanEdited, SpansRemoved, SpansUsed, WindowResynced
from .pending import append_breaks, lapse
from .sameness import as_sent, fingerprint
from .spans import add_spans, close_obligations, edges_of, live_span, missing_edges, settle_pins
from .state import LiveSpan


def append(ctx: Context, event: SpanAppended) -> None:
    """All spans or none; a rejected event changes nothing."""
    window = ctx.window
    offence = _offence(ctx, event)
    if offence is not None:
        ctx.alert(offence[0], span_id=offence[1])
        return
    new = [span for span in event.spans if span.span_id not in window.spans]
    if not new:
        window.head.seen = True
        return
    if len(window.spans) + len(new) > ctx.policy.limits.live_spans:
        ctx.alert("limit_exceeded", limit="live_spans")
        return
    window.head.seen = True
    pending = window.head.pending
    breaks = pending is not None and append_breaks(pending, event, {span.span_id for span in new})
    added = add_spans(window, new, signed=ctx.signed)
    ctx.changed("span_appended", [live.id for live in added], append=True)
    _settle(ctx, new, added)
    if event.turn is not None:
        _turn(ctx, event.turn, append=True)
    if breaks:
        lapse(ctx)


def _offence(ctx: Context, event: SpanAppended) -> tuple[str, str] | None:
    window, met = ctx.window, set()
    for span in event.spans:
        key = span.span_id
        live = window.spans.get(key)
        if key in met or (live is not None and as_sent(live) != fingerprint(span)):
            return "id_conflict", key
        if live is None and key in window.left:
            return "id_reused", key
        met.add(key)
    return None


def _settle(ctx: Context, spans: list[Span], added: list[LiveSpan]) -> None:
    """What follows once the spans of an event are all there: obligations, pins, alerts."""
    window = ctx.window
    close_obligations(window, spans)
    alerts, granted = settle_pins(window, spans, signed=ctx.signed)
    for live in added:
        _missing_alert(ctx, live)
    for name, key in alerts:
        ctx.alert(name, span_id=key)
    if granted:
        ctx.audit("authority")
    for span in spans:
        if span.accounting is not None:
            _accounting(ctx, span)


def _missing_alert(ctx: Context, live: LiveSpan) -> None:
    if not live.depends_held and not live.pairs_held:
        return
    if missing := missing_edges(ctx.window, live):
        rows = []
        for key in missing:
            gone = ctx.window.left.get(key)
            state = {"state": "left", "by": gone.by} if gone else {"state": "never_seen"}
            rows.append({"span_id": key, **state})
        ctx.alert("orphan_at_birth", span_id=live.id, missing=rows)


def _accounting(ctx: Context, span: Span) -> None:
    head = ctx.window.head
    if span.accounting is None or span.accounting.method is None or head.mixed:
        return
    if head.method is None:
        head.method = span.accounting.method
    elif head.method != span.accounting.method:
        head.mixed = True
        ctx.alert("mixed_accounting", span_id=span.span_id)


def _turn(ctx: Context, turn: int, *, append: bool) -> None:
    head, escalations = ctx.window.head, ctx.window.escalations
    head.highest_turn = max(head.highest_turn, turn)
    if append:
        for plan_id in [p for p, until in escalations.items() if until <= turn]:
            del escalations[plan_id]


def edit(ctx: Context, event: SpanEdited) -> None:
    """Replace what a live span declared; it keeps its place, its pin and, if not given, its recency."""
    window, span = ctx.window, event.span
    old = window.spans.get(span.span_id)
    if old is None:
        return
    new = live_span(span, old.place, signed=old.signed and ctx.signed)
    new.used = old.used if span.last_used_order is None else span.last_used_order
    new.pinned = old.pinned
    new.required = tuple(r for r in edges_of(span.required_by, old.id) if r in window.spans)
    window.unlink(old)
    window.link(new)
    close_obligations(window, [span])
    ctx.changed("span_edited", [new.id])
    if new.pinned and not ctx.signed:
        ctx.alert("pinned_span_changed", span_id=new.id)
    _accounting(ctx, span)
    ctx.audit("host_rewrite")


def remove(ctx: Context, event: SpansRemoved) -> None:
    """The host removed spans itself; what they leave behind is named."""
    window = ctx.window
    going = [window.spans[key] for key in dict.fromkeys(event.span_ids) if key in window.spans]
    if not going:
        return
    left_behind = {r for span in going for r in (*window.dependents.of(span.id), *window.partners(span))}
    for span in going:
        window.leave(span, "spans_removed", keep_required=True)
    ctx.changed("spans_removed", [span.id for span in going])
    for span in going:
        if span.pinned and not ctx.signed:
            ctx.alert("pinned_span_changed", span_id=span.id)
    for key in sorted(r for r in left_behind if r in window.spans):
        ctx.alert("orphaned_by_host", span_id=key)
    ctx.audit("host_rewrite")


def resync(ctx: Context, event: WindowResynced) -> None:
    """The host restates the whole live set, in order: each takes the next running number and keeps its pin."""
    window = ctx.window
    ids = [span.span_id for span in event.spans]
    if len(set(ids)) < len(ids):
        met: set[str] = set()
        twice = next(i for i in ids if i in met or met.add(i))
        ctx.alert("id_conflict", span_id=twice)
        return
    before = dict(window.spans)
    unsigned = {k for k in ids if (held := before.get(k) or window.left.get(k)) is not None and not held.signed}
    for key in list(window.bound):
        for d in window.bound.of(key):
            if (gone := window.left.get(d)) is not None and gone.required:
                gone.required = ()
                window.left.touch(d)
    for span in before.values():
        window.leave(span, "window_resynced")
    for key in ids:
        if key in window.left:
            del window.left[key]
    window.reset_indexes()
    added = add_spans(window, event.spans, signed=ctx.signed, unsigned=frozenset(unsigned))
    for live in added:
        if live.id in before and before[live.id].pinned:
            window.set_pin(live, True)
    window.head.seen, window.head.gap = True, False
    if event.sequence is None or ctx.signed:
        window.head.sequence = None
    ctx.changed("window_resynced", ids)
    for key in sorted(before):
        if before[key].pinned and not ctx.signed:
            ctx.alert("pinned_span_changed", span_id=key)
    _settle(ctx, event.spans, added)
    if event.turn is not None:
        _turn(ctx, event.turn, append=False)
    ctx.audit("host_rewrite")


def use(ctx: Context, event: SpansUsed) -> None:
    """Move recency: each live id gets ``order``, or without it the next running number, in list order."""
    window = ctx.window
    for key in event.span_ids:
        span = window.spans.get(key)
        if span is not None:
            if event.order is None:
                window.head.running += 1
            window.set_used(span, window.head.running if event.order is None else event.order)
