"""The real worker with its own user on a broker with ACLs and TLS: it decides, and stops where it lacks a right."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from kafka_events import Item, item
from secure_broker import INSIDE, KAFKA_BIN, SecureKafka
from secure_rooms import Room
from worker_process import WorkerProcess

from plangate.wire.topics import INPUT

WINDOW = "w"
SPANS = [{"span_id": name, "kind": "user", "cost_units": 5} for name in ("a", "b")]


@pytest.fixture(scope="module")
def room(secure_kafka: SecureKafka, tmp_path_factory: pytest.TempPathFactory) -> Room:
    return Room(secure_kafka, tmp_path_factory.mktemp("gate"), ("agent", "authority", "gate", "reader"))


def produce(room: Room, user: str, items: Sequence[Item]) -> None:
    async def send() -> None:
        options = room.broker.client_options(user)
        async with AIOKafkaProducer(**options, enable_idempotence=True) as producer:
            for one in items:
                await producer.send_and_wait(room.prefix + INPUT, one.value, one.key, headers=one.headers)

    asyncio.run(send())


def read(room: Room, topic: str, count: int) -> list[dict[str, Any]]:
    """The first so many values of an output, as a reader in a group gets them."""

    async def take() -> list[dict[str, Any]]:
        options = room.broker.client_options("reader")
        group = f"{room.prefix}reader-{topic}-{count}"
        more = {"group_id": group, "auto_offset_reset": "earliest", "isolation_level": "read_committed"}
        async with AIOKafkaConsumer(room.prefix + topic, **options, **more) as consumer:
            return [json.loads((await asyncio.wait_for(consumer.getone(), 60)).value) for _ in range(count)]

    return asyncio.run(take())


def plan(plan_id: str, generation: int, span_id: str) -> Item:
    entries = [{"span_id": span_id, "relevance": 0.0}]
    fields = {"plan_id": plan_id, "window_generation": generation, "entries": entries}
    return item(WINDOW, {"type": "plan_proposed", **fields})


def change_right(room: Room, how: str, operation: str, topic: str) -> None:
    room.broker.run(
        f"{KAFKA_BIN}/kafka-run-class.sh org.apache.kafka.tools.AclCommand --bootstrap-server {INSIDE} {how}"
        f" --allow-principal User:gate --operation {operation} --topic {room.prefix}{topic}"
    )


def status_of(worker: WorkerProcess) -> tuple[int, str, str]:
    status, line = worker.wait(60), worker.last_line()
    assert (line["event"], line["status"]) == ("stopped", status)
    assert "detail" in line, worker.log.read_text()
    return status, line["reason"], line["detail"]


DENIED = "the broker denies the worker a right"


def test_the_worker_decides_and_stops_where_it_lacks_a_right(room: Room) -> None:
    pin = {"type": "span_pinned", "span_id": "a", "pin_owner": "o", "pin_reason": "r", "authority_seq": 1}
    with room.worker() as worker:
        worker.wait_until_ready()
        produce(room, "agent", [item(WINDOW, {"type": "span_appended", "spans": SPANS})])
        produce(room, "authority", [item(WINDOW, pin, signed=True)])
        produce(room, "agent", [plan("p1", 2, "a"), plan("p2", 2, "b")])
        decided = read(room, "plan-decisions", 2)
        assert [(answer["type"], answer["plan_id"]) for answer in decided] == [
            ("plan_refused", "p1"),
            ("plan_accepted", "p2"),
        ]
        assert decided[0]["pinned_ids"] == ["a"]
        assert worker.stop() == 0

    # May not write alerts, but see them: it starts, and ends at the first alert with nothing of the batch published.
    change_right(room, "--remove --force", "Write", "window-alerts")
    change_right(room, "--add", "Describe", "window-alerts")
    forged = {**pin, "span_id": "b", "authority_seq": 2}
    before = room.ends()
    for guarantee in ("transactions", "acknowledgements"):
        produce(room, "agent", [item(WINDOW, forged)])
        with room.worker(guarantee=guarantee) as worker:
            assert status_of(worker) == (78, DENIED, f"no right on topic {room.prefix}window-alerts"), guarantee
    after = room.ends()
    assert [topic for topic in after if topic not in (INPUT, "plan-decisions") and after[topic] != before[topic]] == []

    # May not see them either: it does not start.
    change_right(room, "--remove --force", "Describe", "window-alerts")
    with room.worker() as worker:
        says = f"{room.prefix}window-alerts: missing, or not shown to this user; create_topics is off"
        assert status_of(worker) == (78, "the worker can't start", says)
    with room.worker(create_topics=True) as worker:
        says = f"{room.prefix}window-alerts: the broker refused to create it (TopicAuthorizationFailedError)"
        assert status_of(worker) == (78, "the worker can't start", says)

    # Given back its right, it goes on where it was: nothing was lost.
    change_right(room, "--add", "Write", "window-alerts")
    with room.worker() as worker:
        alerts = read(room, "window-alerts", 2)
        assert [alert["alert"] for alert in alerts] == ["untrusted_authority"] * 2
        assert worker.stop() == 0


@pytest.mark.parametrize(
    ("settings", "detail"),
    [
        ({"application_id": "plangate2", "create_topics": True}, "plangate2-windows-changelog: the broker refused"),
        ({"sasl_username": "agent"}, "window-events: the broker does not tell its settings (TopicAuthorization"),
    ],
)
def test_a_worker_of_another_name_or_user_does_not_start(room: Room, settings: dict[str, Any], detail: str) -> None:
    if "sasl_username" in settings:
        settings = {**settings, "sasl_password_file": room.broker.password_file(settings["sasl_username"])}
    with room.worker(**settings) as worker:
        status, reason, says = status_of(worker)
    assert (status, reason) == (78, "the worker can't start")
    assert detail in says


@pytest.mark.parametrize("what", ["group", "group that it sees", "transactional-id"])
def test_a_worker_without_its_group_or_transactional_id_ends(room: Room, what: str) -> None:
    names = {"group": ("Read", "literal", "plangate"), "transactional-id": ("Write", "prefixed", "plangate-")}
    kind = what.split()[0]
    operation, pattern, name = names[kind]
    rule = f"--allow-principal User:gate --{kind} {room.prefix}{name} --resource-pattern-type {pattern}"
    tool = f"{KAFKA_BIN}/kafka-run-class.sh org.apache.kafka.tools.AclCommand --bootstrap-server {INSIDE}"
    instead = f"{tool} --add {rule} --operation Describe" if "sees" in what else "true"
    room.broker.run(f"{tool} --remove --force {rule} --operation {operation}; {instead}")
    try:
        with room.worker() as worker:
            status, reason, says = status_of(worker)
    finally:
        room.broker.run(f"{tool} --add {rule} --operation {operation}")
    assert (status, reason) == (78, DENIED)
    assert says.startswith(f"no right on {'consumer group' if kind == 'group' else 'transactional id'} {room.prefix}")
