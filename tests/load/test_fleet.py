"""Agents and proposers before the engine: what they do on each outcome, and that they know their windows."""

import json
from collections import defaultdict

import pytest
from loadkit import Play

from plangate.core.policy import Policy
from plangate.load.decision import read_decision
from plangate.load.fleet import Fleet, Wish
from plangate.load.mirror import Mirror
from plangate.load.plans import STRATEGIES, drop_big_results, summarise, trim_oldest
from plangate.load.scripts import Fact


@pytest.fixture(scope="module")
def play() -> Play:
    return Play(agents=12, proposers=3, plan_every=3, think=0.05).run(6000).settle()


def chains(play: Play) -> dict[Wish, list]:
    found = defaultdict(list)
    for proposal, decision in play.decided:
        found[proposal.wish].append((proposal, decision))
    return found


def test_every_record_is_an_event_and_every_proposal_answered(play: Play) -> None:
    assert play.gate.dead_letters == 0
    assert (play.ledger.unanswered, play.ledger.conflicting) == (0, 0)
    assert set(play.ledger.outcomes) == {"accepted", "deferred", "refused"}
    assert min(play.ledger.outcomes.values()) > 20
    assert not any(name.endswith("other") for name in play.ledger.reasons)


def test_the_fleet_knows_its_windows_once_all_answers_are_read(play: Play) -> None:
    checked = 0
    for agent in play.fleet._agents:
        window = play.gate.windows[agent.window_id]
        assert set(agent.mirror.live) == set(window.spans)
        assert agent.mirror.open == {span_id for span_id, span in window.spans.items() if span.open}
        assert agent.mirror.generation == window.head.generation
        checked += len(agent.mirror.live)
    assert checked > 30


def test_a_deferred_plan_is_made_anew_from_a_newer_generation(play: Play) -> None:
    again = 0
    for chain in chains(play).values():
        for (old, answer), (new, _) in zip(chain, chain[1:], strict=False):
            if answer["type"] == "plan_deferred":
                assert new.plan_id != old.plan_id
                assert new.plan.generation > old.plan.generation
                again += 1
    assert again > 20


def test_a_refused_plan_is_sent_again_as_its_resolution_says(play: Play) -> None:
    mended = defaultdict(int)
    for chain in chains(play).values():
        retained: set[str] = set()
        for proposal, answer in chain:
            assert retained.isdisjoint({*proposal.plan.evict, *proposal.plan.compress})
            resolution = answer.get("resolution") or {}
            retained.update(resolution["retain"] if resolution.get("complete") else ())
        for (_, answer), (new, next_answer) in zip(chain, chain[1:], strict=False):
            if answer["type"] == "plan_refused" and (answer["resolution"] or {}).get("complete"):
                goes = {*new.plan.evict, *new.plan.compress}
                assert goes.isdisjoint(answer["resolution"]["retain"])
                mended[next_answer["type"]] += 1
    assert mended["plan_accepted"] > 5
    assert mended["plan_accepted"] > 5 * mended["plan_refused"]


def test_proposals_sent_again_are_answered_again_with_the_same_bytes() -> None:
    play = Play(agents=6, proposers=2, plan_every=3, think=0.05, resend=1.0).run(1500).settle()
    told = play.ledger.summary()
    assert told["plans"] > 50
    assert told["plans"] - told["resent"] <= 1  # the last one may wait for its second sending
    assert told["answers"] == told["sent"]
    assert (told["unanswered"], told["conflicting"], told["repeats"]) == (0, 0, 0)


def test_an_agent_holds_still_for_a_plan_that_was_deferred_too_often() -> None:
    hasty = Play(agents=4, proposers=1, plan_every=2, think=0.2, patience=2, tries=50, delay=2).run(3000).settle()
    never = Play(agents=4, proposers=1, plan_every=2, think=0.2, patience=99, tries=50, delay=2).run(3000).settle()
    assert max(hasty.fleet.streaks) < max(never.fleet.streaks)
    assert not any(agent.waiting for agent in never.fleet._agents)


