"""Nothing lost, one answer, under 3,000 seeds of faults; and what the seeds found once stays found."""

import os
import subprocess
import sys

import pytest
from sim_check import check
from sim_fleet import report, run_seeds
from sim_world import World

SEEDS = int(os.environ.get("PLANGATE_SIM_SEEDS", "3000"))


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_no_seed_breaks_a_promise_and_every_situation_comes_up(capsys: pytest.CaptureFixture[str]) -> None:
    result = run_seeds(0, SEEDS)
    with capsys.disabled():
        print("\n" + "\n".join(report(result)))
    assert result.count == SEEDS
    assert not result.findings
    assert not result.rare


def test_a_seed_is_the_same_under_every_hash_seed() -> None:
    """Else the command that a failure prints would reproduce nothing."""
    outputs = set()
    for hash_seed in ("0", "1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": hash_seed}
        command = [sys.executable, "-m", "tests.sim", "21"]
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        outputs.add(ran.stdout)
    assert len(outputs) == 1
    assert "seed 21: 0 findings" in outputs.pop()


def test_a_seed_twice_in_one_process_is_the_same() -> None:
    traces = []
    for _ in range(2):
        lines: list[str] = []
        list(check(World(5, trace=lines.append).run()))
        traces.append(lines)
    assert traces[0] == traces[1]
    assert len(traces[0]) > 100
