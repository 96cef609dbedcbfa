"""Where an entry was lost first, and whether two components counted the same thing (contract section 6)."""

from __future__ import annotations

from .context import Context
from .events import CostReported, PipelineObserved
from .records import AccountingCompared, LossLocated


def locate(event: PipelineObserved) -> tuple[str, str | None, str | None]:
    """The first stage that lost ``expected_id``, and for ``undetermined`` where it was last seen and first absent."""
    lists = (event.retrieved_ids, event.eligible_ids, event.retained_ids, event.evicted_ids, event.rendered_ids)
    if any(ids is not None and len(set(ids)) < len(ids) for ids in lists):
        return "duplicate-id-evidence", None, None
    retrieved, eligible, retained, evicted, rendered = (None if ids is None else set(ids) for ids in lists)
    if eligible is not None and retrieved is not None and not eligible <= retrieved:
        return "inconsistent-eligibility-evidence", None, None
    if retained is not None and evicted is not None:
        if retained & evicted or (eligible is not None and retained | evicted != eligible):
            return "inconsistent-plan-evidence", None, None
    if rendered is not None and retained is not None and not rendered <= retained:
        return "inconsistent-render-evidence", None, None
    expected = event.expected_id
    if rendered is not None and expected in rendered:
        return "present-in-rendered-prompt", None, None
    kept = None if retained is None else expected in retained
    if (
        kept is None
        and evicted is not None
        and (expected in evicted or (eligible is not None and expected in eligible))
    ):
        kept = expected not in evicted
    in_eligible = None if eligible is None else expected in eligible
    if evicted is not None and expected in evicted:
        in_eligible = True
    stages = (
        ("retrieval", None if retrieved is None else expected in retrieved),
        ("eligibility-filter", in_eligible),
        ("eviction-policy", kept),
        ("prompt-assembly", None if rendered is None else expected in rendered),
    )
    last = max((i for i, (_, present) in enumerate(stages) if present), default=-1)
    stage, present = stages[last + 1] if last + 1 < len(stages) else stages[-1]
    if present is False:
        return stage, None, None
    absent = next((name for name, here in stages[last + 1 :] if here is False), None)
    return "undetermined", stages[last][0] if last >= 0 else None, absent


def locate_loss(ctx: Context, event: PipelineObserved) -> None:
    stage, last_seen, first_absent = locate(event)
    more = {"last_seen": last_seen, "first_absent": first_absent} if stage == "undetermined" else {}
    ctx.emit(LossLocated, case_id=event.case_id, expected_id=event.expected_id, stage=stage, **more)


def compare_cost(ctx: Context, event: CostReported) -> None:
    """Compare a report with the newest of each other component for the same artifact; a drift is also an alert."""
    window = ctx.window
    own = (event.component, event.method, event.input_version, event.scope, event.units, event.value)
    others = [r for r in window.reports.get(event.artifact_id, ()) if r[0] != event.component]
    if event.artifact_id in window.reports:
        del window.reports[event.artifact_id]
    while len(window.reports) >= ctx.policy.limits.artifacts_remembered:
        del window.reports[next(iter(window.reports))]
    window.reports[event.artifact_id] = (*others[-63:], own)
    for other in sorted(others):
        outcome = _outcome(own, other)
        names = ("component", "method", "input_version", "scope", "units", "value")
        reports = [dict(zip(names, report, strict=True)) for report in (other, own)]
        ctx.emit(AccountingCompared, artifact_id=event.artifact_id, outcome=outcome, reports=reports)
        if outcome != "match":
            ctx.alert(outcome, artifact_id=event.artifact_id)


def _outcome(one: tuple, other: tuple) -> str:
    _, method, version, scope, units, value = one
    if (method, version, units) != (other[1], other[2], other[4]):
        return "method_drift"
    if scope != other[3]:
        return "scope_drift"
    return "match" if value == other[5] else "value_drift"
