"""A topic prefix of its own on the secured broker, with all topics, and every role given to the user of its name."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

from acl_probes import Probes
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from kafka_events import write_keyring
from secure_broker import SecureKafka
from worker_process import WorkerProcess, wait_for

from plangate.shell.settings import Settings
from plangate.shell.topics import wanted_topics

PARTITIONS = 1
#: users of the tests, each with the role of its name; `stranger` has none, `admin` may do everything
USERS = ("admin", "agent", "authority", "gate", "reader", "auditor", "stranger")


class Room:
    """`prefix`: of its topics. Rights are for one prefix, so each room gives its own."""

    def __init__(self, broker: SecureKafka, folder: Path, roles: tuple[str, ...] = ("agent", "gate")) -> None:
        self.broker = broker
        self.folder = folder
        self.prefix = f"t{uuid4().hex[:8]}."
        self.keyring = write_keyring(folder)
        settings = Settings(topic_prefix=self.prefix)
        self.changelog = settings.changelog_topic.removeprefix(self.prefix)
        topics = [
            NewTopic(topic.name, PARTITIONS, 1, topic_configs={**topic.settings, **topic.only_created})
            for topic in wanted_topics(settings, PARTITIONS)
        ]
        self.topics = [topic.name.removeprefix(self.prefix) for topic in topics]
        self.as_admin(lambda admin: admin.create_topics(topics))
        for role in roles:
            broker.grant(role, role, prefix=self.prefix)

    def as_admin(self, method: Callable[[AIOKafkaAdminClient], Any], user: str = "admin") -> Any:
        """Await one method of an admin client of this user."""

        async def run() -> Any:
            admin = AIOKafkaAdminClient(**self.broker.client_options(user))
            await admin.start()
            try:
                return await method(admin)
            finally:
                await admin.close()

        return asyncio.run(run())

    def worker(self, listener: str = "HOST", **settings: Any) -> WorkerProcess:
        """A worker that comes as `gate` and may create no topics."""
        given = {**self.broker.worker_settings("gate", listener), "topic_prefix": self.prefix, "create_topics": False}
        return WorkerProcess(self.folder, **{**given, "keyring_file": self.keyring, **settings})

    def ends(self) -> dict[str, int]:
        """Where each topic ends now."""

        async def ask() -> dict[str, int]:
            consumer = AIOKafkaConsumer(**self.broker.client_options("admin"))
            await consumer.start()
            try:
                places = {TopicPartition(self.prefix + topic, 0): topic for topic in self.topics}
                return {places[place]: end for place, end in (await consumer.end_offsets(list(places))).items()}
            finally:
                await consumer.stop()

        return asyncio.run(ask())

    def wait_for_coordinators(self) -> None:
        """The broker makes the topics of groups and transactions when they are first asked for."""

        async def found(admin: AIOKafkaAdminClient) -> bool:
            probes, name = Probes(admin), self.prefix + "warm-up"
            asked = [await probe([name]) for probe in (probes.find_group, probes.find_transaction)]
            asked.append(await probes.join_group([name]))
            return [answer[name] for answer in asked] == ["NoError", "NoError", "UnknownMemberIdError"]

        wait_for(lambda: self.as_admin(found))
