"""What is measured on the way: one sample for each interval, and quantiles."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

import msgspec


class Sample(msgspec.Struct, kw_only=True):
    """One interval. `at`: seconds since the start, at its end. Rates in records a second, latencies in seconds."""

    at: float
    target: float
    sent: float
    answered: float
    lag: int | None = None
    latency: list[float] | None = None  # p50, p95, p99, max
    workers: dict[str, dict[str, float]] = msgspec.field(default_factory=dict)


QUANTILES = (0.5, 0.95, 0.99, 1.0)


def quantiles(values: Sequence[float]) -> list[float] | None:
    """p50, p95, p99 and the maximum by nearest rank; None of nothing."""
    if not values:
        return None
    ordered = sorted(values)
    return [ordered[max(0, ceil(share * len(ordered)) - 1)] for share in QUANTILES]
