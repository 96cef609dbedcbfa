"""The script of `make load`, as far as it needs no containers; the rest was run by hand (docs/capacity.md)."""

import argparse
import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from plangate.load.report import read_notes

SCRIPT = Path(__file__).parents[2] / "deploy" / "load" / "run.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("load_run", SCRIPT)
    assert spec and spec.loader
    sys.modules["load_run"] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_container_figures_are_read(script: ModuleType) -> None:
    told = {"Name": "kafka", "CPUPerc": "150.25%", "MemUsage": "1.5GiB / 23.4GiB"}
    assert script.read_stats(told) == {"cpu_cores": 1.5025, "memory_bytes": 1.5 * 1024**3}
    gone = {"Name": "kafka", "CPUPerc": "0.00%", "MemUsage": "0B / 0B"}
    assert script.read_stats(gone) == {"cpu_cores": 0.0, "memory_bytes": 0.0}


def test_actions_are_read(script: ModuleType) -> None:
    assert script.read_action("12.5:restart-broker") == (12.5, "restart-broker")
    for wrong in ("add", "x:add", "5:explode", "5"):
        with pytest.raises(argparse.ArgumentTypeError):
            script.read_action(wrong)


def test_what_it_notes_the_report_reads(script: ModuleType, tmp_path: Path) -> None:
    notes = script.Notes(tmp_path / "notes.jsonl")
    notes.write(action="worker added")
    notes.write(containers={"kafka": script.read_stats({"CPUPerc": "1%", "MemUsage": "1MiB / 1GiB"})})
    assert len(read_notes(tmp_path / "notes.jsonl")) == 2


def test_failed_actions_are_noted_and_end_nothing(script: ModuleType, tmp_path: Path) -> None:
    class Cluster:
        def loading(self) -> bool:
            return True

        def act(self, action: str) -> str:
            if action == "remove":
                raise script.Failure("no worker left")
            return "done"

    class Never:
        def wait(self, seconds: float) -> bool:
            return False

    notes = script.Notes(tmp_path / "notes.jsonl")
    script._play(Cluster(), notes, [(0.0, "remove"), (0.0, "add")], Never())
    lines = [json.loads(line)["action"] for line in (tmp_path / "notes.jsonl").read_text().splitlines()]
    assert sorted(lines) == ["done", "remove failed: no worker left"]
