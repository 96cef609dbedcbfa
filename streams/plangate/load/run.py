"""One run: sends at the pace, reads answers, takes samples, and stops in good order."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

import aiohttp
import msgspec

from .bus import Bus
from .decision import read_decision
from .figures import Sample, quantiles
from .fleet import Fleet, Outgoing
from .ledger import Ledger
from .pace import Pacer, Ramp
from .scrape import cpu_shares, scrape

TICK_SECONDS = 0.004


class Course(msgspec.Struct, frozen=True, kw_only=True):
    """How long and how fast. Rates in records a second; a `ramp_factor` of 1 is no ramp; 0 records: no such stop."""

    rate: float
    ceiling: float
    seconds: float
    records: int = 0
    ramp_factor: float = 1.0
    ramp_step: float = 15.0
    drain: float = 30.0
    sample: float = 1.0
    workers: Sequence[str] = ()


class Run:
    """State of one run; `samples`, `ledger` and the counts are what the report is made of."""

    def __init__(self, bus: Bus, fleet: Fleet, course: Course, tell: Callable[[Sample], None]) -> None:
        self.ledger = Ledger()
        self.fleet = fleet
        self.samples: list[Sample] = []
        self.sent = self.failed = self.unreadable = 0
        self.started_unix = 0.0
        self.sending_seconds = 0.0
        self.stopped = asyncio.Event()
        self._news = asyncio.Event()
        self.why = ""
        self.lag_at_end: int | None = None
        self._bus, self._course, self._tell = bus, course, tell
        self._fresh: list[float] = []
        self._answers = 0
        self.ramp: Ramp | None = None

    def stop(self, why: str) -> None:
        """Send no more; the first cause is kept."""
        self.why = self.why or why
        self.stopped.set()

    async def go(self) -> None:
        """All of it. Returns when every answer that was due was read, or the drain time is over."""
        self._start = time.monotonic()
        self.started_unix = time.time()
        course = self._course
        self.pacer = Pacer(course.rate, course.ceiling, self._start)
        if course.ramp_factor > 1:
            self.ramp = Ramp(course.rate, course.ramp_factor, course.ramp_step, self._start, course.ceiling)
        async with aiohttp.ClientSession() as session:
            helpers = [asyncio.create_task(self._read()), asyncio.create_task(self._sample(session))]
            try:
                await self._send_all()
                await self._close()
            finally:
                for helper in helpers:
                    helper.cancel()
                results = await asyncio.gather(*helpers, return_exceptions=True)
        for result in results:
            if isinstance(result, Exception):
                raise result

    async def _send_all(self) -> None:
        end = self._start + self._course.seconds
        while not self.stopped.is_set():
            now = time.monotonic()
            if now >= end:
                return self._end("time is over")
            took = 0
            for _ in range(self.pacer.due(now)):
                outgoing = self.fleet.next(now)
                if outgoing is None:
                    break
                await self._send(outgoing)
                took += 1
                if self._course.records and self.sent >= self._course.records:
                    return self._end("record count reached")
            self.pacer.took(took, time.monotonic())
            await asyncio.sleep(TICK_SECONDS)
        self._end(self.why)

    def _end(self, why: str) -> None:
        self.sending_seconds = time.monotonic() - self._start
        self.stop(why)

    async def _send(self, outgoing: Outgoing) -> None:
        self.sent += 1
        entry = self.ledger.sent(outgoing.proposal, time.monotonic()) if outgoing.proposal else None

        def done(acknowledged: bool) -> None:
            if not acknowledged:
                self.failed += 1
            elif entry:
                entry.acknowledged += 1

        await self._bus.send(outgoing.window_id, outgoing.value, done)

    async def _close(self) -> None:
        """Wait for the answers, then close the windows at the ceiling's pace."""
        await self._bus.flush()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._course.drain):
                while self.ledger.unanswered:
                    self._news.clear()
                    await self._news.wait()
                    await asyncio.sleep(0.05)  # the account is gone through for many answers at once
        self.lag_at_end = await self._bus.lag()
        for outgoing in self.fleet.close():
            await self._bus.send(outgoing.window_id, outgoing.value, lambda _: None)
            await asyncio.sleep(1 / self._course.ceiling)
        await self._bus.flush()

    async def _read(self) -> None:
        async for value in self._bus.decisions():
            now = time.monotonic()
            try:
                decision = read_decision(value)
            except msgspec.DecodeError:
                self.unreadable += 1
                continue
            self._answers += 1
            self._news.set()
            if first := self.ledger.answered(decision, value, now):
                proposal, latency = first
                self._fresh.append(latency)
                self.fleet.decided(proposal, decision, now)

    async def _sample(self, session: aiohttp.ClientSession) -> None:
        at, sent, answers, workers = self._start, 0, 0, {}
        while True:
            await asyncio.sleep(self._course.sample)
            lag, figures = await asyncio.gather(self._bus.lag(), scrape(session, self._course.workers))
            now = time.monotonic()
            shares = dict(cpu_shares(workers, figures, now - at))
            sample = Sample(
                at=now - self._start,
                target=0.0 if self.stopped.is_set() else self.pacer.rate,
                sent=(self.sent - sent) / (now - at),
                answered=(self._answers - answers) / (now - at),
                lag=lag,
                latency=quantiles(self._fresh),
                workers={
                    host: told | ({"cpu_cores": shares[host]} if host in shares else {})
                    for host, told in figures.items()
                },
            )
            self._fresh.clear()
            at, sent, answers, workers = now, self.sent, self._answers, figures
            self.samples.append(sample)
            self._tell(sample)
            if self.ramp and lag is not None and not self.stopped.is_set():
                self.pacer.rate = self.ramp.observe(now, lag)
