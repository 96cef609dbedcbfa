"""Workers that join and leave, and workers that fall asleep while others take over, and wake up again."""

import signal
import time
from collections import Counter
from pathlib import Path

import pytest
from chaos_broker import FaultyKafka
from chaos_rig import ROUNDS, STUCK_SECONDS, ChaosWorker, Run, with_both_guarantees
from chaos_table import settle
from worker_process import wait_for

CHANGES = 10
PAUSES = 3
ASLEEP_AT = ["stepped", "begun", "outputs_sent", "changes_sent", "committed"]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(ROUNDS))
def test_two_to_four_workers_join_and_leave(chaos_kafka: FaultyKafka, tmp_path: Path, seed: int) -> None:
    def scenario(folder: Path, guarantee: str) -> None:
        with Run(chaos_kafka.bootstrap, folder, seed, guarantee) as run:
            workers = [run.begin(instance_id="")]
            counts: Counter[str] = Counter()
            while counts.total() < CHANGES or len(workers) < 2:
                if len(workers) < 2 or (len(workers) < 4 and run.dice.random() < 0.5):
                    workers.append(run.worker())
                    wait_for(lambda new=workers[-1]: new.take_overs() or new.dead, STUCK_SECONDS)
                    assert not workers[-1].dead, workers[-1].log.read_text()
                    counts["joined"] += 1
                    run.wait_for_progress(time.time())
                else:
                    leaver = workers.pop(run.dice.randrange(len(workers)))
                    owned, at = leaver.owned, time.time()
                    assert owned, "a worker without partitions left: that is no fault"
                    assert leaver.stop() == 0, leaver.log.read_text()
                    run.fault_done(at, time.time())
                    wait_for(lambda owned=owned, at=at: owned <= taken_by(workers, at))
                    counts["left"] += 1
                assert not [worker.last_line() for worker in workers if worker.dead]
            settle("joining and leaving", run, counts, ["joined", "left"])

    with_both_guarantees(scenario, tmp_path)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(ROUNDS))
def test_paused_past_the_session_timeout(chaos_kafka: FaultyKafka, tmp_path: Path, seed: int) -> None:
    """One of two workers stops in the middle of a batch; the other takes over; the first wakes up and knows nothing."""

    def scenario(folder: Path, guarantee: str) -> None:
        with Run(chaos_kafka.bootstrap, folder, seed, guarantee) as run:
            steps = run.dice.sample(ASLEEP_AT, PAUSES)
            sleeper, other = run.begin(steps[0], "pause"), run.worker(instance_id="other")
            wait_for(other.take_overs)
            counts: Counter[str] = Counter()
            for number, step in enumerate(steps):
                run.wait_for_progress(time.time())
                owned = sleeper.owned
                sleeper.signal(signal.SIGUSR1)
                wait_for(lambda worker=sleeper: worker.lines("killed_at") and asleep(worker), STUCK_SECONDS)
                at = time.time()
                run.fault_done(at)
                assert owned and owned <= taken_by([other], at), "nobody took over: it did not sleep long enough"
                woken = time.time()
                sleeper.signal(signal.SIGCONT)
                wait_for(lambda worker=sleeper, since=woken: worker.dead or worker.take_overs(since), STUCK_SECONDS)
                counts[f"at {step}, {'ended' if sleeper.dead else 'joined again'}"] += 1
                if sleeper.dead:
                    assert sleeper.wait() == 70, sleeper.last_line()
                else:
                    assert sleeper.stop() == 0
                if number + 1 < len(steps):
                    sleeper = run.worker(steps[number + 1], "pause", instance_id=run.dice.choice(["", f"w{number}"]))
                    wait_for(sleeper.take_overs)
            settle("SIGSTOP and SIGCONT", run, counts)
            assert counts.total() == PAUSES == len(run.seconds)

    with_both_guarantees(scenario, tmp_path)


def asleep(worker: ChaosWorker) -> bool:
    """Whether the system says that the process is stopped."""
    return Path(f"/proc/{worker.process.pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T"


def taken_by(workers: list[ChaosWorker], since: float) -> set[int]:
    return {partition for worker in workers for partition in worker.take_overs(since)}
