"""An asyncio loop without a clock, sockets or threads: time is a number, and processes live and die inside it.

Each handle that the loop runs is one stretch of a coroutine between two awaits. A process is a context variable: its
tasks, timers and callbacks inherit it, so all of them can be dropped (a crash) or held back (a stopped process) at any
await point.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from contextvars import Context, ContextVar
from heapq import heappop, heappush
from typing import Any


class Killed(BaseException):
    """The process is gone; nothing of it runs any more."""


class Process:
    """`crash_at`: after how many handles it dies; `steps`: how many it ran."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.dead = False
        self.paused = False
        self.held: list[asyncio.Handle] = []
        self.steps = 0
        self.crash_at = -1
        self.on_crash: Callable[[], None] = lambda: None


PROCESS: ContextVar[Process | None] = ContextVar("process", default=None)
NOBODY = Context()


class Loop(asyncio.AbstractEventLoop):
    """As much of an event loop as asyncio's tasks, futures, events and timeouts use."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.steps = 0
        self.tasks: list[asyncio.Task[Any]] = []
        self._ready: deque[asyncio.Handle] = deque()
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._count = 0

    def time(self) -> float:
        return self.now

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return False

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Nothing: what a dead process leaves behind is no news, and what a live one dies of reaches its `fail`."""

    def call_soon(self, callback: Any, *args: Any, context: Context | None = None) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_at(self, when: float, callback: Any, *args: Any, context: Context | None = None) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        self._count += 1
        heappush(self._timers, (when, self._count, handle))
        return handle

    def call_later(self, delay: float, callback: Any, *args: Any, context: Context | None = None) -> Any:
        return self.call_at(self.now + delay, callback, *args, context=context)

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Called by cancelled timers; they are skipped when their time comes."""

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(self, coro: Any, *, name: Any = None, context: Context | None = None) -> asyncio.Task[Any]:
        task = asyncio.Task(coro, loop=self, name=name, context=context)
        self.tasks.append(task)  # a dead process's coroutines must not be collected, their `finally` would run
        return task

    def spawn(self, process: Process, coro: Coroutine[Any, Any, Any]) -> None:
        """Start a coroutine in a process."""
        context = NOBODY.copy()
        context.run(PROCESS.set, process)
        self.create_task(coro, context=context)

    def after(self, delay: float, callback: Callable[..., Any], *args: Any) -> None:
        """Call from outside every process, whoever asks."""
        self.call_later(delay, callback, *args, context=NOBODY)

    def resume(self, process: Process) -> None:
        """Let a stopped process go on where it was; what came due meanwhile comes at once."""
        process.paused = False
        self._ready.extend(process.held)
        process.held = []

    def close(self) -> None:
        """End what is still waiting, in dead processes and live ones, without a sound."""
        for task in self.tasks:
            task._log_destroy_pending = False  # type: ignore[attr-defined]
            with suppress(BaseException):  # a `finally` that would await
                task.get_coro().close()  # type: ignore[union-attr]
        self.tasks.clear()
        self._ready.clear()
        self._timers.clear()

    def run_until(self, done: Callable[[], bool], limit: int) -> bool:
        """Run handles until `done` holds (True), or `limit` of them were run or none is left (False)."""
        asyncio._set_running_loop(self)
        try:
            for number in range(limit):
                if number % 8 == 0 and done():
                    return True
                if not self._ready and not self._wait():
                    break
                self._run_one(self._ready.popleft())
            return done()
        finally:
            asyncio._set_running_loop(None)

    def _wait(self) -> bool:
        while self._timers:
            when, _, handle = heappop(self._timers)
            if not handle.cancelled():
                self.now = max(self.now, when)
                self._ready.append(handle)
                return True
        return False

    def _run_one(self, handle: asyncio.Handle) -> None:
        self.steps += 1
        if handle.cancelled():
            return
        process = handle._context.get(PROCESS)
        if process is not None:
            if process.dead:
                return
            if process.paused:
                process.held.append(handle)
                return
            if process.steps == process.crash_at:
                process.on_crash()
                return
            process.steps += 1
        handle._run()
