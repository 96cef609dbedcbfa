"""The compose file at the top, as a user starts it: a plan sent to it is answered, and it stops when told to."""

import asyncio
import json
import os
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import docker
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from kafka_container import free_port

ROOT = Path(__file__).parents[2]
WINDOW = "compose-test"
SPANS = [
    {"span_id": "call-1", "kind": "tool_call", "cost_units": 10},
    {"span_id": "result-1", "kind": "tool_result", "cost_units": 400, "pairs_with": ["call-1"]},
    {"span_id": "note", "kind": "assistant", "cost_units": 50, "depends_on": ["result-1"]},
    {"span_id": "chatter", "kind": "assistant", "cost_units": 90},
]


class Stack:
    """One run of the compose file under a project name and host ports of its own."""

    def __init__(self, command: list[str]) -> None:
        self.name = f"plangate-test-{uuid4().hex[:8]}"
        self.kafka_port, self.web_port = free_port(), free_port()
        self.bootstrap = f"127.0.0.1:{self.kafka_port}"
        self._command = [*command, "-f", str(ROOT / "docker-compose.yml"), "-p", self.name]
        ports = {"PLANGATE_KAFKA_PORT": str(self.kafka_port), "PLANGATE_WEB_PORT": str(self.web_port)}
        self._environment = {**os.environ, **ports}

    def compose(self, *arguments: str) -> str:
        """Run a compose command; its standard output. What it said is in the error if it fails."""
        done = subprocess.run(
            [*self._command, *arguments], env=self._environment, cwd=ROOT, capture_output=True, text=True, timeout=900
        )
        assert done.returncode == 0, f"{arguments}: {done.stdout[-2000:]}\n{done.stderr[-4000:]}"
        return done.stdout

    def worker(self) -> dict:
        """The worker's container as the engine describes it."""
        labels = [f"com.docker.compose.project={self.name}", "com.docker.compose.service=worker"]
        client = docker.from_env()
        try:
            [container] = client.containers.list(all=True, filters={"label": labels})
            return container.attrs
        finally:
            client.close()

    def status(self, page: str) -> int:
        """HTTP status of a page of the worker; 0 if nothing answers."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.web_port}{page}", timeout=5) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 0


def until(what: str, met, seconds: float = 120) -> None:
    """Wait for a condition; it is no test of speed, the limit only ends a wait for what never comes."""
    end = time.monotonic() + seconds
    while not met():
        assert time.monotonic() < end, f"{what}: not within {seconds:.0f} s"
        time.sleep(0.5)


@pytest.fixture(scope="module")
def stack(engine: None) -> Iterator[Stack]:
    if not subprocess.run(["docker", "compose", "version"], capture_output=True).returncode:
        command = ["docker", "compose"]
    elif shutil.which("docker-compose"):
        command = ["docker-compose"]
    else:
        pytest.fail("a Docker engine answers, but there is neither `docker compose` nor `docker-compose`")
    stack = Stack(command)
    try:
        stack.compose("up", "-d", "--build")
        until("the worker is ready", lambda: stack.status("/ready") == 200)
        yield stack
    finally:
        print(stack.compose("logs", "--no-color", "--tail=200", "worker"))
        stack.compose("down", "-v", "--timeout", "20")


def plan(plan_id: str, **relevance: float) -> dict:
    entries = [
        {"span_id": span_id.replace("_", "-"), "relevance": score, "cited_dependencies": []}
        for span_id, score in relevance.items()
    ]
    return {"type": "plan_proposed", "plan_id": plan_id, "window_generation": 1, "entries": entries}


async def decisions(bootstrap: str, count: int) -> dict[str, dict]:
    """Send a window and two plans; the decisions by plan_id."""
    consumer = AIOKafkaConsumer(
        "plan-decisions", bootstrap_servers=bootstrap, auto_offset_reset="earliest", isolation_level="read_committed"
    )
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap)
    await consumer.start()
    await producer.start()
    try:
        splits_a_pair = plan("splits-a-pair", call_1=0.1, result_1=0.9, note=0.9)
        for event in ({"type": "span_appended", "spans": SPANS}, splits_a_pair, plan("drops-chatter", chatter=0.1)):
            value = json.dumps({**event, "window_id": WINDOW}).encode()
            await producer.send_and_wait("window-events", value, key=WINDOW.encode())
        found: dict[str, dict] = {}
        async with asyncio.timeout(60):
            while len(found) < count:
                record = await consumer.getone()
                decision = json.loads(record.value)
                assert record.key == WINDOW.encode()
                found[decision["plan_id"]] = decision
        return found
    finally:
        await producer.stop()
        await consumer.stop()


def test_plans_are_answered_through_the_composed_worker(stack: Stack) -> None:
    found = asyncio.run(decisions(stack.bootstrap, 2))
    assert found["splits-a-pair"]["type"] == "plan_refused"
    assert [orphan["span_id"] for orphan in found["splits-a-pair"]["orphans"]] == ["result-1"]
    assert found["drops-chatter"]["type"] == "plan_accepted"
    assert found["drops-chatter"]["evicted_ids"] == ["chatter"]


def test_health_is_told_to_the_engine_and_to_scrapers(stack: Stack) -> None:
    until("the engine's own check passes", lambda: stack.worker()["State"]["Health"]["Status"] == "healthy")
    assert [stack.status(page) for page in ("/live", "/ready", "/metrics")] == [200, 200, 200]


def test_the_worker_has_no_rights_it_does_not_need(stack: Stack) -> None:
    assert stack.worker()["Config"]["User"] == "plangate"
    ports = [port for bound in stack.worker()["NetworkSettings"]["Ports"].values() for port in bound or []]
    assert {port["HostIp"] for port in ports} == {"127.0.0.1"}


def test_the_worker_stops_cleanly_when_told_to(stack: Stack) -> None:
    stack.compose("stop", "--timeout", "20", "worker")
    assert stack.worker()["State"]["ExitCode"] == 0
