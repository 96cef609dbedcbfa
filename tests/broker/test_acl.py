"""The roles of deploy/acls on a real Kafka: each right of every user, given or denied by the broker's own word."""

import asyncio
from collections import Counter
from typing import Any

import pytest
from acl_probes import Answers, Probes
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import (
    GroupAuthorizationFailedError,
    TopicAuthorizationFailedError,
    TransactionalIdAuthorizationFailed,
)
from secure_broker import SecureKafka
from secure_rooms import USERS, Room

from plangate.wire.topics import INPUT

ROLES = ("agent", "authority", "gate", "reader", "auditor")
CHANGELOG = "plangate-windows-changelog"
OUTPUTS = {
    "plan-decisions",
    "plan-refusals",
    "eviction-plans",
    "window-diagnostics",
    "window-alerts",
    "window-status",
    "audit-log",
    "dead-letters",
}
# Written down once more, not read from deploy/: what each user may do. Nobody else may do anything.
WRITE = {"agent": {INPUT}, "authority": {INPUT}, "gate": OUTPUTS | {CHANGELOG}}
READ = {"gate": {INPUT, CHANGELOG}, "reader": OUTPUTS, "auditor": OUTPUTS | {INPUT}}
KNOW = {user: WRITE.get(user, set()) | READ.get(user, set()) for user in USERS}
TOPICS: dict[str, dict[str, set[str]]] = {
    "write": WRITE,
    "read": READ,
    "describe": KNOW,
    "describe_configs": {"gate": KNOW["gate"]},
    "create": {},
    "delete": {},
    "alter_configs": {},
    "add_partitions": {},
    "delete_records": {},
}
GROUPS: dict[str, dict[str, set[str]]] = {
    "find_group": {"gate": {"plangate"}, "reader": {"reader-1"}, "auditor": {"auditor-1", "plangate"}},
    "join_group": {"gate": {"plangate"}, "reader": {"reader-1"}, "auditor": {"auditor-1"}},
    "delete_group": {},
}
TRANSACTIONS: dict[str, dict[str, set[str]]] = {
    "find_transaction": {"gate": {"plangate-0"}},
    "start_transaction": {"gate": {"plangate-0"}},
}
IDEMPOTENT = {"agent", "authority", "gate"}


@pytest.fixture(scope="module")
def room(secure_kafka: SecureKafka, tmp_path_factory: pytest.TempPathFactory) -> Room:
    return Room(secure_kafka, tmp_path_factory.mktemp("acl"), ROLES)


def ask(room: Room, user: str, probes: list[str], names: list[str]) -> dict[str, Answers]:
    """What the broker answers to each probe of this user, by name without the room's prefix."""

    async def run(admin: AIOKafkaAdminClient) -> dict[str, Answers]:
        found = {}
        for probe in probes:
            answers = await getattr(Probes(admin), probe)([room.prefix + name for name in names])
            found[probe] = {name.removeprefix(room.prefix): answer for name, answer in answers.items()}
        return found

    return room.as_admin(run, user)


def judge(
    room: Room, rights: dict[str, dict[str, set[str]]], names: set[str], denial: str, given: dict[str, str]
) -> tuple[list[str], Counter[bool]]:
    """Where the broker answers other than the matrix says, and how many rights were given and denied."""
    wrong, counted = [], Counter[bool]()
    for user in USERS:
        if user == "admin":
            continue
        answers = ask(room, user, list(rights), sorted(names))
        for probe, allowed in rights.items():
            assert answers[probe].keys() == names
            for name, answer in answers[probe].items():
                right = name in allowed.get(user, set())
                counted[right] += 1
                if answer != (given.get(probe, "NoError") if right else denial):
                    wrong.append(f"{user} {probe} {name}: {answer}")
    return wrong, counted


