"""Command line of the simulation."""

from __future__ import annotations

import argparse

from sim_check import check
from sim_fleet import main as run_many
from sim_mutants import table
from sim_world import World


def main(arguments: list[str]) -> int:
    """Status 1 if anything was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.sim", description=__doc__)
    parser.add_argument("seed", type=int, nargs="?", help="run this seed alone and show what happened in it")
    parser.add_argument("--seeds", type=int, default=3000, help="how many seeds to run, from --first on")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--mutants", action="store_true", help="break the product on purpose and show what catches it")
    chosen = parser.parse_args(arguments)
    if chosen.seed is not None:
        return show(chosen.seed)
    return run_many(chosen.first, chosen.seeds) | (break_all() if chosen.mutants else 0)


def break_all() -> int:
    """The table of mutants; status 1 if one is not caught."""
    print()
    missed = 0
    for line in table():
        print(line, flush=True)
        missed += "NOT CAUGHT" in line
    return min(missed, 1)


def show(seed: int) -> int:
    """One seed with its trace."""
    world = World(seed, trace=print)
    print(f"seed {seed}: {world.plan}")
    world.run()
    findings = list(check(world))
    for name, words in findings:
        print(f"FOUND {name}: {words}")
    print(f"seed {seed}: {len(findings)} findings in {world.loop.steps} steps")
    return 1 if findings else 0
