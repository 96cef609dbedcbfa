"""Each guarantee broken on purpose must be seen by the check that is named for it."""

from pathlib import Path

import pytest
from sim_check import CHECKS
from sim_mutants import MUTANTS, Mutant, caught, row

DOCS = Path(__file__).parents[2] / "docs" / "faults.md"
PROMISES = range(1, 8)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant.what for mutant in MUTANTS])
def test_mutant_is_caught(mutant: Mutant) -> None:
    assert mutant.sees in CHECKS
    assert caught(mutant) is not None, f"no seed in which the check '{mutant.sees}' saw it: {mutant.what}"


def test_every_promise_is_broken_at_least_once() -> None:
    assert {mutant.promise for mutant in MUTANTS} == set(PROMISES)
    assert len(MUTANTS) >= 20


def test_the_table_of_mutants_is_in_the_docs() -> None:
    text = DOCS.read_text()
    assert [mutant.what for mutant in MUTANTS if row(mutant) not in text] == []
