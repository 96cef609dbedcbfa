"""Acceptances that wait for the runtime: confirmation and lapse (contract section 4, commit)."""

from __future__ import annotations

from .commit import apply_commit
from .context import Context, decision_id
from .events import PlanCommitFailed, PlanCommitted, SpanAppended
from .publish import publish
from .reasons import REASONS
from .records import PlanDeferred, Source
from .state import Pending


def confirm(ctx: Context, event: PlanCommitted | PlanCommitFailed) -> None:
    """The runtime says whether it applied the pending plan; of any other plan it is nothing, with an alert."""
    pending = ctx.window.head.pending
    if pending is None or pending.plan_id != event.plan_id:
        ctx.alert("unexpected_confirmation", plan_id=event.plan_id)
    elif isinstance(event, PlanCommitFailed):
        lapse(ctx)
    else:
        ctx.window.head.pending = None
        apply_commit(ctx, pending.plan_id, pending.evicted, pending.swaps)


def lapse(ctx: Context) -> None:
    """Take a pending acceptance back: an alert, and a deferral that from now on is the plan's recorded decision."""
    head = ctx.window.head
    pending: Pending | None = head.pending
    if pending is None:
        return
    head.pending = None
    ctx.alert("acceptance_lapsed", plan_id=pending.plan_id)
    source = Source(pending.partition, pending.offset)
    publish(
        ctx,
        PlanDeferred(
            **{**ctx.common, "source": source},
            decision_id=decision_id(head.window_id, pending.plan_id, source, "lapsed"),
            plan_id=pending.plan_id,
            scorer=pending.scorer,
            reason="acceptance_lapsed",
            waits_for=REASONS["acceptance_lapsed"].waits_for,
            live_generation=head.generation,
            lapsed_at=ctx.source,
        ),
    )


def append_breaks(pending: Pending, event: SpanAppended, new_ids: set[str]) -> bool:
    """Whether an append under ``generation_counts: rewrites`` ends the premise of a pending acceptance."""
    going = set(pending.evicted).union(*(swap.covers for swap in pending.swaps))
    replacing = {swap.span_id for swap in pending.swaps}
    for span in event.spans:
        if span.span_id not in new_ids:
            continue
        named = (span.depends_on, span.needs_verbatim, span.pairs_with, span.required_by)
        if span.needs_prefix or span.span_id in replacing or any(not going.isdisjoint(ids or ()) for ids in named):
            return True
    return False
