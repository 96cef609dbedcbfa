"""Addresses and security reach every Kafka client."""

import asyncio
import ssl

import pytest
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

from plangate.shell import clients
from plangate.shell.settings import Settings


def test_plain_by_default() -> None:
    options = clients.connection(Settings(broker="a:1,b:2"))
    assert options["bootstrap_servers"] == "a:1,b:2"
    assert options["security_protocol"] == "PLAINTEXT"
    assert not {"ssl_context", "sasl_mechanism"} & options.keys()


@pytest.mark.parametrize(("check", "protocol"), [(True, "SASL_SSL"), (False, "SSL")])
def test_certificates_are_always_checked(check: bool, protocol: str) -> None:
    context = clients.connection(Settings(security_protocol=protocol, ssl_check_hostname=check))["ssl_context"]
    assert context.verify_mode == ssl.CERT_REQUIRED
    assert context.check_hostname == check


def test_credentials_are_passed_on() -> None:
    options = clients.connection(
        Settings(security_protocol="SASL_PLAINTEXT", sasl_mechanism="PLAIN", sasl_username="u", sasl_password="p")
    )
    assert (options["sasl_mechanism"], options["sasl_plain_username"], options["sasl_plain_password"]) == (
        "PLAIN", "u", "p",
    )  # fmt: skip


def test_every_client_takes_the_options() -> None:
    async def build() -> None:
        settings = Settings(security_protocol="SASL_SSL", sasl_username="u", sasl_password="p", instance_id="w1")
        clients.admin_client(settings)
        clients.transactional_producer(settings, 3)
        clients.plain_producer(settings)
        clients.recovery_consumer(settings)
        clients.group_consumer(settings, StickyPartitionAssignor)

    asyncio.run(build())


def test_a_missing_certificate_is_an_error() -> None:
    with pytest.raises(OSError):
        clients.connection(Settings(security_protocol="SSL", ssl_ca_file="/no/such/file"))


def test_a_record_bigger_than_a_batch_still_goes() -> None:
    async def build() -> object:
        producer = clients.plain_producer(Settings())
        batch = producer.create_batch()
        big = batch.append(timestamp=1, key=b"k", value=bytes(clients.MAX_RECORD_BYTES), headers=[])
        assert batch.append(timestamp=1, key=b"k", value=b"v", headers=[]) is None
        return big

    assert asyncio.run(build()) is not None
