"""The broker itself stopped and killed under load; workers that end by it are started again, as a supervisor does."""

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from chaos_broker import FaultyKafka
from chaos_rig import GUARANTEES, ROUNDS, Run
from chaos_table import settle

KILLED = 137
KINDS = ["killed", "stopped", "killed"]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(ROUNDS))
def test_broker_stopped_and_killed(chaos_kafka: FaultyKafka, tmp_path: Path, seed: int) -> None:
    """Workers of both guarantees at the same time. The seconds to take over count from the broker's return."""
    (tmp_path / "other").mkdir()
    with (
        Run(chaos_kafka.bootstrap, tmp_path, seed, GUARANTEES[0]) as one,
        Run(chaos_kafka.bootstrap, tmp_path / "other", seed, GUARANTEES[1]) as other,
    ):
        counts: Counter[str] = Counter()
        for run in (one, other):
            run.begin()
            run.worker(instance_id="w1")
            run.supervise()
        for kind in KINDS:
            for run in (one, other):
                run.wait_for_progress(time.time())
            time.sleep(one.dice.uniform(0, 1))
            status = chaos_kafka.bounce(kind == "killed", one.dice.uniform(0, 5))
            assert (status == KILLED) == (kind == "killed"), status
            counts[kind] += 1
            back = time.time()
            with ThreadPoolExecutor() as pool:
                list(pool.map(lambda run: run.fault_done(back), (one, other)))  # noqa: B023
        for run in (one, other):
            assert set(run.ends) <= {69, 70}, run.ends
            unmarked = chaos_kafka.transactions_without_markers(run.bus.prefix)
            settle("broker stopped and killed", run, counts, KINDS, unmarked)
