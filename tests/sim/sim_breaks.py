"""What stands in a mutant's place: each makes, from the real function, one that breaks a guarantee of core or wire."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from plangate.core.memory import recall
from plangate.core.spans import settle_pins
from plangate.shell.logs import logger
from plangate.wire.decode import Rejected

Any_ = Callable[..., Any]


def nothing(_: Any) -> Any_:
    return lambda *_, **__: None


def none(_: Any) -> Any_:
    return lambda *_, **__: []


def nobody(_: Any) -> Any_:
    return lambda *_: set()


# -- deciding ------------------------------------------------------------------------------------------------


def suppressing(propose: Any_) -> Any_:
    def instead(ctx: Any, plan: Any) -> None:
        if recall(ctx.window, plan.plan_id) is None:
            propose(ctx, plan)

    return instead


def of_this_generation(_: Any) -> Any_:
    def instead(window: Any, plan_id: str) -> Any:
        held = window.decisions.get(plan_id)
        return None if held is None or held.generation != window.head.generation else recall(window, plan_id)

    return instead


def commit_unseen(changed: Any_) -> Any_:
    def instead(self: Any, event: str, *args: Any, **named: Any) -> None:
        changed(self, event, *args, **named)
        if event.startswith(("commit", "plan_", "budget_")):
            self.window.head.generation -= 1

    return instead


def _with_head(**fields: Any) -> Callable[[Any_], Any_]:
    def make(decide: Any_) -> Any_:
        def instead(ctx: Any, plan: Any) -> Any:
            head = ctx.window.head
            held = {name: getattr(head, name) for name in fields}
            for name, value in fields.items():
                setattr(head, name, value)
            try:
                return decide(ctx, plan)
            finally:
                if head.pending is None or "pending" not in fields:
                    for name, value in held.items():
                        setattr(head, name, value)

        return instead

    return make


nothing_pending = _with_head(pending=None)
no_gap = _with_head(gap=False)


def any_generation(decide: Any_) -> Any_:
    def instead(ctx: Any, plan: Any) -> Any:
        if hasattr(plan, "window_generation"):
            plan.window_generation = ctx.window.head.generation
        return decide(ctx, plan)

    return instead


def nothing_open(decide: Any_) -> Any_:
    def instead(ctx: Any, plan: Any) -> Any:
        opened = [span for span in ctx.window.spans.values() if span.open]
        for span in opened:
            span.open = False
        try:
            return decide(ctx, plan)
        finally:
            for span in opened:
                span.open = True

    return instead


def without_reverse(link: Any_) -> Any_:
    def instead(self: Any, span: Any) -> None:
        link(self, span)
        for needed in span.depends:
            self.dependents.discard(needed, span.id)

    return instead


def trusting(_: Any) -> Any_:
    return lambda window, new, *, signed: settle_pins(window, new, signed=True)


def everybody(authority: Any) -> Any:
    return {*authority, "ci_runner"}


# -- bytes ---------------------------------------------------------------------------------------------------


def silent(process: Any_) -> Any_:
    return lambda *args: [out for out in process(*args) if out.topic != "dead-letters"]


def raising(decode: Any_) -> Any_:
    def instead(value: bytes, limit: int) -> Any:
        decoded = decode(value, limit)
        if isinstance(decoded, Rejected):
            raise ValueError(decoded.reason)
        return decoded

    return instead


def talkative(decode: Any_) -> Any_:
    def instead(value: bytes, limit: int) -> Any:
        decoded = decode(value, limit)
        if isinstance(decoded, Rejected):
            logger.warning("bad_record", error=f"{decoded.reason}: {value[:100]!r}")
        return decoded

    return instead


def repeating(dead_letter: Any_) -> Any_:
    def instead(self: Any, record: Any, reason: str, path: str | None) -> Any:
        return dead_letter(self, record, f"{reason}: {(record.value or b'')[:100]!r}", path)

    return instead


def all_headers(_: Any) -> Any_:
    return lambda headers: list(headers)
