"""``budget_requested``: plan over the live window, and put the result to the gate where asked (contract section 5)."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from .context import Context
from .events import INTEGER_BOUND, BudgetRequested, PlanEntry, PlanProposed
from .gate import propose
from .planner import PLANNERS, Outcome, is_count
from .records import EvictionPlanned, PlannerDiagnosed
from .shadow import compare_planners

#: blocked requests of an unchanged window that are answered from memory; a flood of budgets must not fill it
BLOCKED_REMEMBERED = 1024


def request(ctx: Context, event: BudgetRequested) -> None:
    window, head, policy = ctx.window, ctx.window.head, ctx.policy
    planner = event.planner or policy.planner
    outcome = _outcome(ctx, planner, event.budget_units)
    rejected = outcome.status == "rejected"
    evicted = set(outcome.evicted)
    retained = [] if rejected else sorted(key for key in window.spans if key not in evicted)
    ctx.emit(
        EvictionPlanned,
        request_id=event.request_id,
        planner=planner,
        generation=head.generation if head.seen else None,
        status=outcome.status,
        retained_ids=retained,
        evicted_ids=outcome.evicted,
        used_cost_units=outcome.used,
        reason=outcome.reason,
        pinned_units=UNSET if outcome.pinned_units is None else outcome.pinned_units,
        shortfall_units=UNSET if outcome.shortfall_units is None else outcome.shortfall_units,
    )
    ranked: Any = () if rejected else window.ranked()
    ctx.emit(
        PlannerDiagnosed,
        case_id=event.request_id,
        planner=planner,
        budget=event.budget_units if is_count(event.budget_units) and event.budget_units <= INTEGER_BOUND else None,
        input_cost_units=0 if rejected else window.cost,
        candidate_order=[
            {"span_id": k, "priority": p, "last_used_order": u, "cost_units": window.spans[k].cost}
            for p, u, k in ranked
        ],
        evicted_ids=outcome.evicted,
        retained_ids=retained,
        retained_cost_units=outcome.used,
        status=outcome.status,
        reason=outcome.reason,
        accounting=head.method,
    )
    if policy.shadow_planner and not rejected:
        other = _outcome(ctx, policy.shadow_planner, event.budget_units)
        compare_planners(ctx, event.request_id, planner, outcome, policy.shadow_planner, other)
    if event.commit and outcome.status == "fits" and outcome.evicted:
        propose(ctx, _plan(ctx, event, outcome))


def _outcome(ctx: Context, planner: str, budget: Any) -> Outcome:
    window, head = ctx.window, ctx.window.head
    if not head.seen or head.closed:
        return Outcome("rejected", [], 0, "the window is closed" if head.closed else "the window was never seen")
    if planner not in PLANNERS:
        return Outcome("rejected", [], 0, "unknown planner")
    if not is_count(budget) or budget > ctx.policy.limits.integer:
        return Outcome("rejected", [], 0, "budget must be a non-negative integer")
    known = window.blocked.get((planner, budget))
    if known is None:
        known = PLANNERS[planner](window, budget)
        if known.status == "blocked":
            if len(window.blocked) >= BLOCKED_REMEMBERED:
                window.blocked.clear()
            window.blocked[planner, budget] = known
    return known


def _plan(ctx: Context, event: BudgetRequested, outcome: Outcome) -> PlanProposed:
    """The planner's result as a proposal: only what leaves is listed, and nothing is scored."""
    return PlanProposed(
        window_id=event.window_id,
        plan_id=event.request_id,
        window_generation=ctx.window.head.generation,
        entries=[PlanEntry(key, 0.0, "evict", []) for key in outcome.evicted],
        budget_units=event.budget_units,
    )
