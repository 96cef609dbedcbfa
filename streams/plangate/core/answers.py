"""What every decision carries, and how the gate defers or refuses (contract section 4, records)."""

from __future__ import annotations

from typing import Any

from .context import Context, decision_id
from .events import MalformedPlan, PlanProposed
from .reasons import REASONS
from .records import PlanDeferred, PlanRefused


def scorer_of(ctx: Context, plan: PlanProposed | MalformedPlan) -> str:
    return (plan.scorer if isinstance(plan, PlanProposed) else None) or ctx.policy.scorers[0]


def identity(ctx: Context, plan: PlanProposed | MalformedPlan) -> dict[str, Any]:
    """The fields that every decision carries."""
    head = ctx.window.head
    return {
        **ctx.common,
        "decision_id": decision_id(head.window_id, plan.plan_id, ctx.source),
        "plan_id": plan.plan_id,
        "scorer": scorer_of(ctx, plan),
    }


def defer(ctx: Context, plan: PlanProposed | MalformedPlan, reason: str, **fields: Any) -> PlanDeferred:
    head = ctx.window.head
    live = head.generation if head.seen else None
    waits = REASONS[reason].waits_for
    return PlanDeferred(**identity(ctx, plan), reason=reason, waits_for=waits, live_generation=live, **fields)


def refuse(ctx: Context, plan: PlanProposed | MalformedPlan, reasons: list[str], **fields: Any) -> PlanRefused:
    head = ctx.window.head
    turn = head.highest_turn + 1
    return PlanRefused(
        **identity(ctx, plan), reasons=sorted(reasons), live_generation=head.generation, escalate_to_turn=turn, **fields
    )
