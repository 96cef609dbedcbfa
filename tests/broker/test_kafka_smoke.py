"""The broker that the other tests stand on does what they need: topics, transactions, offsets in transactions."""

import asyncio
from uuid import uuid4

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType


async def create_topic(kafka: str, name: str, settings: dict[str, str]) -> dict[str, str]:
    """Create a topic of two partitions; its settings as the broker tells them."""
    admin = AIOKafkaAdminClient(bootstrap_servers=kafka)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(name, 2, 1, topic_configs=settings)])
        [answer] = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, name)])
        return {entry[0]: entry[1] for entry in answer.resources[0][4]}
    finally:
        await admin.close()


async def read(kafka: str, topic: str, last: bytes, isolation: str) -> list[bytes]:
    """Values from the first one to `last`."""
    consumer = AIOKafkaConsumer(topic, bootstrap_servers=kafka, auto_offset_reset="earliest", isolation_level=isolation)
    await consumer.start()
    values: list[bytes] = []
    try:
        async with asyncio.timeout(60):
            while last not in values:
                values.append((await consumer.getone()).value)
    finally:
        await consumer.stop()
    return values


def test_topics_keep_their_settings(kafka: str) -> None:
    wanted = {"cleanup.policy": "compact", "compression.type": "uncompressed", "max.message.bytes": "9000000"}
    settings = asyncio.run(create_topic(kafka, f"smoke-{uuid4().hex}", wanted))
    assert {name: settings[name] for name in wanted} == wanted


def test_transactions_hide_what_was_aborted_and_move_offsets(kafka: str) -> None:
    topic = f"smoke-{uuid4().hex}"
    source = TopicPartition(topic, 0)

    async def scenario() -> tuple[list[bytes], list[bytes], int | None]:
        await create_topic(kafka, topic, {})
        plain = AIOKafkaProducer(bootstrap_servers=kafka)
        await plain.start()
        await plain.send_and_wait(topic, b"plain", partition=0)
        await plain.stop()
        producer = AIOKafkaProducer(bootstrap_servers=kafka, transactional_id=topic)
        await producer.start()
        async with producer.transaction():
            await producer.send(topic, b"kept", partition=0)
            await producer.send_offsets_to_transaction({source: 1}, topic)
        await producer.begin_transaction()
        await producer.send_and_wait(topic, b"aborted", partition=0)
        await producer.send_offsets_to_transaction({source: 99}, topic)
        await producer.abort_transaction()
        async with producer.transaction():
            await producer.send(topic, b"last", partition=0)
        await producer.stop()
        committed = await read(kafka, topic, b"last", "read_committed")
        everything = await read(kafka, topic, b"last", "read_uncommitted")
        member = AIOKafkaConsumer(bootstrap_servers=kafka, group_id=topic)
        await member.start()
        member.assign([source])
        try:
            return committed, everything, await member.committed(source)
        finally:
            await member.stop()

    committed, everything, offset = asyncio.run(scenario())
    assert committed == [b"plain", b"kept", b"last"]
    assert everything == [b"plain", b"kept", b"aborted", b"last"]
    assert offset == 1
