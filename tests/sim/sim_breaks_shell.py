"""Breakages of the shell for mutants: publishing, taking over, reading the changelog back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from aiokafka import TopicPartition

from plangate.shell.publish import _changes, _end, _outputs

Any_ = Callable[..., Any]


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


def offset_apart(publish: Any_) -> Any_:
    async def instead(self: Any, outputs: Any, changes: Any, next_offset: int) -> int | None:
        source = TopicPartition(self._names.source, self._names.partition)
        await self._producer.begin_transaction()
        await self._producer.send_offsets_to_transaction({source: next_offset}, self._names.group_id)
        await self._producer.commit_transaction()
        return await publish(self, outputs, changes, next_offset)

    return instead


def own_id(start: Any_) -> Any_:
    async def instead(self: Any) -> None:
        self._id = self._id and f"{self._id}-{self._network.name}"
        await start(self)

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
