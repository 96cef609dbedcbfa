"""State of a newer version stops a real worker, which touches nothing on a real Kafka."""

import asyncio
import json
from pathlib import Path
from typing import Any
from uuid import uuid4

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from kafka_bus import Bus
from kafka_events import PARTITIONS, WINDOWS, item
from worker_process import WorkerProcess, wait_for

from plangate.shell.changelog import HEADER
from plangate.wire.state import VERSION
from plangate.wire.topics import INPUT

CHANGELOG = "plangate-windows-changelog"


def everything(bus: Bus) -> dict[str, Any]:
    """All topics but the broker's own, with settings and ends, aborted records included; and the group's offsets."""

    async def ends(names: list[str]) -> dict[str, int]:
        consumer = AIOKafkaConsumer(bootstrap_servers=bus.kafka)
        await consumer.start()
        try:
            places = [TopicPartition(name, number) for name in names for number in range(PARTITIONS)]
            return {
                f"{place.topic}-{place.partition}": end for place, end in (await consumer.end_offsets(places)).items()
            }
        finally:
            await consumer.stop()

    async def told(admin: AIOKafkaAdminClient) -> tuple[list[str], list[Any], dict[Any, Any]]:
        names = sorted(name for name in await admin.list_topics() if name.startswith(bus.prefix))
        answers = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, name) for name in names])
        settings = sorted((r[3], sorted((e[0], e[1]) for e in r[4])) for answer in answers for r in answer.resources)
        offsets = await admin.list_consumer_group_offsets(bus.prefix + "plangate")
        return names, settings, {place.partition: entry.offset for place, entry in offsets.items()}

    names, settings, offsets = bus._with_admin(told)
    return {"topics": names, "settings": settings, "offsets": offsets, "ends": asyncio.run(ends(names))}


def append_newer(bus: Bus) -> int:
    """A copy of a record of the changelog, as a newer version would have written it; its partition."""
    number, records = next((number, records) for number, records in bus.read(CHANGELOG).items() if records)
    first = records[0]
    assert first.value[HEADER.size + 1] == VERSION
    value = first.value[: HEADER.size + 1] + bytes([VERSION + 1]) + first.value[HEADER.size + 2 :]

    async def send() -> None:
        producer = AIOKafkaProducer(bootstrap_servers=bus.kafka)
        await producer.start()
        await producer.send_and_wait(bus.prefix + CHANGELOG, value, first.key, partition=number)
        await producer.stop()

    asyncio.run(send())
    return number


def test_newer_state_stops_the_worker_and_nothing_is_touched(kafka: str, tmp_path: Path) -> None:
    """Also not in the partitions whose state it could read, where input waits too."""
    bus = Bus(kafka, f"t{uuid4().hex[:8]}.")
    given = {"broker": kafka, "topic_prefix": bus.prefix, "partitions": PARTITIONS}

    def append(number: int) -> None:
        spans = [{"span_id": f"s{number}", "kind": "user", "cost_units": 1}]
        bus.produce(item(window, {"type": "span_appended", "spans": spans}) for window in WINDOWS)

    with WorkerProcess(tmp_path, **given).wait_until_ready() as worker:
        append(1)
        wait_for(lambda: bus.decided("plangate"))
        assert worker.stop() == 0
    number = append_newer(bus)
    append(2)
    before = everything(bus)
    assert len(before["topics"]) == 10 and sum(before["offsets"].values()) == 3 and before["settings"]
    assert len([n for n, records in bus.read(INPUT).items() if records]) > 1
    with WorkerProcess(tmp_path, **given) as worker:
        assert worker.wait() == 78
    line = worker.last_line()
    assert (line["event"], line["reason"]) == ("stopped", "a partition can't go on")
    assert line["detail"] == f"state version {VERSION + 1} is newer than {VERSION}, which this program reads"
    assert everything(bus) == before
    log = [json.loads(text)["event"] for text in worker.log.read_text().splitlines()]
    assert "partitions_assigned" in log and "partition_taken_over" not in log, number
