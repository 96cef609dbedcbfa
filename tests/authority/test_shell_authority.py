"""What the worker's shell says: of a redaction policy without a key, and of the right that ended a transaction."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import IllegalOperation, ProducerFenced, TopicAuthorizationFailedError
from shell_fakes import SOURCE, Bus, FakeProducer, Worker
from structlog.testing import capture_logs
from wirekit import KEYS, RING, TOPIC

from plangate.shell.changelog import Change
from plangate.shell.publish import Names, TransactionalPublisher
from plangate.wire.engine import Engine, Out
from plangate.wire.keyring import sign

PLACE = TopicPartition(SOURCE, 0)


def set_policy(bus: Bus, number: int, redaction: str, signed: bool = True) -> None:
    policy = {"policy_version": f"v{number}", "id_redaction": redaction}
    value = json.dumps({"type": "policy_set", "window_id": "w", "policy": policy, "authority_seq": number}).encode()
    bus.append(PLACE, b"w", value, headers=sign(KEYS["ps"], "ps", TOPIC, value) if signed else [])


def warnings(bus: Bus, key: bytes = b"") -> int:
    """How often a worker that decides all there is warns."""
    engine = Engine(keyring=RING, redaction_key=key) if key else Engine(keyring=RING)
    with capture_logs() as lines:
        asyncio.run(Worker(bus, "transactions", engine=engine).run())
    return len([line for line in lines if (line["event"], line["log_level"]) == ("redaction_without_key", "warning")])


def test_a_policy_that_asks_for_hashed_ids_without_a_key_is_told() -> None:
    bus = Bus()
    set_policy(bus, 1, "hmac", signed=False)
    set_policy(bus, 2, "none")
    assert warnings(bus) == 0
    set_policy(bus, 3, "hmac")
    set_policy(bus, 4, "none")
    assert warnings(bus) == 1
    assert warnings(bus) == 0, "no window has that policy any more"
    set_policy(bus, 5, "hmac")
    assert warnings(bus) == 1
    assert warnings(bus) == 1, "a worker that takes such a window over says so too"
    assert warnings(bus, b"secret") == 0


class EndedTransaction(FakeProducer):
    """The broker's answer to the first batch ends the transaction; the client then takes no batch."""

    answer: BaseException = TopicAuthorizationFailedError({"window-alerts"})

    def __init__(self, bus: Bus) -> None:
        super().__init__(bus, "plangate-0")
        self.batches = 0

    async def send_batch(self, batch: Any, topic: str, *, partition: int) -> Any:
        self.batches += 1
        if self.batches > 1:
            raise IllegalOperation("Can't send messages while not in transaction")
        future = asyncio.get_running_loop().create_future()
        future.set_exception(self.answer)
        return future


@pytest.mark.parametrize("topics", [["window-alerts"], ["window-alerts", "plan-decisions"]])
@pytest.mark.parametrize("answer", [TopicAuthorizationFailedError({"window-alerts"}), ProducerFenced()])
def test_what_ended_a_transaction_is_told_and_not_that_it_ended(topics: list[str], answer: BaseException) -> None:
    async def publish() -> None:
        producer = EndedTransaction(Bus())
        producer.answer = answer
        publisher = TransactionalPublisher(producer, Names("window-events", "changelog", "plangate", "", 0))
        await publisher.start()
        outs = [Out(topic, b"w", b"{}", []) for topic in topics]
        await publisher.publish(outs, [Change(b"w", b"")], 1)

    with pytest.raises(type(answer)):
        asyncio.run(publish())


def test_the_documented_roles_are_those_of_deploy() -> None:
    """docs/security.md shows the rules as they stand in deploy/acls/roles.txt."""
    root = Path(__file__).parents[2]
    rules = [
        " ".join(line.split())
        for line in (root / "deploy" / "acls" / "roles.txt").read_text().splitlines()
        if line and not line.startswith("#")
    ]
    page = (root / "docs" / "security.md").read_text()
    table = [line for line in page.splitlines() if line.startswith("| `")]
    shown = [" ".join(cell.strip(" `") for cell in line.strip("|").split("|")[:5]) for line in table]
    assert [line.replace(", ", ",") for line in shown if line.split()[0] in {r.split()[0] for r in rules}] == rules
