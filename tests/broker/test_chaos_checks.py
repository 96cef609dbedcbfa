"""The checks of the chaos runs can fail: workers with a planted defect are found out, each by the count that is its."""

import signal
import time
from pathlib import Path

import pytest
from chaos_broker import FaultyKafka
from chaos_load import Seen
from chaos_rig import LOADED, Run
from chaos_verdict import judge
from worker_process import wait_for

from plangate.wire.engine import Out


@pytest.mark.parametrize(("defect", "step"), [("offset_first", "begun"), ("state_first", "changes_sent")])
def test_answers_published_too_late_are_missed(
    chaos_kafka: FaultyKafka, tmp_path: Path, defect: str, step: str
) -> None:
    with Run(chaos_kafka.bootstrap, tmp_path, 3, "acknowledgements") as run:
        worker = run.begin(step, "signal", defect)
        worker.signal(signal.SIGUSR1)
        assert worker.wait() == -signal.SIGKILL
        run.worker(instance_id="w0")
        run.fault_done(time.time())
        verdict = run.finish()
    assert verdict.lost > 0, verdict


def test_a_changelog_that_is_not_read_gives_other_answers(chaos_kafka: FaultyKafka, tmp_path: Path) -> None:
    with Run(chaos_kafka.bootstrap, tmp_path, 3, "transactions") as run:
        worker = run.begin()
        worker.signal(signal.SIGKILL)
        worker.wait()
        run.worker("committed", "signal", "changelog_ignored", instance_id="w0")
        run.fault_done(time.time())
        verdict = run.finish()
    assert verdict.conflicting > 0, verdict


def test_a_sleeper_that_is_not_shut_out_repeats_answers(chaos_kafka: FaultyKafka, tmp_path: Path) -> None:
    with Run(chaos_kafka.bootstrap, tmp_path, 3, "transactions", transaction_timeout_seconds=120) as run:
        sleeper = run.begin("changes_sent", "pause", "not_shut_out")
        other = run.worker("changes_sent", "pause", "not_shut_out", instance_id="w1")
        wait_for(other.take_overs)
        run.wait_for_progress(time.time())
        sleeper.signal(signal.SIGUSR1)
        wait_for(lambda: sleeper.lines("killed_at"))
        at = time.time()
        wait_for(lambda: sorted(set(other.take_overs(at))) == LOADED)
        decided = other.metric("plangate_events_total")
        wait_for(lambda: other.metric("plangate_events_total") > decided + 100)
        sleeper.signal(signal.SIGCONT)
        run.supervise()
        verdict = run.finish()
    assert verdict.repeats > 0, verdict


def seen(offset: int, number: int, value: bytes = b"{}", key: bytes = b"w") -> Seen:
    return Seen(offset, 0.0, 0.0, Out("audit-log", key, value, [("ce_id", b"window-events/0/%d/0" % number)]))


def test_every_count_of_a_verdict() -> None:
    place = ("audit-log", 0)
    good = [seen(0, 0), seen(1, 1), seen(2, 2)]
    wanted = [one.out for one in good]

    def counts(after: list[Seen], during: list[Seen] | None = None) -> tuple[int, ...]:
        v = judge({place: after if during is None else during}, {place: after}, wanted)
        return v.lost, v.conflicting, v.double_accepts, v.out_of_order, v.unstable, v.repeats

    assert counts(good) == (0, 0, 0, 0, 0, 0)
    assert counts(good[:2]) == (1, 0, 0, 0, 0, 0)
    assert counts([*good, seen(3, 1, b"{ }")]) == (0, 1, 0, 0, 0, 1)
    assert counts([*good, seen(3, 9)]) == (0, 1, 0, 0, 0, 0)
    assert counts([good[1], good[0], good[2]]) == (0, 0, 0, 1, 0, 0)
    assert counts([*good, seen(3, 1), seen(4, 1)]) == (0, 0, 0, 0, 0, 2)
    assert counts(good, good[:2]) == (0, 0, 0, 0, 1, 0)
    assert counts(good, [*good[:2], seen(2, 2, b"other")]) == (0, 0, 0, 0, 1, 0)


def test_a_second_accept_of_a_generation_is_counted() -> None:
    def accept(number: int, decision: str) -> Seen:
        value = f'{{"type":"plan_accepted","window_id":"w","window_generation":4,"decision_id":"{decision}"}}'
        return Seen(number, 0.0, 0.0, Out("plan-decisions", b"w", value.encode(), [("ce_id", b"e/0/%d/0" % number)]))

    one, other = accept(0, "a"), accept(1, "b")
    place = ("plan-decisions", 0)
    assert judge({}, {place: [one, one]}, [one.out]).double_accepts == 0
    assert judge({}, {place: [one, other]}, [one.out]).double_accepts == 1
    assert judge({}, {place: [one, other]}, [one.out, other.out]).double_accepts == 0, "the first one lapsed"
