"""The gate: one ``plan_proposed``, one decision (contract section 4, steps 1 to 5; the rest is in :mod:`.judge`)."""

from __future__ import annotations

from typing import Any

from .answers import defer, refuse, scorer_of
from .context import Context
from .events import MalformedPlan, PlanProposed
from .judge import judge
from .limits import plan_paths
from .memory import recall, too_many
from .pending import lapse
from .plan import Plan, citations, read_plan
from .publish import publish
from .records import PlanAccepted, PlanDeferred, PlanRefused
from .scorers import DeclaredProvenance, Scorer, find_scorer


def propose(ctx: Context, plan: PlanProposed | MalformedPlan) -> None:
    """Decide one proposal and publish the answer, its diagnostic, its audit link and what it sets off."""
    window, head = ctx.window, ctx.window.head
    if (repeated := recall(window, plan.plan_id)) is not None:
        ctx.out.append(repeated)
        return
    decision = decide(ctx, plan)
    publish(ctx, decision, plan)
    if not head.seen:
        return
    head.proposals += 1
    if ctx.after is not None:
        ctx.after()
    if isinstance(decision, PlanDeferred) and decision.reason == "generation_changed":
        if head.streak == ctx.policy.starvation_after:
            ctx.alert("plans_starving", consecutive_deferrals=head.streak)
    else:
        head.streak = 0
    if isinstance(decision, PlanDeferred) and decision.reason == "commit_pending" and head.pending is not None:
        head.pending.deferred += 1
        if head.pending.deferred >= ctx.policy.starvation_after:
            lapse(ctx)


def decide(ctx: Context, plan: PlanProposed | MalformedPlan) -> PlanAccepted | PlanDeferred | PlanRefused:
    """The answer to a proposal, without publishing or applying it: only counts what a deferral counts."""
    window, head, policy = ctx.window, ctx.window.head, ctx.policy
    if head.seen and too_many(window, policy):
        return refuse(ctx, plan, ["too_many_proposals"])
    if head.closed:
        return refuse(ctx, plan, ["window_closed"])
    if not head.seen:
        return defer(ctx, plan, "unknown_window")
    if head.gap:
        return defer(ctx, plan, "window_gap")
    if isinstance(plan, MalformedPlan):
        return refuse(ctx, plan, ["invalid_plan"], invalid_paths=plan.paths)
    if paths := plan_paths(plan, policy.limits):
        return refuse(ctx, plan, ["invalid_plan"], invalid_paths=paths)
    proposed = None if plan.commit_order == "entry_order" else read_plan(window, plan, policy)
    if proposed is None:
        return refuse(ctx, plan, ["entry_order_commit"])
    if plan.window_generation != head.generation:
        head.streak += 1
        return defer(ctx, plan, "generation_changed", **_stale(ctx, plan.window_generation))
    if head.pending is not None:
        return defer(ctx, plan, "commit_pending", pending_plan_id=head.pending.plan_id)
    name = scorer_of(ctx, plan)
    scorer = find_scorer(name) if name in policy.scorers else None
    if scorer is None:
        return defer(ctx, plan, "rescore_closure_unavailable", span_ids=[])
    if unproven := _unproven(proposed, scorer):
        return defer(ctx, plan, "rescore_closure_unavailable", span_ids=sorted(unproven))
    in_place = {c for swap in proposed.swaps if swap.in_place for c in swap.covers}
    open_ids = [k for k, s in proposed.evicted.items() if s.open]
    open_ids += [k for k, s in proposed.compressed.items() if s.open and k not in in_place]
    if open_ids:
        return defer(ctx, plan, "open_obligation", span_ids=sorted(open_ids))
    return judge(ctx, plan, proposed, scorer)


def _unproven(plan: Plan, scorer: Scorer) -> list[str]:
    """Kept entries that the scorer can't re-score: provenance unknown, or not what it needs."""
    if isinstance(scorer, DeclaredProvenance) and None not in plan.cited:
        return []  # it takes any citation: no need to ask for each
    keeps = plan.keeps.items()
    return [
        k
        for k, keep in keeps
        if keep.cited_dependencies is None or not scorer.can_rescore(citations(keep.cited_dependencies))
    ]


def _stale(ctx: Context, generation: int) -> dict[str, Any]:
    """What changed since a stale plan was made: newest 64, cut with a count (contract section 4, step 4)."""
    head = ctx.window.head
    ahead = generation > head.generation
    changes = [] if ahead else [c for c in ctx.window.changes.values() if c.generation > generation]
    changes.sort(key=lambda c: c.generation)
    since = []
    for c in changes:
        row: dict[str, Any] = {"generation": c.generation, "event": c.event, "span_ids": list(c.span_ids)}
        if c.count > len(c.span_ids):
            row["span_count"] = c.count
        since.append(row)
    return {
        "plan_generation": generation,
        "relation": "ahead" if ahead else "behind",
        "changed_since": since,
        "changed_since_cut": 0 if ahead else head.generation - generation - len(since),
        "consecutive_deferrals": head.streak,
    }
