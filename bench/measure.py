"""Timing that stands on a noisy machine: interleaved repeats, and the ratio of each repeat's neighbours."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from time import thread_time
from typing import Any

#: sets up one repeat, untimed, and gives the work whose time counts
Job = Callable[[], Callable[[], Any]]


@dataclass(frozen=True)
class Spread:
    """Smallest, middle and largest of several figures."""

    low: float
    middle: float
    high: float

    @classmethod
    def of(cls, figures: list[float]) -> Spread:
        return cls(min(figures), median(figures), max(figures))

    def scaled(self, factor: float) -> Spread:
        return Spread(self.low * factor, self.middle * factor, self.high * factor)

    def __str__(self) -> str:
        return " / ".join(_short(figure) for figure in (self.low, self.middle, self.high))


def _short(figure: float) -> str:
    return f"{figure:,.0f}" if figure >= 100 else f"{figure:.3g}"


def interleaved(jobs: Mapping[str, Job], repeats: int, times: int = 1) -> dict[str, list[float]]:
    """Processor seconds of each job in each repeat, after one repeat that does not count.

    In a repeat the jobs take turns, ``times`` times over, and each one's median is its figure. The collector is off
    while they run, for all jobs alike.
    """
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    for number in range(repeats + 1):
        gc.collect()
        turns = [{name: _once(job) for name, job in jobs.items()} for _ in range(times)]
        for name in jobs:
            if number:
                seconds[name].append(median(turn[name] for turn in turns))
    return seconds


def _once(job: Job) -> float:
    work = job()
    gc.disable()
    try:
        began = thread_time()
        work()
        return thread_time() - began
    finally:
        gc.enable()


def ratios(ours: list[float], theirs: list[float]) -> Spread:
    """``ours`` by ``theirs``, repeat by repeat."""
    return Spread.of([one / other for one, other in zip(ours, theirs, strict=True)])
