"""The product broken on purpose, one guarantee at a time, and the check that must see it.

A mutant replaces real functions of the product while the world runs; the checks run with the product whole again.
Promises are numbered as docs/faults.md numbers them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from random import Random
from typing import Any
from unittest.mock import patch

import sim_breaks as breaks
import sim_breaks_shell as shell_breaks
from sim_check import check
from sim_clients import SimProducer
from sim_faults import plan_for
from sim_world import World

from plangate.core import context, gate, host, judge, step
from plangate.core.orphans import Analysis
from plangate.core.window import Window
from plangate.shell import changelog, changelog_reader, publish, store, task
from plangate.wire import engine

PATIENCE = 150
Replaced = tuple[Any, str, Callable[[Any], Any]]


@dataclass(frozen=True)
class Mutant:
    """`sees`: the check that catches it, last time in seed `first`; `seeds`: words in the names of the strata tried."""

    first: int
    promise: int
    what: str
    sees: str
    replaced: tuple[Replaced, ...]
    seeds: str = ""


def _m(first: int, promise: int, what: str, sees: str, *replaced: Replaced, seeds: str = "") -> Mutant:
    return Mutant(first, promise, what, sees, replaced, seeds)


MUTANTS = (
    _m(37, 1, "the offset is moved before the outputs are out", "lost",
       (publish.AcknowledgedPublisher, "publish", shell_breaks.offset_first), seeds="acknowledgements: begun"),
    _m(3, 1, "offsets are committed in a transaction before the outputs'", "lost",
       (publish.TransactionalPublisher, "publish", shell_breaks.offset_apart), seeds="transactions: begun"),
    _m(40, 1, "state is published before the outputs", "lost",
       (publish.AcknowledgedPublisher, "publish", shell_breaks.state_first), seeds="acknowledgements: outputs_sent"),
    _m(247, 1, "state is published before the outputs, and no offset is remembered", "conflicting",
       (publish.AcknowledgedPublisher, "publish", shell_breaks.state_first),
       (task, "window_of", shell_breaks.knows_none), seeds="acknowledgements: outputs_sent"),
    _m(44, 1, "a redelivered record is decided on the state that has it", "conflicting",
       (task, "window_of", shell_breaks.knows_none), seeds="acknowledgements: changes_sent"),
    _m(6, 1, "the answer to a repeated plan is suppressed", "lost", (step, "propose", breaks.suppressing)),
    _m(13, 1, "decisions are forgotten when the generation changes", "conflicting",
       (gate, "recall", breaks.of_this_generation)),
    _m(63, 1, "decisions are left out of the state", "torn window",
       (task, "touched", shell_breaks.without_decisions), seeds="crash"),
    _m(87, 1, "a fetch that was dropped on its way goes unnoticed", "lost",
       (task.PartitionTask, "feed", shell_breaks.any_fetch), seeds="dropped fetches"),
    _m(10, 1, "each process has a transactional id of its own: nobody is shut out", "repeated",
       (SimProducer, "start", shell_breaks.own_id), seeds="pause at transactions"),
    _m(42, 2, "a commit is no new generation", "double accept", (context.Context, "changed", breaks.commit_unseen)),
    _m(37, 2, "a plan is judged though another acceptance is pending", "double accept",
       (gate, "decide", breaks.nothing_pending)),
    _m(2, 2, "a plan of another generation is judged", "stale accept", (gate, "decide", breaks.any_generation)),
    _m(6, 2, "the generation starts anew after a take-over", "generations out of order",
       (changelog_reader, "apply_patch", shell_breaks.generation_reset), seeds="crash at transactions"),
    _m(24, 3, "pinned spans may go", "pin violated", (judge, "_pin_violations", breaks.none)),
    _m(11, 3, "orphans are not looked for", "orphan accept", (Analysis, "_breaks_by", breaks.nothing)),
    _m(20, 3, "reverse edges of the newest span are dropped", "orphan accept",
       (Window, "link", breaks.without_reverse)),
    _m(11, 3, "protocol partners are forgotten", "orphan accept", (Window, "partners", breaks.nobody)),
    _m(5, 3, "a payload pins", "forged authority", (host, "settle_pins", breaks.trusting)),
    _m(68, 3, "any key of the keyring has authority", "forged authority", (step, "AUTHORITY", breaks.everybody)),
    _m(43, 4, "deltas are applied in the wrong order", "stuck",
       (changelog_reader._Bank, "chain", shell_breaks.backwards), seeds="crash"),
    _m(98, 4, "deletions are forgotten", "torn window",
       (changelog_reader, "apply_patch", shell_breaks.no_deletions), seeds="crash"),
    _m(46, 4, "the last delta is lost", "torn window",
       (changelog_reader._Bank, "chain", shell_breaks.without_the_last), seeds="crash"),
    _m(79, 4, "a chain of an owner before is taken for the newest", "torn window",
       (changelog_reader, "max", shell_breaks.oldest), seeds="crash"),
    _m(47, 4, "windows are kept though somebody else wrote to their changelog", "torn window",
       (store.Recovery, "run", shell_breaks.keeping), seeds="pause at"),
    _m(1132, 4, "the changelog is read before the owner before is shut out", "torn window",
       (task.PartitionTask, "_take_over", shell_breaks.reading_first), seeds="zombie wakes in a take-over"),
    _m(466, 4, "old snapshots are deleted with the first one of the new owner", "torn window",
       (changelog.ChangelogWriter, "collect", shell_breaks.deleting_early), seeds="acknowledgements: changes"),
    _m(1, 5, "a record that can't be decoded raises", "stuck", (engine, "decode", breaks.raising)),
    _m(1, 5, "a record that is no event is left out in silence", "lost", (engine.Engine, "process", breaks.silent)),
    _m(1, 6, "the decoder's error text is logged", "leak", (engine, "decode", breaks.talkative)),
    _m(1, 6, "a dead letter repeats what was wrong", "leak", (engine.Engine, "dead_letter", breaks.repeating)),
    _m(0, 6, "all headers are passed on", "leak", (engine, "_trace", breaks.all_headers)),
    _m(9, 7, "plans are judged in a window that lost events", "accepted in doubt", (gate, "decide", breaks.no_gap)),
    _m(3, 7, "spans with open obligations may go", "accepted in doubt", (gate, "decide", breaks.nothing_open)),
    _m(43, 7, "kept scores need no provenance", "accepted in doubt", (gate, "_unproven", breaks.none)),
)  # fmt: skip


def mutated(mutant: Mutant, stack: ExitStack) -> None:
    """Break the product until the stack is left."""
    for where, name, make in mutant.replaced:
        stack.enter_context(patch.object(where, name, make(getattr(where, name, None)), create=True))


def seeds_of(mutant: Mutant) -> Iterator[int]:
    """The seeds that are tried, in turn."""
    yield mutant.first
    found = 0
    for seed in range(100_000):
        if mutant.seeds in plan_for(seed, Random(seed)).stratum:
            yield seed
            found += 1
            if found == PATIENCE:
                return


def caught(mutant: Mutant) -> int | None:
    """The first seed whose check of that name finds the mutant; None if none does."""
    for seed in seeds_of(mutant):
        with ExitStack() as stack:
            world = World(seed, breaking=lambda: mutated(mutant, stack))
            world.run()
        try:
            if any(finding.check == mutant.sees for finding in check(world)):
                return seed
        except Exception:  # a mutant's outputs may be no outputs at all: go on until the check speaks
            continue
    return None


def table() -> Iterator[str]:
    """Lines of Markdown: each mutant with the check that caught it, and in which seed."""
    yield "| promise | broken on purpose | caught by | in seed |"
    yield "| --- | --- | --- | --- |"
    for mutant in MUTANTS:
        seed = caught(mutant)
        yield f"{row(mutant)} {'NOT CAUGHT' if seed is None else seed} |"


def row(mutant: Mutant) -> str:
    """A line of the table up to the seed."""
    return f"| {mutant.promise} | {mutant.what} | {mutant.sees} |"
