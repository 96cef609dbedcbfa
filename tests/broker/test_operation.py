"""What an operator sees of real workers: readiness, liveness, lost input, and why a worker stopped."""

import asyncio
import json
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, RecordsToDelete
from kafka_bus import Bus
from kafka_container import ApacheKafka
from kafka_events import PARTITIONS, WINDOWS, Item, item
from worker_process import WorkerProcess, wait_for

from plangate.wire.topics import INPUT

HELD = str(Path(__file__).with_name("held_worker.py"))
WINDOW = WINDOWS[1]


class Site:
    """A bus with a prefix of its own, and workers on it."""

    def __init__(self, kafka: str, folder: Path) -> None:
        self.bus = Bus(kafka, f"t{uuid4().hex[:8]}.")
        self.folder = folder
        self.go = folder / "go"

    def worker(self, *command: str, **settings: object) -> WorkerProcess:
        given = {"broker": self.bus.kafka, "topic_prefix": self.bus.prefix, "partitions": PARTITIONS, **settings}
        more = {"command": [sys.executable, *command]} if command else {}
        return WorkerProcess(self.folder, **more, **given)

    def held(self, place: str, **settings: object) -> WorkerProcess:
        """See held_worker; it goes on once `self.go` exists."""
        return self.worker(HELD, place, str(self.go), **settings)

    def append(self, *numbers: int, window: str = WINDOW) -> None:
        for number in numbers:
            spans = [{"span_id": f"s{number}", "kind": "user", "cost_units": 1}]
            self.bus.produce([item(window, {"type": "span_appended", "spans": spans})])

    def wait_until_decided(self) -> None:
        wait_for(lambda: self.bus.decided("plangate"))


@pytest.fixture
def site(kafka: str, tmp_path: Path) -> Iterator[Site]:
    yield Site(kafka, tmp_path)


def stopped(worker: WorkerProcess, status: int) -> dict[str, Any]:
    """The line that says why the worker stopped."""
    line = worker.last_line()
    assert (line["event"], line["status"]) == ("stopped", status)
    return line


def test_not_ready_while_recovering(site: Site) -> None:
    with site.worker().wait_until_ready() as worker:
        site.append(1)
        site.wait_until_decided()
        assert worker.stop() == 0
    site.append(2)
    with site.held("recovery") as worker:
        wait_for(lambda: '"partitions_assigned"' in worker.log.read_text())
        for _ in range(20):
            assert (worker.ask("ready"), worker.ask("live")) == (503, 200)
            time.sleep(0.05)
        assert not site.bus.decided("plangate")
        site.go.touch()
        wait_for(lambda: worker.ask("ready") == 200)
        site.wait_until_decided()
        assert worker.stop() == 0
    assert stopped(worker, 0)["signal"] == "SIGTERM"


def test_not_ready_while_partitions_are_revoked(site: Site) -> None:
    with site.held("revocation").wait_until_ready() as first:
        assert first.metric("plangate_partitions") == PARTITIONS
        with site.worker() as second:
            wait_for(lambda: first.ask("ready") == 503)
            assert first.metric("plangate_partitions") == 0
            assert second.ask("ready") != 200
            site.go.touch()
            wait_for(lambda: first.ask("ready") == second.ask("ready") == 200)
            assert first.metric("plangate_partitions") + second.metric("plangate_partitions") == PARTITIONS
            second.signal(signal.SIGINT)
            assert second.wait() == 0
        assert stopped(second, 0)["signal"] == "SIGINT"


def test_stuck_is_not_alive_and_idle_is(site: Site) -> None:
    """Progress counts, not heartbeats: the group still thinks well of the worker that is stuck."""
    with site.held("publishing", stall_seconds=5, rebalance_timeout_seconds=1).wait_until_ready() as worker:
        since = time.monotonic()
        while time.monotonic() < since + 11:
            assert worker.ask("live") == 200, "idle"
            time.sleep(0.2)
        site.append(1)
        wait_for(lambda: worker.ask("live") == 503)
        assert worker.ask("ready") == 200 and worker.metric("plangate_stalled_partitions") == 1
        wait_for(lambda: '"stalled"' in worker.log.read_text())
        worker.signal(signal.SIGTERM)
        assert worker.wait() == 70
    assert stopped(worker, 70)["reason"] == "a batch did not end in time for the rebalance"


