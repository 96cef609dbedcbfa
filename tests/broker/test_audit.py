"""`plangate audit verify --topic` over what a real worker published: whole and made again; then forged, and found."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from aiokafka import AIOKafkaProducer
from kafka_bus import Bus
from kafka_events import PARTITIONS, event_stream, write_keyring
from worker_process import WorkerProcess, wait_for


class Desk:
    """A bus with its own prefix, workers on it, and the command against it."""

    def __init__(self, kafka: str, folder: Path) -> None:
        self.bus, self.folder, self.keyring = Bus(kafka, f"t{uuid4().hex[:8]}."), folder, write_keyring(folder)

    def worker(self, **settings: Any) -> WorkerProcess:
        given = {"broker": self.bus.kafka, "topic_prefix": self.bus.prefix, "partitions": PARTITIONS}
        return WorkerProcess(self.folder, **given, keyring_file=self.keyring, instance_id="w", **settings)

    def verify(self, *options: str, keyring: bool = True) -> tuple[int, list[dict[str, Any]], str]:
        """Status, report and errors of the command in a process of its own."""
        command = [sys.executable, "-m", "plangate.cli", "audit", "verify", "--topic"]
        command += ["--bootstrap", self.bus.kafka, "--prefix", self.bus.prefix, *options]
        environment = {**os.environ, **({"PLANGATE_KEYRING_FILE": str(self.keyring)} if keyring else {})}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
        return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr

    def produce(self, topic: str, key: bytes, value: bytes, partition: int) -> None:
        async def send() -> None:
            producer = AIOKafkaProducer(bootstrap_servers=self.bus.kafka)
            await producer.start()
            try:
                await producer.send_and_wait(self.bus.prefix + topic, value, key, partition=partition)
            finally:
                await producer.stop()

        asyncio.run(send())

    def last_link(self) -> tuple[int, Any]:
        """The newest record of the chain that is longest, and its partition."""
        found = [(n, record) for n, records in self.bus.read("audit-log").items() for record in records]
        return max(found, key=lambda entry: json.loads(entry[1].value)["number"])


@pytest.fixture
def desk(kafka: str, tmp_path: Path) -> Desk:
    return Desk(kafka, tmp_path)


def test_a_workers_topics_are_whole_and_a_forged_record_is_found(desk: Desk) -> None:
    with desk.worker(batch_size=50).wait_until_ready() as worker:
        desk.bus.produce(event_stream(1500, 5, desk.keyring))
        wait_for(lambda: desk.bus.decided("plangate"))
        status, report, errors = desk.verify("--recompute")  # while the worker runs
        assert status == 0, (report, errors)
        assert worker.stop() == 0
    summary = report[0]["summary"]
    assert summary["checked"] == ["chain", "decisions", "inputs"] and summary["undecided_inputs"] == 0
    assert summary["windows"] == 3 and summary["audit_records"] > 300 and summary["decisions"] > 200
    heads = desk.folder / "heads.jsonl"
    assert desk.verify("--chain-only", "--save-heads", str(heads))[0] == 0
    # Without the worker's keyring no event has authority, and other records are given.
    assert desk.verify("--recompute", keyring=False)[0] == 1

    number, last = desk.last_link()
    value = json.loads(last.value)
    value |= {"number": value["number"] + 1, "previous_hash": value["hash"], "kind": "authority", "hash": ""}
    value |= {"event": "span_pinned", "decision_id": None}
    compact = {"separators": (",", ":"), "ensure_ascii": False}
    value["hash"] = sha256(json.dumps(value, **compact).encode()).hexdigest()
    forged = json.dumps(value, **compact).encode()
    desk.produce("audit-log", last.key, forged, number)
    assert desk.verify()[0] == 0, "it continues the chain: the chain alone can't tell"
    status, report, _ = desk.verify("--recompute")
    assert status == 1
    (finding, _) = report
    assert (finding["finding"], finding["topic"], finding["partition"]) == ("not_given", "audit-log", number)
    assert finding["window_id"] == last.key.decode() and finding["found"] == sha256(forged).hexdigest()

    desk.produce("audit-log", last.key, last.value, number)  # one that was there before
    status, report, _ = desk.verify("--chain-only", "--heads", str(heads))
    assert status == 1 and [fact["finding"] for fact in report[:-1]] == ["repeated"]


def test_repeats_after_a_crash_are_lawful_where_they_are_promised(desk: Desk) -> None:
    """`acknowledgements`, killed between outputs and changelog: the batch is published again."""
    dying = [sys.executable, str(Path(__file__).with_name("dying_worker.py")), "outputs_sent", "3"]
    settings = {"guarantee": "acknowledgements", "batch_size": 40}
    with desk.worker(**settings).wait_until_ready() as first:
        assert first.stop() == 0
    desk.bus.produce(event_stream(600, 9, desk.keyring))
    with desk.worker(command=dying, **settings) as second:
        assert second.wait() == -signal.SIGKILL
    status, report, errors = desk.verify("--recompute", "--allow-repeats")
    assert status == 0, (report, errors)
    assert report[0]["summary"]["undecided_inputs"] > 0, "the kill was in the middle"
    with desk.worker(**settings).wait_until_ready() as third:
        wait_for(lambda: desk.bus.decided("plangate"))
        assert third.stop() == 0
    status, report, errors = desk.verify("--recompute", "--allow-repeats")
    assert status == 0, (report, errors)
    assert report[0]["summary"]["repeats"] > 0 and report[0]["summary"]["undecided_inputs"] == 0
    status, report, _ = desk.verify()
    assert status == 1 and {"repeated"} <= {fact.get("finding") for fact in report}


def test_what_cannot_be_read_is_no_finding(desk: Desk) -> None:
    status, report, errors = desk.verify("--recompute")
    assert (status, report) == (2, []) and "no such topic" in errors
    with desk.worker().wait_until_ready() as worker:
        assert worker.stop() == 0
    status, report, errors = desk.verify("--recompute")
    assert status == 2 and report[0]["summary"]["findings"] == 0 and "no audit record" in errors


def test_an_open_transaction_is_waited_for_and_an_aborted_one_is_nothing(desk: Desk) -> None:
    """`transactions`, killed with outputs sent: their topics end in records that never count."""
    dying = [sys.executable, str(Path(__file__).with_name("dying_worker.py")), "outputs_sent", "4"]
    with desk.worker().wait_until_ready() as first:
        assert first.stop() == 0
    desk.bus.produce(event_stream(600, 13, desk.keyring))
    with desk.worker(command=dying, batch_size=40, transaction_timeout_seconds=5) as second:
        assert second.wait() == -signal.SIGKILL
    status, report, errors = desk.verify("--recompute")
    assert status == 0, (report, errors)
    summary = report[0]["summary"]
    assert summary["undecided_inputs"] > 0 and summary["audit_records"] > 0
    sent = sum(len(records) for records in desk.bus.read("audit-log", "read_uncommitted").values())
    assert sent > summary["audit_records"], "the kill left nothing behind"
