"""Publishing a decision: remembered, emitted, diagnosed, chained, escalated (contract sections 1 and 4)."""

from __future__ import annotations

from .context import Context
from .events import MalformedPlan, PlanProposed
from .memory import record
from .records import Decision, GateDiagnosed, PlanAccepted, PlanDeferred, PlanRefused


def publish(ctx: Context, decision: Decision, plan: PlanProposed | MalformedPlan | None = None) -> None:
    """Record a decision, emit it with its diagnostic and its audit link, and keep its escalation open if it refuses."""
    window, head = ctx.window, ctx.window.head
    value = record(ctx, decision)
    entries = len(plan.entries) if isinstance(plan, PlanProposed) else 0
    orphans = getattr(decision, "orphans", [])
    reasons = getattr(decision, "reasons", None) or ([decision.reason] if isinstance(decision, PlanDeferred) else [])
    resolution = getattr(decision, "resolution", None)
    means = ctx.means if isinstance(decision, PlanAccepted | PlanRefused) else (None, None)
    ctx.emit(
        GateDiagnosed,
        decision_id=decision.decision_id,
        plan_id=decision.plan_id,
        outcome=decision.__struct_config__.tag,
        reasons=reasons,
        generation=head.generation if head.seen else None,
        scorer=decision.scorer,
        entries=entries,
        evicted=len(getattr(decision, "evicted_ids", ())),
        compressed=sum(len(c.covers) for c in getattr(decision, "compressed", ())),
        orphans=len(orphans),
        orphan_ids=[o.span_id for o in orphans],
        input_cost_units=ctx.cost_before,
        retained_cost_units=getattr(decision, "retained_cost_units", None)
        or (resolution and resolution.retained_cost_units),
        mean_relevance_before=means[0],
        mean_relevance_after=means[1],
    )
    if head.seen:
        ctx.audit("decision", decision, value)
    if isinstance(decision, PlanRefused) and not head.closed:
        while len(window.escalations) >= ctx.policy.limits.open_escalations:
            del window.escalations[next(iter(window.escalations))]
        window.escalations[decision.plan_id] = decision.escalate_to_turn
