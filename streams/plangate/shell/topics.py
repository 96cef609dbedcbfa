"""The topics of contract section 1 and the changelog: created where missing, and checked before anything is decided."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import for_code

from plangate.core.records import FRAME_BYTES
from plangate.shell.clients import MAX_MESSAGE_BYTES, MAX_RECORD_BYTES, SEND_BATCH_BYTES
from plangate.shell.settings import Settings
from plangate.wire.topics import INPUT, TOPICS

_EXISTS = 36
_UNKNOWN = 3
# A changelog is compacted only in closed segments: small ones, closed often, keep recovery short. Tombstones stay a
# day, so that a reader that was slow or away still sees them.
_COMPACTED = {
    "segment.bytes": "33554432",
    "segment.ms": "600000",
    "min.cleanable.dirty.ratio": "0.1",
    "delete.retention.ms": "86400000",
}
VISIBLE_SECONDS = 30.0


class TopicError(Exception):
    """A topic is missing, or is not as it must be. The text says which, what it is and what it must be."""


class Wanted(NamedTuple):
    """A topic as it must be. `partitions` None: any number will do; `settings` are given at creation and checked.

    `message_bytes`: the largest batch that is written to it; 0 for a topic that others write.
    """

    name: str
    partitions: int | None
    settings: Mapping[str, str]
    only_created: Mapping[str, str]
    message_bytes: int = 0


class Found(NamedTuple):
    """A topic as it is."""

    partitions: int
    settings: Mapping[str, str]


def wanted_topics(
    settings: Settings, input_partitions: int | None, record_bytes: int = MAX_RECORD_BYTES
) -> list[Wanted]:
    """All topics. The changelog has as many partitions as the input: a window's state lies beside its events.

    `record_bytes`: the largest output, the limit of that name in the worker's policy (contract section 7).
    """
    size = {"max.message.bytes": str(MAX_MESSAGE_BYTES)}
    if settings.replication_factor >= 3:
        size["min.insync.replicas"] = "2"
    topics = []
    batch = SEND_BATCH_BYTES + FRAME_BYTES
    for base_name, topic in TOPICS.items():
        checked = {"cleanup.policy": topic.cleanup}
        if base_name == INPUT:
            checked["compression.type"] = "uncompressed"
        extra = size | (_COMPACTED if topic.cleanup == "compact" else {})
        if base_name == "audit-log":
            extra["retention.ms"] = "-1"
        written = 0 if base_name == INPUT else max(record_bytes, batch)
        topics.append(Wanted(settings.topic(base_name), None, checked, extra, written))
    compact = {"cleanup.policy": "compact"}
    topics.append(Wanted(settings.changelog_topic, input_partitions, compact, size | _COMPACTED, batch))
    return topics


def faults(wanted: Wanted, found: Found | None) -> list[str]:
    """What is wrong with a topic, in words; nothing if all is well."""
    if found is None:
        return [f"{wanted.name}: missing, or not shown to this user; create_topics is off"]
    wrong = []
    if wanted.partitions is not None and found.partitions != wanted.partitions:
        wrong.append(f"{wanted.name}: {found.partitions} partitions, must be {wanted.partitions} like the input topic")
    for name, value in wanted.settings.items():
        is_now = found.settings.get(name, "not told by the broker")
        if is_now != value:
            wrong.append(f"{wanted.name}: {name} is {is_now}, must be {value}")
    room = found.settings.get("max.message.bytes")
    if room is not None and int(room) < wanted.message_bytes:
        wrong.append(f"{wanted.name}: max.message.bytes is {room}, must be at least {wanted.message_bytes}")
    return wrong


async def ensure_topics(settings: Settings, admin: AIOKafkaAdminClient, record_bytes: int = MAX_RECORD_BYTES) -> int:
    """Create what is missing, check all; the input's number of partitions. Raises TopicError with all faults found."""
    names = [topic.name for topic in wanted_topics(settings, None)]
    found = await _describe(admin, names)
    source = found.get(settings.topic(INPUT))
    partitions = source.partitions if source else settings.partitions
    wanted = wanted_topics(settings, partitions, record_bytes)
    missing = [topic for topic in wanted if topic.name not in found]
    if missing and settings.create_topics:
        await _create(admin, missing, partitions, settings.replication_factor)
        found = await _wait_until_visible(admin, names)
        partitions = found[settings.topic(INPUT)].partitions  # another worker may have been faster, with other settings
        wanted = wanted_topics(settings, partitions, record_bytes)
    wrong = [fault for topic in wanted for fault in faults(topic, found.get(topic.name))]
    if wrong:
        raise TopicError("; ".join(wrong))
    return partitions


async def _create(admin: AIOKafkaAdminClient, topics: Sequence[Wanted], partitions: int, replicas: int) -> None:
    new = [
        NewTopic(topic.name, partitions, replicas, topic_configs={**topic.settings, **topic.only_created})
        for topic in topics
    ]
    answer = await admin.create_topics(new)
    refused = [entry for entry in answer.topic_errors if entry[1] not in (0, _EXISTS)]
    if refused:
        raise TopicError(
            "; ".join(
                f"{entry[0]}: the broker refused to create it ({for_code(entry[1]).__name__})" for entry in refused
            )
        )


async def _wait_until_visible(admin: AIOKafkaAdminClient, names: Sequence[str]) -> dict[str, Found]:
    for _ in range(int(VISIBLE_SECONDS / 0.1)):
        found = await _describe(admin, names)
        if len(found) == len(names):
            return found
        await asyncio.sleep(0.1)
    raise TopicError("; ".join(f"{name}: created, but not to be seen" for name in names if name not in found))


async def _describe(admin: AIOKafkaAdminClient, names: Sequence[str]) -> dict[str, Found]:
    # Asking for a topic by a name that isn't there makes brokers with auto-creation create it, with wrong settings.
    present = set(await admin.list_topics())
    listed: list[dict[str, Any]] = await admin.describe_topics([name for name in names if name in present])
    for topic in listed:
        if topic["error_code"] not in (0, _UNKNOWN):
            raise TopicError(f"{topic['topic']}: the broker does not show it ({_error(topic['error_code'])})")
    counts = {topic["topic"]: len(topic["partitions"]) for topic in listed if topic["error_code"] == 0}
    if not counts:
        return {}
    resources = [ConfigResource(ConfigResourceType.TOPIC, name) for name in counts]
    found = {}
    for answer in await admin.describe_configs(resources):
        for code, _, _, name, entries in answer.resources:
            if code == 0:
                found[name] = Found(counts[name], {entry[0]: entry[1] for entry in entries})
            elif code != _UNKNOWN:
                raise TopicError(f"{name}: the broker does not tell its settings ({_error(code)})")
    return found


def _error(code: int) -> str:
    name: str = for_code(code).__name__
    return name
