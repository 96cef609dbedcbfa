"""The account finds what is missing and what differs."""

import pytest

from plangate.load.decision import Decision, read_decision
from plangate.load.fleet import Agent, Proposal, Wish
from plangate.load.ledger import Ledger
from plangate.load.plans import Plan


def proposal(plan_id: str = "p", window_id: str = "w") -> Proposal:
    return Proposal(plan_id, window_id, Plan(1, 1), Wish(Agent(0), 0, 0))


def answer(reason: str = "generation_changed", plan_id: str = "p", extra: str = "") -> tuple[Decision, bytes]:
    value = (
        f'{{"type":"plan_deferred","plan_id":"{plan_id}","window_id":"w","reason":"{reason}","decision_id":"{extra}"}}'
    )
    return read_decision(value.encode()), value.encode()


@pytest.fixture
def ledger() -> Ledger:
    ledger = Ledger()
    ledger.sent(proposal(), 1.0).acknowledged += 1
    return ledger


def test_a_proposal_without_answer_is_unanswered(ledger: Ledger) -> None:
    assert ledger.unanswered == 1
    assert ledger.answered(*answer(), 1.5) is not None
    assert (ledger.unanswered, ledger.conflicting, list(ledger.latencies)) == (0, 0, [0.5])


def test_a_proposal_that_was_not_acknowledged_may_stay_without() -> None:
    ledger = Ledger()
    ledger.sent(proposal(), 1.0)
    assert ledger.unanswered == 0
    ledger.answered(*answer(), 2.0)
    assert ledger.conflicting == 0


def test_each_sending_needs_its_answer(ledger: Ledger) -> None:
    ledger.sent(proposal(), 1.2).acknowledged += 1
    ledger.answered(*answer(), 1.5)
    assert ledger.unanswered == 1
    ledger.answered(*answer(), 1.6)
    assert (ledger.unanswered, ledger.summary()["repeats"], len(ledger.latencies)) == (0, 0, 1)


def test_an_answer_repeated_unasked_is_counted_and_lawful(ledger: Ledger) -> None:
    ledger.answered(*answer(), 1.5)
    assert ledger.answered(*answer(), 1.6) is None
    assert (ledger.summary()["repeats"], ledger.conflicting) == (1, 0)


def test_one_other_byte_is_a_conflict(ledger: Ledger) -> None:
    ledger.answered(*answer(extra="1"), 1.5)
    ledger.answered(*answer(extra="2"), 1.6)
    assert ledger.conflicting == 1


def test_an_acceptance_that_lapses_is_answered_anew_once(ledger: Ledger) -> None:
    ledger.answered(*answer(), 1.5)
    ledger.answered(*answer("acceptance_lapsed"), 1.6)
    ledger.answered(*answer("acceptance_lapsed"), 1.7)
    assert (ledger.conflicting, ledger.summary()["lapsed"]) == (0, 1)
    ledger.answered(*answer("acceptance_lapsed", extra="2"), 1.8)
    assert ledger.conflicting == 1


def test_decisions_of_others_are_let_pass(ledger: Ledger) -> None:
    assert ledger.answered(*answer(plan_id="theirs"), 1.5) is None
    assert (ledger.summary()["foreign"], ledger.unanswered) == (1, 1)
