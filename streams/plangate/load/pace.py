"""When to send: a rate, a ceiling over it, and a ramp that looks for the rate at which the gate falls behind."""

from __future__ import annotations

from collections import deque

BURST_SECONDS = 0.1


class Pacer:
    """How many records may be sent now. A rate that was missed is not caught up with.

    `ceiling` is hard: there is no span of one second in which more than so many are sent, whatever the rate.
    """

    def __init__(self, rate: float, ceiling: float, now: float) -> None:
        self.rate = rate
        self.missed = 0.0  # records that the rate asked for and that were not sent
        self._ceiling = max(1, int(ceiling))
        self._at = now
        self._due = 0.0
        self._sent: deque[float] = deque()

    def due(self, now: float) -> int:
        """Records that may be sent at `now`; call `took` with how many were."""
        self._due += self.rate * (now - self._at)
        self._at = now
        most = max(1.0, self.rate * BURST_SECONDS)
        if self._due > most:
            self.missed += self._due - most
            self._due = most
        while self._sent and self._sent[0] <= now - 1:
            self._sent.popleft()
        return min(int(self._due), self._ceiling - len(self._sent))

    def took(self, number: int, now: float) -> None:
        self._due -= number
        self._sent.extend([now] * number)


class Ramp:
    """Raises the rate step by step until the lag grows over a whole step, then goes back one step and stays there.

    Growing: at the step's end more than two seconds' worth of records wait, and more than at its start.
    """

    def __init__(self, rate: float, factor: float, step_seconds: float, now: float, limit: float) -> None:
        self.rate = rate
        self.steps: list[tuple[float, int]] = []  # rate, lag at the end of its step
        self.found = False
        self._factor, self._seconds, self._limit = factor, step_seconds, limit
        self._ends = now + step_seconds
        self._lag_before = 0

    def observe(self, now: float, lag: int) -> float:
        """The rate to go on with."""
        if self.found or now < self._ends:
            return self.rate
        self.steps.append((self.rate, lag))
        if lag > 2 * self.rate and lag > self._lag_before:
            self.found = True
            self.rate /= self._factor
        elif self.rate < self._limit:
            self.rate = min(self.rate * self._factor, self._limit)
        self._lag_before, self._ends = lag, now + self._seconds
        return self.rate
