"""What stands in a mutant's place: each makes, from the real function, one that breaks a guarantee."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from aiokafka import TopicPartition

from plangate.core.memory import recall
from plangate.core.spans import settle_pins
from plangate.shell.logs import logger
from plangate.shell.publish import _changes, _end, _outputs
from plangate.wire.decode import Rejected

Any_ = Callable[..., Any]


def nothing(_: Any) -> Any_:
    return lambda *_, **__: None


def none(_: Any) -> Any_:
    return lambda *_, **__: []


def nobody(_: Any) -> Any_:
    return lambda *_: set()


def knows_none(_: Any) -> Any_:
    return lambda *_: None


# -- publishing ----------------------------------------------------------------------------------------------


def offset_first(_: Any) -> Any_:
    async def publish(self: Any, outputs: Any, changes: Any, next_offset: int) -> int | None:
        self._probe("begun")
        await self._commit(self._names.partition, next_offset)
        self._probe("committed")
        await asyncio.gather(*await self._sender.send(_outputs(self._names, outputs)))
        self._probe("outputs_sent")
        written = await self._sender.send(_changes(self._names, changes))
        await asyncio.gather(*written)
        self._probe("changes_sent")
        return await _end(written, markers=0)

    return publish


def offset_in_its_own_transaction(publish: Any_) -> Any_:
    async def instead(self: Any, outputs: Any, changes: Any, next_offset: int) -> int | None:
        source = TopicPartition(self._names.source, self._names.partition)
        await self._producer.begin_transaction()
        await self._producer.send_offsets_to_transaction({source: next_offset}, self._names.group_id)
        await self._producer.commit_transaction()
        return await publish(self, outputs, changes, next_offset)

    return instead


def state_first(_: Any) -> Any_:
    async def publish(self: Any, outputs: Any, changes: Any, next_offset: int) -> int | None:
        self._probe("begun")
        written = await self._sender.send(_changes(self._names, changes))
        await asyncio.gather(*written)
        self._probe("outputs_sent")
        await asyncio.gather(*await self._sender.send(_outputs(self._names, outputs)))
        self._probe("changes_sent")
        await self._commit(self._names.partition, next_offset)
        self._probe("committed")
        return await _end(written, markers=0)

    return publish


# -- taking over and reading back ----------------------------------------------------------------------------


def any_fetch(_: Any) -> Any_:
    def feed(self: Any, fetch: Any) -> None:
        if self.ready:
            self._queue.extend(record for record in fetch.records if record.offset >= self.expected)
            self.expected = max(self.expected, fetch.end)
            self._wake.set()

    return feed


def keeping(run: Any_) -> Any_:
    async def instead(self: Any, known: Any = None) -> Any:
        found = await run(self, known)
        return found if known is None else known

    return instead


def reading_first(take_over: Any_) -> Any_:
    async def instead(self: Any) -> None:
        found = await self._recovery.run(self.store)

        async def again(known: Any = None) -> Any:
            return found

        self._recovery.run = again
        await take_over(self)

    return instead


def generation_reset(apply: Any_) -> Any_:
    def instead(*args: Any, **named: Any) -> Any:
        window = apply(*args, **named)
        window.head.generation = 0
        return window

    return instead


def no_deletions(apply: Any_) -> Any_:
    def instead(window: Any, patch: bytes, *rest: Any, **named: Any) -> Any:
        held = (
            None if window is None else {name: dict(getattr(window, name)) for name in ("spans", "left", "decisions")}
        )
        window = apply(window, patch, *rest, **named)
        for name, before in (held or {}).items():
            for key in before.keys() - getattr(window, name).keys():
                getattr(window, name)[key] = before[key]
        return window

    return instead


def backwards(chain: Any_) -> Any_:
    def instead(self: Any) -> Any:
        first, *rest = list(chain(self)) or [None]
        return iter(() if first is None else (first, *reversed(rest)))

    return instead


def without_the_last(chain: Any_) -> Any_:
    return lambda self: iter(list(chain(self))[:-1] or list(chain(self)))


def oldest(_: Any) -> Any_:
    def instead(*items: Any, key: Any = None, **named: Any) -> Any:
        if key is None:
            return max(*items, **named)
        found = list(items[0])
        return min((one for one in found if key(one) >= 0), key=key, default=found[0])

    return instead


def deleting_early(collect: Any_) -> Any_:
    def instead(self: Any, touched: Any) -> Any:
        changes = collect(self, touched)
        due = list(self._due_tombstones())
        self._tombstones.clear()
        return [*due, *changes]

    return instead


def without_decisions(touched: Any_) -> Any_:
    def instead(*args: Any) -> Any:
        found = touched(*args)
        for _, window in found:
            window.decisions.dirty.clear()
        return found

    return instead


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
