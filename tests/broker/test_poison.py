"""Every kind of poison on a real Kafka: one worker process decides what lies between, and never restarts."""

import asyncio
import json
import sys
import time
from pathlib import Path
from uuid import uuid4

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.record.default_records import _DefaultRecordBatchBuilderPy
from kafka_bus import Bus, differences
from worker_process import WorkerProcess, wait_for

from plangate.shell.worker.headers import accept_any_header_name
from plangate.wire.replay import replay
from plangate.wire.topics import INPUT

sys.path += [str(Path(__file__).parents[1] / room) for room in ("hostile", "wire")]
from hostile_records import CANARY, KINDS, OPEN, Poison

NEIGHBOUR = b"neighbour"


class Unreadable(str):
    """A header name that is no UTF-8 on the wire."""

    def encode(self, *_: object) -> bytes:
        return b"plangate-\xff\xfe"


#: the broker itself refuses a time in the future, and records that are no records
SENT = {name: poison for name, poison in KINDS.items() if name != "time in the far future"} | {
    "header name no utf-8": Poison(OPEN + b"}", "answered", headers=((Unreadable(""), CANARY),)),
    "header name no utf-8 beside others": Poison(b"{", headers=(("a", b""), (Unreadable(""), None), ("b", b""))),
}


def neighbour(number: int) -> bytes:
    """An append at even places, and a plan that evicts what it appended at odd ones: two generations for each pair."""
    event: dict[str, object]
    if number % 2 == 0:
        event = {"type": "span_appended", "spans": [{"span_id": f"s{number}", "cost_units": 1}]}
    else:
        entry = {"span_id": f"s{number - 1}", "relevance": 0}
        event = {"type": "plan_proposed", "plan_id": f"p{number}", "window_generation": number, "entries": [entry]}
    return json.dumps({"window_id": NEIGHBOUR.decode(), **event}).encode()


def records() -> list[Poison]:
    """A neighbour, a poison, a neighbour, …; ``open`` is opened first."""
    found = [Poison(b'{"type":"window_opened","window_id":"open"}', key=b"open")]
    for number, poison in enumerate(SENT.values()):
        found += [Poison(neighbour(number), key=NEIGHBOUR), poison]
    return [*found, Poison(neighbour(len(SENT)), key=NEIGHBOUR)]


def produce(bus: Bus, sent: list[Poison]) -> None:
    """To partition 0, a batch for each record: the broker takes what the client's own encoder would not write."""

    async def send() -> None:
        producer = AIOKafkaProducer(bootstrap_servers=bus.kafka, max_request_size=9_400_000)
        await producer.start()
        try:
            for poison in sent:
                batch = producer.create_batch()
                batch._builder = _DefaultRecordBatchBuilderPy(2, 0, 0, -1, -1, -1, 16_000_000)
                # Retention deletes segments of old times, so only the kind that has one is old.
                when = int(time.time() * 1000) if poison.timestamp is None else poison.timestamp
                batch.append(timestamp=when, key=poison.key, value=poison.value, headers=list(poison.headers))
                batch.close()
                await (await producer.send_batch(batch, bus.prefix + INPUT, partition=0))
        finally:
            await producer.stop()

    asyncio.run(send())


@pytest.fixture(autouse=True)
def readable() -> None:
    """The tests' own consumers read the same records."""
    accept_any_header_name()


def test_no_poison_stops_the_worker_or_changes_its_neighbours(kafka: str, tmp_path: Path) -> None:
    bus = Bus(kafka, f"t{uuid4().hex[:8]}.")
    bus.create_topic(INPUT, 1, cleanup_policy="delete", compression_type="uncompressed", max_message_bytes="9437184")
    sent = records()
    produce(bus, sent)
    assert len(bus.read(INPUT)[0]) == len(sent), "the broker took all of them"
    settings = {"broker": kafka, "topic_prefix": bus.prefix, "partitions": 1, "batch_size": 7, "log_level": "debug"}
    with WorkerProcess(tmp_path, **settings).wait_until_ready() as worker:
        pid = worker.process.pid
        wait_for(lambda: worker.process.poll() is not None or bus.decided("plangate"))
        assert worker.process.poll() is None, worker.log.read_text()[-2000:]
        produce(bus, [Poison(neighbour(len(SENT) + 1), key=NEIGHBOUR)])
        wait_for(lambda: bus.decided("plangate"))
        letters = worker.metric("plangate_dead_letters_total")
        assert worker.process.pid == pid and worker.stop() == 0
    log = [json.loads(line) for line in worker.log.read_text().splitlines()]
    assert [line["event"] for line in log].count("partition_taken_over") == 1
    assert log[-1]["reason"] == "signal"
    assert not [line for line in log if line["logger"] == "plangate" and line["level"] in ("error", "critical")]
    assert CANARY.decode() not in worker.log.read_text()

    assert differences(bus, None) == ([], 0)
    bad = sum(poison.comes == "letter" for poison in SENT.values())
    assert len(bus.read("dead-letters")[0]) == bad
    assert letters == bad
    # What replay makes of the neighbours alone, each on the line of its offset, is what was published of them.
    lines = [record.value if record.key == NEIGHBOUR else b"" for record in bus.read(INPUT)[0]]
    wanted = [out for out in replay(lines) if out.topic != "dead-letters"]
    for topic in {out.topic for out in wanted}:
        published = [record.value for record in bus.read(topic)[0] if record.key == NEIGHBOUR]
        assert published == [out.value for out in wanted if out.topic == topic], topic
    decided = bus.read("plan-decisions")[0]
    plans = sum(record.key == NEIGHBOUR and b"plan_accepted" in record.value for record in decided)
    assert plans == len([number for number in range(len(SENT) + 2) if number % 2])
    print(f"{len(SENT)} kinds of poison, {letters:.0f} dead letters, {plans} neighbours accepted, 0 restarts")