def test_a_lost_broker_is_told(engine: None, tmp_path: Path) -> None:
    with ApacheKafka() as broker:
        site = Site(broker.bootstrap, tmp_path)
        with site.worker(stall_seconds=5).wait_until_ready() as worker:
            broker.get_wrapped_container().kill()
            wait_for(lambda: worker.ask("live") == 503)
            wait_for(lambda: '"stalled"' in worker.log.read_text())
            worker.signal(signal.SIGTERM)
            assert worker.wait() == 0
    assert stopped(worker, 0)["stalled"] is True


def test_another_owner_is_told(site: Site) -> None:
    async def take_over() -> None:
        for number in range(PARTITIONS):
            name = f"{site.bus.prefix}plangate-{number}"
            producer = AIOKafkaProducer(bootstrap_servers=site.bus.kafka, transactional_id=name)
            await producer.start()
            await producer.stop()

    with site.worker().wait_until_ready() as worker:
        asyncio.run(take_over())
        site.append(1)
        assert worker.wait() == 70
    assert stopped(worker, 70)["reason"] == "another worker has taken over a partition"


def place_of(bus: Bus, window: str) -> TopicPartition:
    [number] = [n for n, records in bus.read(INPUT).items() if any(r.key == window.encode() for r in records)]
    return TopicPartition(bus.prefix + INPUT, number)


def test_retention_that_overtakes_a_running_worker_is_told(site: Site) -> None:
    """Stopped for less than the session's time-out; what a fetch held by then is decided, what is gone is counted."""
    big = Item(WINDOW.encode(), b"{" * 900_000, [])

    async def delete(admin: AIOKafkaAdminClient) -> None:
        await admin.delete_records({place: RecordsToDelete(before_offset=10)})

    with site.worker(session_timeout_seconds=30).wait_until_ready() as worker:
        site.append(0)
        site.wait_until_decided()
        place = place_of(site.bus, WINDOW)
        worker.signal(signal.SIGSTOP)
        site.bus.produce([big] * 9)
        site.append(1)
        site.bus._with_admin(delete)
        worker.signal(signal.SIGCONT)
        entry = {"span_id": "s1", "relevance": 0.0}
        plan = {"type": "plan_proposed", "plan_id": "p", "window_generation": 2, "entries": [entry]}
        site.bus.produce([item(WINDOW, plan)])
        site.wait_until_decided()
        taken, lost = worker.metric("plangate_events_total"), worker.metric("plangate_input_lost_offsets_total")
        assert worker.ask("ready") == 200
        assert worker.stop() == 0
    lines = [json.loads(line) for line in worker.log.read_text().splitlines() if '"input_lost"' in line]
    assert [(line["partition"], line["first_offset"]) for line in lines] == [(place.partition, 10)]
    assert lost > 0 and taken + lost == 12
    [answer] = [out for outs in site.bus.outputs("plan-decisions").values() for out in outs]
    assert b"plan_accepted" in answer.value


def test_an_input_topic_made_anew_stops_a_running_worker(site: Site) -> None:
    async def delete(admin: AIOKafkaAdminClient) -> None:
        await admin.delete_topics([site.bus.prefix + INPUT])

    with site.worker().wait_until_ready() as worker:
        site.append(1, 2, 3)
        site.wait_until_decided()
        worker.signal(signal.SIGSTOP)
        site.bus._with_admin(delete)
        wait_for(lambda: site.bus.prefix + INPUT not in site.bus._with_admin(AIOKafkaAdminClient.list_topics))
        site.bus.create_topic(INPUT, PARTITIONS, cleanup_policy="delete", compression_type="uncompressed")
        worker.signal(signal.SIGCONT)
        assert worker.wait() == 78
    assert "ends before" in stopped(worker, 78)["detail"]
