"""One request for each right, straight to the broker: what it answers is its own word, not that of a client library.

Each probe gives, by name of topic, group or transactional id, the name of the broker's error. None does anything where
the right is there, but `write`, which adds a record.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import for_code
from aiokafka.protocol.admin import (
    CreateAclsRequest,
    CreatePartitionsRequest,
    DeleteGroupsRequest,
    DeleteRecordsRequest,
    DescribeAclsRequest,
)
from aiokafka.protocol.coordination import FindCoordinatorRequest
from aiokafka.protocol.fetch import FetchRequest
from aiokafka.protocol.group import HeartbeatRequest
from aiokafka.protocol.produce import ProduceRequest
from aiokafka.protocol.transaction import InitProducerIdRequest
from aiokafka.record.default_records import DefaultRecordBatchBuilder

Answers = dict[str, str]
BROKER = 1
GROUP, TRANSACTION = 0, 1


class Probes:
    """Over a started admin client of one user."""

    def __init__(self, admin: AIOKafkaAdminClient) -> None:
        self._admin = admin

    async def _ask(self, request: Any) -> Any:
        return await self._admin._send_request(request, BROKER)

    async def write(self, topics: Sequence[str]) -> Answers:
        batch = DefaultRecordBatchBuilder(2, 0, 0, -1, -1, -1, 10_000)
        batch.append(0, timestamp=0, key=b"k", value=b"{}", headers=[])
        data = bytes(batch.build())
        answer = await self._ask(ProduceRequest(None, -1, 10_000, [(topic, [(0, data)]) for topic in topics]))
        return {topic: name_of(parts[0][1]) for topic, parts in answer.topics}

    async def read(self, topics: Sequence[str]) -> Answers:
        answer = await self._ask(FetchRequest(0, 0, 10_000, 0, [(topic, [(0, 0, 10_000)]) for topic in topics]))
        return {topic: name_of(parts[0][1]) for topic, parts in answer.topics}

    async def describe(self, topics: Sequence[str]) -> Answers:
        found = await self._admin.describe_topics(list(topics))
        return {topic["topic"]: name_of(topic["error_code"]) for topic in found}

    async def describe_configs(self, topics: Sequence[str]) -> Answers:
        [answer] = await self._admin.describe_configs([_topic(topic) for topic in topics])
        return {entry[3]: name_of(entry[0]) for entry in answer.resources}

    async def create(self, topics: Sequence[str]) -> Answers:
        answer = await self._admin.create_topics([NewTopic(topic, 1, 1) for topic in topics], validate_only=True)
        return {entry[0]: name_of(entry[1]) for entry in answer.topic_errors}

    async def delete(self, topics: Sequence[str]) -> Answers:
        answer = await self._admin.delete_topics(list(topics))
        return {topic: name_of(code) for topic, code, *_ in answer.topic_error_codes}

    async def alter_configs(self, topics: Sequence[str]) -> Answers:
        [answer] = await self._admin.alter_configs([_topic(topic, {"retention.ms": "1"}) for topic in topics])
        return {entry[3]: name_of(entry[0]) for entry in answer.resources}

    async def add_partitions(self, topics: Sequence[str]) -> Answers:
        answer = await self._ask(CreatePartitionsRequest([(topic, (2, None)) for topic in topics], 10_000, True))
        return {entry[0]: name_of(entry[1]) for entry in answer.topic_errors}

    async def delete_records(self, topics: Sequence[str]) -> Answers:
        answer = await self._ask(DeleteRecordsRequest([(topic, [(0, 0)]) for topic in topics], 10_000))
        return {topic: name_of(parts[0][2]) for topic, parts, *_ in answer.topics}

    async def find_group(self, groups: Sequence[str]) -> Answers:
        """Describe."""
        return {group: name_of((await self._ask(FindCoordinatorRequest(group, GROUP))).error_code) for group in groups}

    async def join_group(self, groups: Sequence[str]) -> Answers:
        """Read: a sign of life of a member that is none."""
        return {group: name_of((await self._ask(HeartbeatRequest(group, 0, "m"))).error_code) for group in groups}

    async def delete_group(self, groups: Sequence[str]) -> Answers:
        answer = await self._ask(DeleteGroupsRequest(list(groups)))
        return {group: name_of(code) for group, code, *_ in answer.results}

    async def find_transaction(self, names: Sequence[str]) -> Answers:
        """Describe."""
        asked = {name: await self._ask(FindCoordinatorRequest(name, TRANSACTION)) for name in names}
        return {name: name_of(answer.error_code) for name, answer in asked.items()}

    async def start_transaction(self, names: Sequence[str]) -> Answers:
        """Write: what shuts out whoever had the id before."""
        return {name: await self._init_producer(name) for name in names}

    async def cluster(self) -> Answers:
        """Idempotent writes, the rules themselves, and the broker's settings."""
        rule = (2, "window-events", 3, "User:stranger", "*", 4, 3)  # topic, literal, write, allow
        [settings] = [
            answer
            for answer in await self._admin.alter_configs([ConfigResource(ConfigResourceType.BROKER, "1", {})])
            if answer.resources
        ]
        return {
            "idempotent_write": await self._init_producer(None),
            "add_rule": name_of((await self._ask(CreateAclsRequest(*rule))).creation_responses[0][0]),
            "show_rules": name_of((await self._ask(DescribeAclsRequest(2, None, 1, None, None, 1, 1))).error_code),
            "alter_broker": name_of(settings.resources[0][0]),
        }

    async def _init_producer(self, name: str | None) -> str:
        for _ in range(100):
            answer = await self._ask(InitProducerIdRequest(name, 10_000))
            if name_of(answer.error_code) not in _PASSING:
                break
            await asyncio.sleep(0.1)
        return name_of(answer.error_code)


_PASSING = (
    "GroupLoadInProgressError",  # of transactions too
    "GroupCoordinatorNotAvailableError",
    "NotCoordinatorForGroupError",
    "ConcurrentTransactions",
)


def name_of(code: int) -> str:
    """The error's name, `NoError` for none."""
    return for_code(code).__name__


def _topic(name: str, settings: dict[str, str] | None = None) -> ConfigResource:
    return ConfigResource(ConfigResourceType.TOPIC, name, settings)
