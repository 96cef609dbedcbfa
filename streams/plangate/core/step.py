"""One event against one window: the function that the worker, replay and the tests share."""

from __future__ import annotations

from typing import NamedTuple

from .authority import AUTHORITY, allowed
from .budget import request
from .context import Context
from .diagnosis import compare_cost, locate_loss
from .events import (
    AUTHORITY_EVENTS,
    BudgetRequested,
    CompressionApproved,
    CostReported,
    Event,
    MalformedPlan,
    PipelineObserved,
    PlanCommitFailed,
    PlanCommitted,
    PlannerObserved,
    PlanProposed,
    PolicySet,
    SpanAppended,
    SpanEdited,
    SpanPinned,
    SpansRemoved,
    SpansUsed,
    SpanUnpinned,
    WindowClosed,
    WindowOpened,
    WindowResynced,
    event_name,
)  # fmt: skip
from .gate import propose
from .host import append, edit, remove, resync, use
from .limits import event_path
from .memory import remember_event, seen_before
from .pending import confirm, lapse
from .policy import Policy
from .records import Record, Repeated, Source
from .shadow import observe
from .window import Window

#: events that are answered even where no window was ever opened, or where it is closed
ANSWERED = (PlanProposed, MalformedPlan, BudgetRequested, PlannerObserved, PipelineObserved, CostReported)


class Signature(NamedTuple):
    """What the shell found out about who signed: ``source`` is None for unsigned, ``wrong`` for a bad signature."""

    source: str | None = None
    key_id: str = ""
    wrong: bool = False
    vouched: bool = False


UNSIGNED = Signature()


class Rejection(NamedTuple):
    """The event is none that this window's policy takes: a dead letter."""

    reason: str
    path: str | None


def step(
    window: Window, event: Event, source: Source, signature: Signature = UNSIGNED, default: Policy | None = None
) -> list[Record | Repeated] | Rejection:
    """Apply one event to a window in place and give the records it causes, in order.

    ``default`` is the worker's policy, over which a ``policy_set`` is laid. Raises nothing for any decoded event.
    """
    signed = signature.source in AUTHORITY
    ctx = Context(window, event, source, signed=signed)
    if (path := event_path(event, window.policy.limits)) is not None:
        return Rejection("over_limit", path)
    before = ctx.status_fields()
    if signature.wrong:
        ctx.alert("bad_signature", event=event_name(event))
    if not _admitted(ctx, event, signature):
        if ctx.status_fields() != before:
            ctx.status()
        return ctx.out
    generation, pending = window.head.generation, window.head.pending
    _apply(ctx, event, default or window.policy)
    if pending is not None and window.head.pending is pending and window.head.generation != generation:
        lapse(ctx)
    remember_event(window, event.event_id, signed=ctx.signed)
    if window.head.seen and ctx.status_fields() != before:
        ctx.status()
    return ctx.out


def _admitted(ctx: Context, event: Event, signature: Signature) -> bool:
    """Sequence, authority and event_id: whether the event is new (contract section 2). Judged and counted first."""
    window, head = ctx.window, ctx.window.head
    if ctx.signed:
        if event.authority_seq is None:
            if not signature.vouched:
                ctx.signed = False
                ctx.alert("authority_seq_missing", event=event_name(event))
        else:
            newest = window.authority.get(signature.key_id)
            if newest is not None and event.authority_seq <= newest:
                ctx.alert("authority_replayed", event=event_name(event))
                return False
            window.authority[signature.key_id] = event.authority_seq
    if not ctx.signed and not _in_sequence(ctx, event):
        return False
    if seen_before(window, event.event_id, signed=ctx.signed):
        return False
    if isinstance(event, AUTHORITY_EVENTS) and not ctx.signed:
        ctx.alert("untrusted_authority", event=event_name(event))
        return False
    if head.closed and not isinstance(event, ANSWERED):
        ctx.alert("event_after_close", event=event_name(event))
        return False
    return True


def _in_sequence(ctx: Context, event: Event) -> bool:
    head, number = ctx.window.head, event.sequence
    if number is None:
        return True
    if head.sequence is not None:
        if number <= head.sequence:
            return False
        if number > head.sequence + 1:
            head.gap = True
            ctx.alert("sequence_gap", expected_sequence=head.sequence + 1, seen_sequence=number)
    head.sequence = number
    return True


def _apply(ctx: Context, event: Event, default: Policy) -> None:
    """Dispatch. An event that its handler rejects changes nothing but what :func:`_admitted` counted."""
    window = ctx.window
    match event:
        case SpanAppended():
            append(ctx, event)
        case PlanProposed() | MalformedPlan():
            propose(ctx, event)
        case SpansUsed():
            use(ctx, event)
        case WindowOpened():
            window.head.seen = True
            if window.head.budget is None:
                window.head.budget = event.budget_units
        case BudgetRequested():
            request(ctx, event)
        case SpanEdited():
            edit(ctx, event)
        case SpansRemoved():
            remove(ctx, event)
        case WindowResynced():
            resync(ctx, event)
        case PlannerObserved():
            observe(ctx, event)
        case PipelineObserved():
            locate_loss(ctx, event)
        case CostReported():
            compare_cost(ctx, event)
        case PlanCommitted() | PlanCommitFailed():
            confirm(ctx, event)
        case WindowClosed():
            _close(ctx)
        case SpanPinned() | SpanUnpinned() | PolicySet() | CompressionApproved():
            allowed(ctx, event, default)


def _close(ctx: Context) -> None:
    """The window ends: a pending acceptance lapses, the live set goes, decisions stay remembered."""
    window = ctx.window
    if not window.head.seen:
        return
    lapse(ctx)
    window.head.closed = True
    for span in list(window.spans.values()):
        window.unlink(span)
    for memory in (window.left, window.waiting, window.approvals, window.changes, window.escalations):
        for key in list(memory):
            del memory[key]
