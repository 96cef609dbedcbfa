"""The rate is kept, its ceiling never broken, and a ramp finds where a gate falls behind."""

import random

import pytest

from plangate.load.pace import Pacer, Ramp


def sends(rate: float, ceiling: float, seconds: float, tick: float, seed: int = 1) -> list[float]:
    """Times of all records sent by a sender that wakes at uneven times and sometimes hangs."""
    dice, now, times = random.Random(seed), 0.0, []
    pacer = Pacer(rate, ceiling, now)
    while now < seconds:
        now += dice.uniform(0.2, 1.8) * tick + (0.7 if dice.random() < 0.01 else 0)
        number = pacer.due(now)
        pacer.took(number, now)
        times += [now] * number
    return times


def most_in_a_second(times: list[float]) -> int:
    most = left = 0
    for right, at in enumerate(times):
        while times[left] <= at - 1:
            left += 1
        most = max(most, right - left + 1)
    return most


def test_the_rate_is_kept() -> None:
    pacer = Pacer(200, 10_000, 0.0)
    sent = 0
    for tick in range(1, 1001):
        number = pacer.due(tick * 0.01)
        pacer.took(number, tick * 0.01)
        sent += number
    assert sent == pytest.approx(2000, abs=1)
    assert pacer.missed == 0


@pytest.mark.parametrize("ceiling", [1, 7, 100])
def test_no_second_has_more_than_the_ceiling(ceiling: int) -> None:
    for seed in range(5):
        times = sends(1000, ceiling, 30, 0.01, seed)
        assert times
        assert most_in_a_second(times) <= ceiling


def test_what_was_missed_is_counted_and_not_caught_up_with() -> None:
    pacer = Pacer(100, 10_000, 0.0)
    assert pacer.due(10.0) == 10
    assert pacer.missed == pytest.approx(990)


def test_the_ramp_goes_up_until_the_lag_grows_then_back_one_step() -> None:
    ramp = Ramp(100, 2, 10, 0.0, limit=10_000)
    assert [ramp.observe(at, 0) for at in (5, 10, 15, 20)] == [100, 200, 200, 400]
    assert ramp.observe(30, 900) == 200
    assert ramp.found
    assert ramp.observe(40, 5000) == 200
    assert ramp.steps == [(100, 0), (200, 0), (400, 900)]


def test_a_lag_that_shrinks_or_is_small_is_no_limit() -> None:
    ramp = Ramp(100, 2, 10, 0.0, limit=10_000)
    ramp.observe(10, 150)
    ramp.observe(20, 100)
    assert not ramp.found


def test_the_ramp_stays_below_its_limit() -> None:
    ramp = Ramp(100, 2, 1, 0.0, limit=350)
    rates = [ramp.observe(at, 0) for at in range(1, 6)]
    assert rates == [200, 350, 350, 350, 350]
    assert not ramp.found
