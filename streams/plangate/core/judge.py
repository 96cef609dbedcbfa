"""Step 6 and 7 of the gate: collect every reason, try the amendment, accept or refuse (contract section 4)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from math import fsum

from .answers import identity, refuse
from .commit import accept, commit_order
from .context import Context, budget_of
from .events import PlanProposed
from .orphans import Analysis
from .plan import Plan
from .records import Compressed, PlanAccepted, PlanRefused, Rescored, Resolution
from .scorers import Scorer
from .state import Swap
from .window import Window


def judge(ctx: Context, event: PlanProposed, plan: Plan, scorer: Scorer) -> PlanAccepted | PlanRefused:
    window, policy = ctx.window, ctx.policy
    threshold = max(plan.threshold, policy.keep_threshold)
    analysis = Analysis(window, plan, scorer, threshold, leaving=policy.compressed_evidence == "leaving")
    ctx.means = _means(plan, analysis)
    reasons: list[str] = []
    if plan.unknown:
        reasons.append("unknown_span")
    pinned = sorted(_pin_violations(window, plan))
    if pinned:
        reasons.append("pin_violation")
    if _invalid_replacements(window, plan):
        reasons.append("invalid_replacement")
    above = bool(reasons)
    orphans = analysis.orphans()
    cost = retained_cost(window, plan, analysis)
    if orphans:
        reasons.append("orphans")
    if not _within(cost, plan.budget):
        reasons.append("over_budget")
    if cost >= window.cost and not plan.unknown:
        reasons.append("no_effect")
    if not reasons:
        return _accepted(ctx, event, plan, analysis, set(), cost)
    resolution = None
    if orphans:
        met_before = _within(cost, budget_of(window))
        taken = analysis.amend()
        amended_cost = retained_cost(window, plan, analysis)
        complete = (
            not above
            and analysis.clean()
            and not _between(window, analysis.swaps, analysis.going)
            and amended_cost < window.cost
        )
        complete = complete and _within(amended_cost, plan.budget)
        budget_kept = plan.budget is not None or not met_before or _within(amended_cost, budget_of(window))
        amendable = policy.amend_plans if event.amendable is None else event.amendable
        if amendable and complete and budget_kept:
            ctx.means = _means(plan, analysis)
            return _accepted(ctx, event, plan, analysis, taken, amended_cost)
        resolution = Resolution(sorted(taken), amended_cost, fits(window, plan, amended_cost), complete)
    return refuse(
        ctx, event, reasons, orphans=orphans, pinned_ids=pinned, unknown_ids=plan.unknown, resolution=resolution
    )


def _within(cost: int, budget: int | None) -> bool:
    return budget is None or cost <= budget


def fits(window: Window, plan: Plan, cost: int) -> bool | None:
    """Against the plan's budget, else the window's; None where neither has one."""
    budget = budget_of(window) if plan.budget is None else plan.budget
    return None if budget is None else cost <= budget


def retained_cost(window: Window, plan: Plan, analysis: Analysis) -> int:
    """What stays, replacements included."""
    return window.cost - sum(s.cost for s in analysis.going.values()) + sum(s.cost for s in analysis.swaps)


def _means(plan: Plan, analysis: Analysis) -> tuple[float | None, float | None]:
    """Mean relevance of the kept entries before and after the commit; scores that are gone are left out."""
    before = _mean([keep.relevance for keep in plan.keeps.values()])
    if not analysis.at_risk:
        return before, before
    after = [analysis.rescored(key) if key in analysis.at_risk else k.relevance for key, k in plan.keeps.items()]
    return before, _mean([score for score in after if score is not None])


def _mean(scores: list[float]) -> float | None:
    return fsum(scores) / len(scores) if scores else None


def _pin_violations(window: Window, plan: Plan) -> list[str]:
    found = [key for key, span in plan.evicted.items() if span.pinned]
    if any(span.pinned for span in plan.compressed.values()):
        approved = {
            c for swap in plan.swaps for c in swap.covers if f"{c}\0{swap.span_id}\0{swap.cost}" in window.approvals
        }
        found += [key for key, span in plan.compressed.items() if span.pinned and key not in approved]
    return found


def _invalid_replacements(window: Window, plan: Plan) -> bool:
    """Whether compressed spans and replacements do not match: coverage, ids, or a place between retained partners."""
    wanted = plan.compressing
    covered: set[str] = set()
    ids: set[str] = set()
    for swap in plan.swaps:
        used = swap.span_id in window.spans or swap.span_id in window.left or swap.span_id in ids
        if used or not swap.covers:
            return True
        ids.add(swap.span_id)
        for key in swap.covers:
            if key in covered or key not in wanted:
                return True
            covered.add(key)
    if covered != wanted:
        return True
    going = {**plan.evicted, **plan.compressed}
    return _between(window, plan.swaps, going)


def _between(window: Window, swaps: list[Swap], going: dict) -> bool:
    """Whether a replacement that is not in place would stand between two retained partners of one pair."""
    places = [
        min((window.spans[c].place for c in s.covers if c in window.spans), default=0) for s in swaps if not s.in_place
    ]
    if not any(places):
        return False
    lows, highs = window.pair_places()
    gone_lows, gone_highs = [], []
    for key, span in going.items():
        for y in window.partners(span):
            if y not in going or key < y:
                low, high = sorted((span.place, window.spans[y].place))
                gone_lows.append(low)
                gone_highs.append(high)
    gone_lows.sort()
    gone_highs.sort()
    for place in places:
        around = lows.bisect_left(place) - highs.bisect_right(place)
        if place and around > bisect_left(gone_lows, place) - bisect_right(gone_highs, place):
            return True
    return False


def _accepted(
    ctx: Context, event: PlanProposed, plan: Plan, analysis: Analysis, taken: set[str], cost: int
) -> PlanAccepted:
    window, head = ctx.window, ctx.window.head
    evicted = sorted(analysis.going.keys() & plan.evicted.keys())
    confirm = ctx.policy.commit == "on_confirm"
    unmet = (r for r in window.unmet if r in window.spans and (r not in analysis.going or r in analysis.in_place))
    rescored = [
        Rescored(key, plan.keeps[key].relevance, analysis.rescored(key))
        for key in analysis.at_risk
        if analysis.cited_going(key)
    ]
    decision = PlanAccepted(
        **identity(ctx, event),
        window_generation=event.window_generation,
        new_generation=head.generation + 1,
        evicted_ids=evicted,
        commit_order=commit_order(window, evicted),
        compressed=[Compressed(s.span_id, sorted(s.covers)) for s in sorted(analysis.swaps, key=lambda s: s.span_id)],
        amended_retained_ids=sorted(taken),
        rescored=sorted(rescored, key=lambda r: r.span_id),
        preexisting_orphans=sorted(unmet),
        retained_cost_units=cost,
        fits_budget=fits(window, plan, cost),
        mean_relevance_before=ctx.means[0],
        mean_relevance_after=ctx.means[1],
        commit="awaiting_confirmation" if confirm else "committed",
    )
    ctx.after = lambda: accept(ctx, plan.plan_id, decision.scorer, evicted, analysis.swaps, confirm=confirm)
    return decision
