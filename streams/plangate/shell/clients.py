"""Kafka clients with the settings' addresses, security and sizes. The only place that knows aiokafka's options."""

import ssl
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient

from plangate.shell.settings import Settings

# A record may have 8 MiB (contract section 7); its headers and the batch around it come on top.
MAX_RECORD_BYTES = 8 * 1024 * 1024
MAX_MESSAGE_BYTES = MAX_RECORD_BYTES + 1024 * 1024
# What is sent as one batch; a single bigger record still goes, alone.
SEND_BATCH_BYTES = 900_000
FETCH_BYTES = 2 * 1024 * 1024
RECOVERY_FETCH_BYTES = 16 * 1024 * 1024


def connection(settings: Settings) -> dict[str, Any]:
    """Options of every client: address and security. Raises OSError for certificates that can't be read."""
    options: dict[str, Any] = {
        "bootstrap_servers": settings.broker,
        "security_protocol": settings.security_protocol,
        "client_id": settings.application_id,
    }
    if settings.security_protocol.startswith("SASL"):
        options |= {
            "sasl_mechanism": settings.sasl_mechanism,
            "sasl_plain_username": settings.sasl_username,
            "sasl_plain_password": settings.sasl_password,
        }
    if settings.security_protocol.endswith("SSL"):
        context = ssl.create_default_context(cafile=settings.ssl_ca_file or None)
        context.check_hostname = settings.ssl_check_hostname
        if settings.ssl_certificate_file:
            context.load_cert_chain(settings.ssl_certificate_file, settings.ssl_key_file or None)
        options["ssl_context"] = context
    return options


def admin_client(settings: Settings) -> AIOKafkaAdminClient:
    """For topics."""
    return AIOKafkaAdminClient(**connection(settings))


def transactional_producer(settings: Settings, partition: int) -> AIOKafkaProducer:
    """The producer of one input partition. Starting it fences, and ends the transaction of, whoever had its id before.

    One id for each partition, not for each worker: aiokafka tells the group's generation to no transaction, so only
    this fences.
    """
    return AIOKafkaProducer(
        **connection(settings),
        transactional_id=f"{settings.group_id}-{partition}",
        transaction_timeout_ms=int(settings.transaction_timeout_seconds * 1000),
        retry_backoff_ms=20,  # Kafka 4 refuses a produce request while the transaction before it is being completed
        **_SIZES,
    )


def plain_producer(settings: Settings) -> AIOKafkaProducer:
    """A producer without transactions or idempotence, for brokers that know neither."""
    return AIOKafkaProducer(**connection(settings), acks="all", **_SIZES)


def recovery_consumer(settings: Settings) -> AIOKafkaConsumer:
    """Reads changelogs: no group, only what is committed."""
    return AIOKafkaConsumer(
        **connection(settings),
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
        max_partition_fetch_bytes=RECOVERY_FETCH_BYTES,
    )


def group_consumer(settings: Settings, assignor: type) -> AIOKafkaConsumer:
    """The group's consumer of the input topic; offsets are moved by us alone."""
    return AIOKafkaConsumer(
        **connection(settings),
        group_id=settings.group_id,
        group_instance_id=settings.instance_id or None,
        partition_assignment_strategy=(assignor,),
        enable_auto_commit=False,
        auto_offset_reset="none",  # each task seeks; where retention was faster, it must be told
        isolation_level="read_committed",
        max_partition_fetch_bytes=FETCH_BYTES,
        session_timeout_ms=int(settings.session_timeout_seconds * 1000),
        heartbeat_interval_ms=int(settings.heartbeat_seconds * 1000),
        rebalance_timeout_ms=int(settings.rebalance_timeout_seconds * 1000),
        max_poll_interval_ms=24
        * 3600
        * 1000,  # a long recovery is no reason to leave the group; /live watches progress
        request_timeout_ms=int(max(40.0, settings.session_timeout_seconds + 10) * 1000),
    )


_SIZES: dict[str, Any] = {
    "max_request_size": MAX_MESSAGE_BYTES,
    "max_batch_size": SEND_BATCH_BYTES,
    "linger_ms": 0,
}
