"""TLS and passwords on a real Kafka: what is not as it must be gets no record acknowledged and no worker started."""

import asyncio
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError
from secure_broker import SecureKafka
from secure_rooms import Room

from plangate.shell.reach import why_unreachable
from plangate.shell.settings import load_settings
from plangate.wire.topics import INPUT

WRONG_PASSWORD = "c4n4ry-no-password"
#: of which a worker is started for each; the rest asks what a worker would say
STARTED = ("expired certificate", "certificate of another host", "unknown authority", "no TLS", "wrong password")
#: what is wrong -> (listener, options of a client, settings of a worker, what the worker says)
FAULTS: dict[str, tuple[str, dict[str, Any], dict[str, Any], str]] = {
    "expired certificate": ("EXPIRED", {}, {}, "its certificate has expired"),
    "certificate of another host": ("WRONGHOST", {}, {}, "its certificate is for another host"),
    "unknown authority": ("UNKNOWN", {}, {}, "its certificate is of an authority that is not trusted"),
    "no TLS": (
        "HOST",
        {"security_protocol": "PLAINTEXT"},
        {"security_protocol": "PLAINTEXT"},
        "it speaks TLS, and security_protocol is PLAINTEXT",
    ),
    "password without TLS": (
        "HOST",
        {"security_protocol": "SASL_PLAINTEXT"},
        {"security_protocol": "SASL_PLAINTEXT"},
        "it speaks TLS, and security_protocol is SASL_PLAINTEXT",
    ),
    "TLS without a password": (
        "HOST",
        {"security_protocol": "SSL"},
        {"security_protocol": "SSL"},
        "it closes the connection: does its listener speak SSL?",
    ),
    "wrong password": (
        "HOST",
        {"sasl_plain_password": WRONG_PASSWORD},
        {"sasl_password": WRONG_PASSWORD, "sasl_password_file": ""},
        "it refuses the user or the password",
    ),
    "wrong user": (
        "HOST",
        {"sasl_plain_username": "nobody-here"},
        {"sasl_username": "nobody-here"},
        "it refuses the user or the password",
    ),
    "another mechanism": (
        "HOST",
        {"sasl_mechanism": "PLAIN"},
        {"sasl_mechanism": "PLAIN"},
        "it does not take this sasl_mechanism",
    ),
}


def acknowledged(options: dict[str, Any], topic: str, count: int = 3) -> tuple[int, str]:
    """How many of so many records the broker acknowledged, and the error that ended it."""

    async def send() -> tuple[int, str]:
        producer = AIOKafkaProducer(**options, request_timeout_ms=8000, enable_idempotence=True)
        done = 0
        try:
            await producer.start()
            for _ in range(count):
                await producer.send_and_wait(topic, b"{}", b"w")
                done += 1
        except (KafkaError, OSError) as error:
            return done, type(error).__name__
        finally:
            await producer.stop()
        return done, ""

    return asyncio.run(send())


@pytest.fixture(scope="module")
def room(secure_kafka: SecureKafka, tmp_path_factory: pytest.TempPathFactory) -> Room:
    return Room(secure_kafka, tmp_path_factory.mktemp("tls"))


def test_nothing_is_acknowledged_over_a_wrong_connection(room: Room) -> None:
    topic = room.prefix + INPUT
    good = room.broker.client_options("agent")
    assert acknowledged(good, topic) == (3, "")
    for name, (listener, other, _, _) in FAULTS.items():
        options = {**room.broker.client_options("agent", listener), **other}
        assert acknowledged(options, topic) == (0, "KafkaConnectionError"), name
    assert room.ends()[INPUT] == 3


def test_what_a_worker_says_of_a_wrong_connection(room: Room) -> None:
    for name, (listener, _, other, says) in FAULTS.items():
        given = {**room.broker.worker_settings("gate", listener), **other}
        variables = {f"PLANGATE_{setting.upper()}": str(value) for setting, value in given.items()}
        fault = asyncio.run(why_unreachable(load_settings(variables)))
        passing = "closes" in says
        assert fault == (f"{room.broker.address(listener)}: {says}", not passing), name


def test_no_worker_starts_over_a_wrong_connection(room: Room) -> None:
    """All at once: each ends with status 78 and says why; no password is in a log, and nothing is published."""
    with room.worker() as good:
        good.wait_until_ready()
        assert good.stop() == 0
    before = room.ends()
    workers = {name: room.worker(FAULTS[name][0], **FAULTS[name][2]) for name in STARTED}
    try:
        statuses = {name: worker.wait(120) for name, worker in workers.items()}
    finally:
        for worker in workers.values():
            worker.__exit__()
    assert statuses == dict.fromkeys(STARTED, 78)
    for name, worker in workers.items():
        line = worker.last_line()
        assert (line["event"], line["reason"]) == ("stopped", "the broker can't be reached"), name
        assert line["detail"].endswith(": " + FAULTS[name][3]), name
    for worker in (good, *workers.values()):
        log = worker.log.read_text()
        assert not [p for p in (WRONG_PASSWORD, *room.broker.passwords.values()) if p in log]
    assert room.ends() == before
