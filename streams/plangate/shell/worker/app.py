"""The Faust app: an agent that hands whole fetches to the tasks of their partitions, and the rebalance callbacks."""

from __future__ import annotations

from typing import Any

import faust
from faust.app.base import BootStrategy

from plangate.shell.settings import Settings
from plangate.shell.task import Fetch
from plangate.shell.tasks import PartitionTasks
from plangate.shell.worker.transport import Consumer, Transport
from plangate.wire.topics import INPUT

# Fetches on their way from the consumer's thread to the agent; more wait in the consumer.
FETCHES = 16


class _Start(BootStrategy):
    """No producer and no web server of Faust's: publishing and health answers are ours."""

    enable_kafka_producer = False
    enable_web = False


class GateApp(faust.App):
    """Faust's app with our transport. `tasks` gets the partitions and what is fetched of them."""

    BootStrategy = _Start  # type: ignore[assignment]
    consumer: Consumer

    def __init__(self, settings: Settings, tasks: PartitionTasks) -> None:
        self.settings = settings
        self.tasks = tasks
        self.source_topic = settings.topic(INPUT)
        hosts = settings.broker.split(",")
        super().__init__(
            settings.group_id,
            broker=[f"kafka://{host.strip()}" for host in hosts],
            topic_allow_declare=False,
            topic_disable_leader=True,
            table_standby_replicas=0,
            stream_recovery_delay=0.0,
            broker_session_timeout=settings.session_timeout_seconds,
            broker_heartbeat_interval=settings.heartbeat_seconds,
            broker_rebalance_timeout=settings.rebalance_timeout_seconds,
            broker_commit_interval=3600.0,  # it has nothing to commit
        )
        self.topics.add(self.topic(self.source_topic, key_type=bytes, value_type=bytes))
        self.fetches = self.channel(maxsize=FETCHES)
        self.agent(self.fetches, name="gate")(self._take)
        self.on_partitions_assigned.connect(self._assigned)
        self.on_partitions_revoked.connect(self._revoked)

    def _new_transport(self) -> Transport:
        return Transport(self.conf.broker_consumer, self)

    def _create_directories(self) -> None:
        """Nothing: Faust would make a data folder where the process runs, and nothing of ours would be in it."""

    async def _take(self, stream: faust.StreamT[Fetch]) -> None:
        async for fetch in stream:
            self.tasks.feed(fetch)

    async def _assigned(self, _: Any, assigned: set[Any], **__: Any) -> None:
        self.tasks.assign({tp.partition for tp in assigned if tp.topic == self.source_topic})

    async def _revoked(self, _: Any, revoked: set[Any], **__: Any) -> None:
        await self.tasks.revoke(self.settings.rebalance_timeout_seconds * 0.9)
