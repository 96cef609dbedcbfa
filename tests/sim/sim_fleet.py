"""Many seeds over the processors, and the table of figures."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from sim_check import CHECKS, Finding, check
from sim_named import LEAST, named, situations
from sim_world import World

COMMAND = ".venv/bin/python -m tests.sim {seed}"
SHARE = 50  # seeds that a process takes at a time


@dataclass
class Result:
    """`seeds`: in how many a situation came up; `times`: how often it was noted."""

    count: int = 0
    steps: int = 0
    seeds: Counter[str] = field(default_factory=Counter)
    times: Counter[str] = field(default_factory=Counter)
    findings: list[tuple[int, Finding]] = field(default_factory=list)

    def add(self, other: Result) -> None:
        self.count += other.count
        self.steps += other.steps
        self.seeds += other.seeds
        self.times += other.times
        self.findings += other.findings

    @property
    def rare(self) -> list[str]:
        """Named situations that came up in too few seeds."""
        return [f"{name}: {self.seeds[name]} of {LEAST}" for name in named() if self.seeds[name] < LEAST]


def run_share(seeds: range) -> Result:
    """Some seeds, one after another. What is raised is a finding too."""
    result = Result()
    for seed in seeds:
        try:
            world = World(seed).run()
            result.findings += [(seed, finding) for finding in check(world)]
            result.seeds.update(situations(world))
            result.times.update(world.notes)
            result.steps += world.loop.steps
        except Exception as error:
            result.findings.append((seed, Finding("error", repr(error))))
        result.count += 1
    return result


def run_seeds(first: int, count: int, processes: int = 0) -> Result:
    """All seeds from the first on."""
    shares = [range(start, min(start + SHARE, first + count)) for start in range(first, first + count, SHARE)]
    result = Result()
    processes = processes or min(os.cpu_count() or 1, 8)
    context = multiprocessing.get_context("spawn")
    with context.Pool(processes) as pool:
        for part in pool.imap(run_share, shares):
            result.add(part)
            if result.count % 5_000 == 0:
                print(f"{result.count} seeds, {len(result.findings)} findings", file=sys.stderr, flush=True)
    return result


def report(result: Result) -> Iterable[str]:
    """Lines of the table: faults that took effect, situations, findings."""
    yield f"simulation: {result.count} seeds, {result.steps} steps between awaits"
    yield ""
    yield f"{'seeds':>8} {'times':>8}  named situation (each in {LEAST} seeds or more)"
    for name in named():
        yield f"{result.seeds[name]:>8} {result.times[name] or '':>8}  {name}"
    yield ""
    yield f"{'found':>8}  checker"
    counts = Counter(finding.check for _, finding in result.findings)
    for name in (*CHECKS, *sorted(set(counts) - set(CHECKS))):
        yield f"{counts[name]:>8}  {name}"
    shown: set[int] = set()
    for seed, finding in result.findings:
        if seed not in shown and len(shown) < 10:
            shown.add(seed)
            yield f"seed {seed}: {finding.check}: {finding.words[:400]}"
            yield f"  {COMMAND.format(seed=seed)}"
    for line in result.rare:
        yield f"TOO RARE {line}"


def main(first: int, count: int) -> int:
    """Status 1 if there is a finding, or a situation came up too rarely."""
    result = run_seeds(first, count)
    for line in report(result):
        print(line)
    sys.stdout.flush()
    return 1 if result.findings or result.rare else 0
