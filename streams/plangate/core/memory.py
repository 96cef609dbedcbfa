"""What a window remembers of its decisions and of event ids (contract sections 2 and 4, step 1)."""

from __future__ import annotations

from itertools import takewhile

from .context import Context
from .policy import Policy
from .records import Decision, PlanRefused, Repeated, fit
from .state import Decided, Tracked
from .window import Window


def recall(window: Window, plan_id: str) -> Repeated | None:
    """The recorded decision of a plan, if it is still remembered."""
    held = window.decisions.get(plan_id)
    return None if held is None else Repeated(held.value, held.refused, window.head.window_id)


def record(ctx: Context, decision: Decision) -> bytes:
    """Emit a decision and remember its bytes; forget what is neither among the newest nor of this generation."""
    window, head = ctx.window, ctx.window.head
    fitted, value = fit(decision, ctx.policy.limits.record_bytes)
    ctx.out.append(fitted)
    if not head.seen:
        return value
    if decision.plan_id in window.decisions:
        del window.decisions[decision.plan_id]
    window.decisions[decision.plan_id] = Decided(
        head.decided, head.generation, isinstance(decision, PlanRefused), value
    )
    head.decided += 1
    for key in list(window.decisions)[: max(0, len(window.decisions) - ctx.policy.decisions_remembered)]:
        if window.decisions[key].generation == head.generation:
            break
        del window.decisions[key]
    return value


def too_many(window: Window, policy: Policy) -> bool:
    """Whether this generation has as many proposals, or answers of as many bytes, as the policy allows."""
    head, most = window.head, policy.limits.answer_bytes
    if head.proposals >= policy.proposals_per_generation:
        return True
    if head.proposals * policy.limits.record_bytes < most:
        return False  # not even if each answer filled its record
    of_generation = takewhile(lambda held: held.generation == head.generation, reversed(window.decisions.values()))
    return sum(len(held.value) for held in of_generation) >= most


def seen_before(window: Window, event_id: str | None, *, signed: bool) -> bool:
    memory = window.signed_event_ids if signed else window.event_ids
    return event_id is not None and event_id in memory


def remember_event(window: Window, event_id: str | None, *, signed: bool) -> None:
    if event_id is None:
        return
    memory: Tracked[int] = window.signed_event_ids if signed else window.event_ids
    memory[event_id] = window.head.remembered
    window.head.remembered += 1
    while len(memory) > window.policy.limits.event_ids_remembered:
        del memory[next(iter(memory))]