def test_topics(room: Room) -> None:
    names = {INPUT, CHANGELOG} | OUTPUTS
    assert names == set(room.topics), "a topic is missing in this matrix"
    wrong, counted = judge(room, TOPICS, names, "TopicAuthorizationFailedError", {})
    assert wrong == []
    assert counted == {True: 11 + 19 + 29 + 10, False: 6 * 10 * 9 - 69}
    # The requests are such as succeed where the right is there.
    answers = ask(room, "admin", [probe for probe in TOPICS if probe not in ("delete", "create")], sorted(names))
    compacted = {CHANGELOG, "window-status"}  # whose records nobody may delete, whatever their rights
    deleted = answers.pop("delete_records")
    assert {deleted.pop(topic) for topic in compacted} <= {"NoError", "PolicyViolationError"}
    assert {answer for found in (deleted, *answers.values()) for answer in found.values()} == {"NoError"}
    assert ask(room, "admin", ["create"], ["new"]) == {"create": {"new": "NoError"}}
    assert ask(room, "admin", ["delete"], ["dead-letters"]) == {"delete": {"dead-letters": "NoError"}}


def test_groups(room: Room) -> None:
    names = {"plangate", "reader-1", "auditor-1", "other"}
    room.wait_for_coordinators()
    wrong, counted = judge(room, GROUPS, names, "GroupAuthorizationFailedError", {"join_group": "UnknownMemberIdError"})
    assert wrong == []
    assert counted == {True: 7, False: 6 * 4 * 3 - 7}


def test_transactional_ids(room: Room) -> None:
    room.wait_for_coordinators()
    wrong, counted = judge(room, TRANSACTIONS, {"plangate-0", "other-0"}, "TransactionalIdAuthorizationFailed", {})
    assert wrong == []
    assert counted == {True: 2, False: 6 * 2 * 2 - 2}


def test_the_cluster(room: Room) -> None:
    for user in ROLES + ("stranger",):
        answers = room.as_admin(lambda admin: Probes(admin).cluster(), user)
        idempotent = answers.pop("idempotent_write")
        assert idempotent == ("NoError" if user in IDEMPOTENT else "ClusterAuthorizationFailedError"), user
        assert set(answers.values()) == {"ClusterAuthorizationFailedError"}, user


def test_roles_can_be_given_again_and_taken_away(room: Room) -> None:
    room.broker.grant("agent", "stranger", prefix=room.prefix)
    room.broker.grant("agent", "stranger", prefix=room.prefix)
    assert ask(room, "stranger", ["write"], [INPUT]) == {"write": {INPUT: "NoError"}}
    room.broker.grant("agent", "stranger", prefix=room.prefix, remove=True)
    assert ask(room, "stranger", ["write"], [INPUT]) == {"write": {INPUT: "TopicAuthorizationFailedError"}}
    assert ask(room, "agent", ["write"], [INPUT]) == {"write": {INPUT: "NoError"}}


def test_clients_are_told(room: Room) -> None:
    """What users of aiokafka see."""
    options, decisions = room.broker.client_options, room.prefix + "plan-decisions"

    async def write(user: str, topic: str, **more: Any) -> None:
        async with AIOKafkaProducer(**options(user), **more) as producer:
            await producer.send_and_wait(topic, b"{}", b"w")

    async def read(user: str, topic: str, group: str) -> None:
        async with AIOKafkaConsumer(topic, **options(user), group_id=room.prefix + group) as consumer:
            await consumer.getone()

    with pytest.raises(TopicAuthorizationFailedError):
        asyncio.run(write("agent", decisions))
    with pytest.raises(TopicAuthorizationFailedError):
        asyncio.run(read("agent", decisions, "reader-1"))
    with pytest.raises(GroupAuthorizationFailedError):
        asyncio.run(read("reader", decisions, "plangate"))
    with pytest.raises(TransactionalIdAuthorizationFailed):
        asyncio.run(write("agent", room.prefix + INPUT, transactional_id=room.prefix + "plangate-0"))
