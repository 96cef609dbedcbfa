"""Events that only signed authority may cause (contract sections 1 to 3)."""

from __future__ import annotations

from .context import Context
from .events import CompressionApproved, PolicySet, SpanPinned, SpanUnpinned
from .policy import Policy, PolicyError, known_fields, parse_policy

#: the only sources with authority, whoever else may sign
AUTHORITY = frozenset({"policy_store", "operator_console"})


def allowed(ctx: Context, event: SpanPinned | SpanUnpinned | PolicySet | CompressionApproved, default: Policy) -> None:
    """Apply a signed event; a policy that does not parse is rejected whole, with an alert."""
    match event:
        case PolicySet():
            _set_policy(ctx, event, default)
        case SpanPinned():
            _pin(ctx, event.span_id)
        case SpanUnpinned():
            _unpin(ctx, event.span_id)
        case CompressionApproved() if ctx.window.head.seen:
            ctx.window.approvals[f"{event.span_id}\0{event.replacement_id}\0{event.cost_units}"] = event.cost_units
            ctx.audit("authority")


def _set_policy(ctx: Context, event: PolicySet, default: Policy) -> None:
    window = ctx.window
    try:
        policy = parse_policy(event.policy, default)
    except PolicyError as error:
        ctx.alert("policy_rejected", paths=error.paths)
        return
    window.policy = policy
    window.head.policy = known_fields(event.policy)
    window.head.seen = True
    ctx.changed("policy_set", [])
    ctx.audit("authority")


def _pin(ctx: Context, span_id: str) -> None:
    window = ctx.window
    live = window.spans.get(span_id)
    if live is not None:
        window.set_pin(live, True)
    elif span_id in window.left:
        return
    else:
        window.waiting[span_id] = True
    window.head.seen = True
    ctx.changed("span_pinned", [span_id])
    ctx.audit("authority")


def _unpin(ctx: Context, span_id: str) -> None:
    window = ctx.window
    live = window.spans.get(span_id)
    if live is not None:
        window.set_pin(live, False)
    elif span_id in window.waiting:
        del window.waiting[span_id]
    else:
        return
    ctx.changed("span_unpinned", [span_id])
    ctx.audit("authority")