def test_a_proposer_gives_up_after_its_tries() -> None:
    play = Play(agents=4, proposers=1, plan_every=2, think=0.2, patience=99, tries=2).run(3000).settle()
    assert play.fleet.ends["gave up"] > 0
    assert max(play.fleet.tries, default=0) <= 2


def test_closing_ends_every_open_window(play: Play) -> None:
    closing = play.fleet.close()
    assert {outgoing.window_id for outgoing in closing} == {agent.window_id for agent in play.fleet._agents}
    assert all(json.loads(outgoing.value)["type"] == "window_closed" for outgoing in closing)


def test_acceptances_are_confirmed_where_the_runtime_owns_the_store() -> None:
    policy = Policy(policy_version="c", commit="on_confirm")
    play = Play(policy=policy, agents=12, proposers=1, plan_every=3, think=0.05, delay=2).run(2500).settle()
    told = play.ledger.summary()
    assert play.ledger.outcomes["accepted"] > 2 * told["lapsed"] > 0
    assert (told["unanswered"], told["conflicting"]) == (0, 0)
    gone = sum(left.by.startswith("t-") for window in play.gate.windows.values() for left in window.left.values())
    assert gone > 20


def test_equal_seeds_send_equal_records() -> None:
    first, second = (Play(agents=5, seed=7).run(800) for _ in range(2))
    assert [outgoing.value for outgoing in first.sent] == [outgoing.value for outgoing in second.sent]


def test_a_new_window_means_a_new_session(play: Play) -> None:
    windows = {outgoing.window_id for outgoing in play.sent}
    assert len(windows) > 12
    opened = [json.loads(o.value)["window_id"] for o in play.sent if b'"window_opened"' in o.value]
    assert len(opened) == len(set(opened)) == len(windows)


def mirror(**facts: Fact) -> Mirror:
    return Mirror(live=dict(facts), generation=4)


def test_strategies_leave_instructions_obligations_and_what_was_resolved() -> None:
    live = mirror(
        sys=Fact(5, "system"),
        a=Fact(10, "user"),
        call=Fact(10, "tool_call"),
        res=Fact(100, "tool_result", ("call",)),
        b=Fact(10, "assistant"),
        pending=Fact(10, "tool_call"),
    )
    live.open.add("pending")
    assert trim_oldest(live, (), 10).evict == ("a", "call", "res")
    assert trim_oldest(live, {"call", "res"}, 10).evict == ("a",)
    assert drop_big_results(live, (), 10).evict == ("res", "call")
    assert drop_big_results(live, {"call"}, 10).evict == ("res",)
    assert summarise(live, (), 6).compress == ("a", "call", "res")
    assert summarise(live, (), 6).replacement_cost == 12
    assert all(make(mirror(), (), 10).empty for make in STRATEGIES)


def test_what_signed_thinking_needs_before_it_is_left() -> None:
    live = mirror(a=Fact(10, "user"), t=Fact(10, "reasoning", needs_prefix=True), b=Fact(10, "assistant"))
    assert trim_oldest(live, (), 10).evict == ("b",)


@pytest.mark.parametrize("kept", ["reason", "live_generation"])
def test_mirror_takes_the_generation_that_a_decision_tells(kept: str) -> None:
    known = mirror(a=Fact(1, "user"))
    known.changes = 9
    known.correct(20, changes_then=7)
    assert known.generation == 22


def test_words_that_are_no_reason_of_ours_go_no_further() -> None:
    told = b'{"type":"plan_refused","plan_id":"p","window_id":"w","reasons":["<b>secret</b>","orphans"]}'
    assert read_decision(told).why == ["other", "orphans"]


def test_a_fleet_without_proposers_only_plays() -> None:
    play = Play(agents=3, proposers=0).run(500)
    assert len(play.sent) == 500
    assert not play.ledger.summary()["plans"]
    assert isinstance(play.fleet, Fleet)
