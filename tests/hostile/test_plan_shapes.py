"""Large plans on long, wide and comb-like dependencies: the work grows with the window, and nothing recurses.

Work is counted: each line of Python that is run. Seconds of a shared machine would prove nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest
from lines_run import lines
from wirekit import Bench, Json

#: the most entries that a plan may have
MOST = 20_000
SMALL = 500


def chain(n: int) -> list[list[int]]:
    """Each depends on the one before."""
    return [[i - 1] if i else [] for i in range(n)]


def star(n: int) -> list[list[int]]:
    """All depend on the first."""
    return [[0] if i else [] for i in range(n)]


def comb(n: int) -> list[list[int]]:
    """A chain of which every second span is a tooth: it depends on the last of the chain, and nothing on it."""
    return [[] if i == 0 else [i - 1] if i % 2 else [i - 2] for i in range(n)]


SHAPES = (chain, star, comb)
Entry = tuple[str, bool]
#: what goes: all but the last, only the head (so that the rest is orphaned), or every second span
PLANS: dict[str, Callable[[int, int], bool]] = {
    "all but the last": lambda i, n: i < n - 1,
    "the head": lambda i, n: i == 0,
    "every second": lambda i, n: i % 2 == 0,
}


def window(shape: Callable[[int], list[list[int]]], n: int) -> tuple[Bench, int]:
    bench = Bench()
    spans: list[Json] = [
        {"span_id": f"s{i}", "cost_units": 1, "depends_on": [f"s{d}" for d in needed]}
        for i, needed in enumerate(shape(n))
    ]
    for start in range(0, n, 1_000):
        bench.send({"type": "span_appended", "window_id": "w", "spans": spans[start : start + 1_000]})
    return bench, bench.windows["w"].head.generation


def proposal(goes: Callable[[int, int], bool], n: int, generation: int, amendable: bool) -> Json:
    entries = [
        {"span_id": f"s{i}", "relevance": 0.5, "cited_dependencies": [],
         "disposition": "evict" if goes(i, n) else "keep"}
        for i in range(n)
    ]  # fmt: skip
    return {"type": "plan_proposed", "window_id": "w", "plan_id": "p", "window_generation": generation,
            "entries": entries, "amendable": amendable}  # fmt: skip


def growth(cost: Callable[[int], int]) -> list[float]:
    costs = [cost(SMALL << step) for step in range(3)]
    return [after / before for before, after in zip(costs, costs[1:], strict=False)]


@pytest.mark.parametrize("amendable", [False, True])
@pytest.mark.parametrize("goes", PLANS)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_work_of_a_plan_grows_with_it(shape: Any, goes: str, amendable: bool) -> None:
    def cost(n: int) -> int:
        bench, generation = window(shape, n)
        return lines(lambda: bench.send(proposal(PLANS[goes], n, generation, amendable)))

    assert max(growth(cost)) < 2.3


@pytest.mark.parametrize("shape", SHAPES)
def test_the_work_of_the_planner_grows_with_the_window(shape: Any) -> None:
    def cost(n: int) -> int:
        bench, _ = window(shape, n)
        request = {"type": "budget_requested", "window_id": "w", "request_id": "q", "budget_units": n // 2,
                   "planner": "dependency-closed/1"}  # fmt: skip
        return lines(lambda: bench.send(request))

    assert max(growth(cost)) < 2.3


@pytest.mark.parametrize("shape", SHAPES)
def test_the_largest_plan_needs_no_depth(shape: Any) -> None:
    """With room for 60 frames more than here, though the chain is 20,000 long."""
    bench, generation = window(shape, MOST)
    plans = [
        {**proposal(goes, MOST, generation, amendable), "plan_id": f"{name} {amendable}"}
        for name, goes in PLANS.items()
        for amendable in (False, True)
    ]
    limit, depth, frame = sys.getrecursionlimit(), 0, sys._getframe()
    while frame := frame.f_back:  # type: ignore[assignment]
        depth += 1
    types = []
    sys.setrecursionlimit(depth + 60)
    try:
        for offered in plans:
            if bench.windows["w"].head.generation == generation:
                types.append(bench.send(offered)[0]["type"])
        bench.send({"type": "budget_requested", "window_id": "w", "request_id": "q", "budget_units": 10,
                    "planner": "dependency-closed/1"})  # fmt: skip
    finally:
        sys.setrecursionlimit(limit)
    assert "plan_refused" in types


def test_the_count_sees_a_square() -> None:
    def square(n: int) -> int:
        return lines(lambda: [None for _ in range(n) for _ in [sum_of(n // 50)]])

    def sum_of(n: int) -> int:
        total = 0
        for i in range(n):
            total += i
        return total

    assert min(growth(square)) > 3
