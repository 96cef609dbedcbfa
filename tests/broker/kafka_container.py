"""One Apache Kafka broker in a container, reached from the host."""

import socket

from engine import KAFKA_IMAGE
from testcontainers.core.container import DockerContainer
from testcontainers.core.wait_strategies import LogMessageWaitStrategy

# Once one property is given the image's defaults no longer hold, so the list is complete for one node.
ONE_NODE = {
    "KAFKA_NODE_ID": "1",
    "KAFKA_PROCESS_ROLES": "broker,controller",
    "KAFKA_LISTENERS": "HOST://:9092,INTERNAL://:19092,CONTROLLER://:9093",
    "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "HOST:PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "KAFKA_INTER_BROKER_LISTENER_NAME": "INTERNAL",
    "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
    "KAFKA_CONTROLLER_QUORUM_VOTERS": "1@localhost:9093",
    "KAFKA_AUTO_CREATE_TOPICS_ENABLE": "false",
    "KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS": "0",
    # The internal topics default to three replicas, with which no group and no transaction starts on one broker.
    "KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR": "1",
    "KAFKA_OFFSETS_TOPIC_NUM_PARTITIONS": "4",
    "KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR": "1",
    "KAFKA_TRANSACTION_STATE_LOG_MIN_ISR": "1",
    "KAFKA_TRANSACTION_STATE_LOG_NUM_PARTITIONS": "4",
    "KAFKA_SHARE_COORDINATOR_STATE_TOPIC_REPLICATION_FACTOR": "1",
    "KAFKA_SHARE_COORDINATOR_STATE_TOPIC_MIN_ISR": "1",
    # Contract section 7: a record may have 8 MiB; headers and batch framing come on top.
    "KAFKA_MESSAGE_MAX_BYTES": "9437184",
    "KAFKA_HEAP_OPTS": "-Xms256m -Xmx512m",
}


def free_port() -> int:
    """A port of the loopback interface that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class ApacheKafka(DockerContainer):
    """The broker tells clients its address itself, so the host port is chosen before the start.

    Extra environment variables override ONE_NODE, e.g. `ApacheKafka(KAFKA_NUM_PARTITIONS="4")`.
    """

    def __init__(self, **environment: str) -> None:
        super().__init__(KAFKA_IMAGE)
        self.port = free_port()
        self.ports[9092] = ("127.0.0.1", self.port)
        advertised = f"HOST://{self.bootstrap},INTERNAL://localhost:19092"
        for name, value in {**ONE_NODE, "KAFKA_ADVERTISED_LISTENERS": advertised, **environment}.items():
            self.with_env(name, value)
        self.waiting_for(LogMessageWaitStrategy("Kafka Server started").with_startup_timeout(120))

    @property
    def bootstrap(self) -> str:
        """`host:port` as clients on the host need it."""
        return f"127.0.0.1:{self.port}"
