"""The fuzzer finds nothing in its time; and it finds what was planted, which bytes alone would not meet."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

RUN = Path(__file__).with_name("fuzz_run.py")
SECONDS = int(os.environ.get("FUZZ_SECONDS", "60"))
#: inputs, not seconds: a busy machine must not decide whether a defect is found
BUDGET, BLIND = 60_000, 20_000
pytestmark = [
    pytest.mark.fuzz,
    pytest.mark.timeout(900),
    pytest.mark.skipif(find_spec("atheris") is None, reason="atheris has no wheel for this platform"),
]


def fuzz(*options: str) -> tuple[int, str]:
    """Status and output of a run."""
    done = subprocess.run([sys.executable, str(RUN), *options], capture_output=True, text=True, timeout=800)
    return done.returncode, done.stdout + done.stderr


def inputs(told: str) -> int:
    found = re.search(r"Done (\d+) runs", told)
    assert found, told[-3000:]
    return int(found.group(1))


def test_nothing_is_found() -> None:
    status, told = fuzz("--seconds", str(SECONDS), "--seed", "0")
    assert status == 0 and "FOUND" not in told, told[-3000:]
    count = inputs(told)
    coverage = max(int(number) for number in re.findall(r"cov: (\d+)", told))
    print(f"{count} inputs in {SECONDS} s, {coverage} branches seen, 0 findings")
    assert count > SECONDS and coverage > 500, "the fuzzer hardly ran"


def test_a_planted_defect_is_found() -> None:
    status, told = fuzz("--plant", "--seconds", "600", "--runs", str(BUDGET), "--seed", "1")
    found = re.search(r"FOUND Planted after (\d+) inputs", told)
    assert status != 0 and found, told[-3000:]
    print(f"found after {found.group(1)} of {BUDGET} inputs")


def test_bytes_alone_do_not_find_it() -> None:
    status, told = fuzz("--plant", "--blind", "--seconds", "600", "--runs", str(BLIND), "--seed", "1")
    assert status == 0 and "FOUND" not in told and inputs(told) >= BLIND
