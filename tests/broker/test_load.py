"""`plangate load` on a real Kafka with two workers, of which one is told to go while it runs."""

import json
import os
import subprocess
import sys
from pathlib import Path

from worker_process import WorkerProcess

TRANSCRIPTS = Path(__file__).parents[1] / "data" / "transcripts" / "openai-chat"
COMPOSE = Path(__file__).parents[2] / "deploy" / "load" / "compose.yml"


def test_compose_takes_the_load_tests_file(engine: None) -> None:
    docker = not subprocess.run(["docker", "compose", "version"], capture_output=True).returncode
    command = [*(["docker", "compose"] if docker else ["docker-compose"]), "-f", str(COMPOSE)]
    done = subprocess.run([*command, "--profile", "prometheus", "--profile", "load", "config"], capture_output=True)
    assert done.returncode == 0, done.stderr
    told = done.stdout.decode()
    assert all(f"\n  {service}:\n" in told for service in ("kafka", "worker", "load", "prometheus"))
    assert "127.0.0.1" in told


def test_every_proposal_is_answered_though_a_worker_leaves(kafka: str, tmp_path: Path) -> None:
    settings = {"broker": kafka, "topic_prefix": "load.", "partitions": 4}
    with (
        WorkerProcess(tmp_path, **settings).wait_until_ready() as stays,
        WorkerProcess(tmp_path, **settings).wait_until_ready() as goes,
    ):
        command = [sys.executable, "-m", "plangate.cli", "load", str(TRANSCRIPTS), "--out", str(tmp_path / "out")]
        command += ["--rate", "150", "--stop-after", "1500", "--drain", "60", "--agents", "10", "--plan-every", "3"]
        for worker in (stays, goes):
            command += ["--worker", f"127.0.0.1:{worker.port}"]
        environment = {**os.environ, "PLANGATE_BROKER": kafka, "PLANGATE_TOPIC_PREFIX": "load."}
        load = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE)
        assert load.stderr is not None
        seen = [load.stderr.readline() for _ in range(4)]
        assert goes.metric("plangate_events_total") > 0, seen
        assert goes.stop() == 0
        load.communicate(timeout=150)
        assert load.returncode == 0
    doc = json.loads((tmp_path / "out" / "report.json").read_text())
    assert doc["ended"] == "record count reached"
    assert doc["check"]["passed"]
    assert doc["check"]["repeats"] == 0
    assert doc["check"]["plans"] > 100
    assert set(doc["outcomes"]) == {"accepted", "deferred", "refused"}
    assert doc["lag"]["end"] == 0
    assert len(doc["workers"]) == 2
    assert doc["workers"][f"127.0.0.1:{goes.port}"]["to"] < doc["samples"][-1]["at"]
