"""Workers killed with SIGKILL under load, each after progress: at random moments and at every named step."""

import signal
import time
from collections import Counter
from pathlib import Path

import pytest
from chaos_broker import FaultyKafka
from chaos_rig import ROUNDS, ChaosWorker, Run, with_both_guarantees
from chaos_table import settle

TAKE_OVER = ["assigned", "shut_out", "recovering", "recovered"]
BATCH = ["stepped", "begun", "outputs_torn", "outputs_sent", "changes_torn", "changes_sent", "committed"]
KILLS = 15


class Kills:
    """A worker at work, and its successors. Every kill returns only when all partitions are answered again."""

    def __init__(self, run: Run, kinds: list[str]) -> None:
        self.run = run
        self.counts: Counter[str] = Counter()
        self._ahead = list(kinds)
        self._names = ["w0", "w1"]
        self._main = run.begin(*self._next_main())

    def _next_main(self) -> list[str]:
        """How the worker at work is started: as one that can die at the step that is next for it."""
        kind = next((kind for kind in self._ahead if kind not in TAKE_OVER), "random")
        return [] if kind == "random" else [kind, "signal"]

    def go(self) -> None:
        while self._ahead:
            kind = self._ahead.pop(0)
            if kind == "random":
                time.sleep(self.run.dice.uniform(0, 1))
                self._main.signal(signal.SIGKILL)
                self._died(self._main, None)
            elif kind in TAKE_OVER:  # a second worker joins, and dies before its first batch
                self._died(self.run.worker(kind, "1", instance_id=self._names[1]), kind)
                self.run.fault_done(self._at)
                continue
            else:
                time.sleep(self.run.dice.uniform(0, 0.5))
                self._main.signal(signal.SIGUSR1)
                if kind == "revoked":  # a second worker joins, and stays
                    self._names.reverse()
                    second = self.run.worker(*self._next_main(), instance_id=self._names[0])
                    self._died(self._main, kind)
                    self._main = second
                    self.run.fault_done(self._at)
                    continue
                self._died(self._main, kind)
            self._main = self.run.worker(*self._next_main(), instance_id=self._names[0])
            self.run.fault_done(self._at)

    def _died(self, worker: ChaosWorker, step: str | None) -> None:
        """Proof: it ended by SIGKILL, and if by its own hand then where it should."""
        assert worker.wait() == -signal.SIGKILL, worker.log.read_text()
        self._at = time.time()
        assert [line["step"] for line in worker.lines("killed_at")] == ([step] if step else [])
        self.counts[step or "random"] += 1


@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(ROUNDS))
def test_killed(chaos_kafka: FaultyKafka, tmp_path: Path, seed: int) -> None:
    def scenario(folder: Path, guarantee: str) -> None:
        with Run(chaos_kafka.bootstrap, folder, seed, guarantee) as run:
            named = [*TAKE_OVER, *BATCH, "revoked"] + ["offsets_sent"] * (guarantee == "transactions")
            kinds = named + ["random"] * (KILLS - len(named))
            run.dice.shuffle(kinds)
            kills = Kills(run, kinds)
            kills.go()
            settle("SIGKILL", run, kills.counts, named)
            assert kills.counts.total() == KILLS == len(run.seconds)

    with_both_guarantees(scenario, tmp_path)
