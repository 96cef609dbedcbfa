"""Workers killed with SIGKILL under load: nothing lost, one answer."""

import signal
import time
from pathlib import Path

import pytest
from chaos_broker import FaultyKafka
from chaos_rig import Run

GUARANTEES = ["transactions", "acknowledgements"]


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_killed(chaos_kafka: FaultyKafka, tmp_path: Path, guarantee: str) -> None:
    with Run(chaos_kafka.bootstrap, tmp_path, 1, guarantee) as run:
        worker = run.begin()
        worker.signal(signal.SIGKILL)
        at = time.time()
        assert worker.wait() == -signal.SIGKILL
        run.worker(instance_id="w0")
        run.fault_done(at)
        verdict = run.finish()
        print(verdict, run.seconds)
        assert verdict.wrong == 0, verdict.notes
