"""What the worker says of a broker that it can't use: closed words, and a status that tells whether waiting helps."""

import asyncio
import socket
import ssl

import pytest
from aiokafka import errors

from plangate.shell.reach import Fault, denied, explain, why_unreachable
from plangate.shell.settings import Settings

CANARY = "c4n4ry"


def refused_certificate(code: int) -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, CANARY)
    error.verify_code, error.verify_message = code, CANARY
    return error


@pytest.mark.parametrize(
    ("error", "lasting"),
    [
        *((refused_certificate(code), True) for code in (9, 10, 18, 19, 20, 21, 62, 64, 24)),
        (ssl.SSLError(1, CANARY), True),
        (errors.SaslAuthenticationFailed(CANARY), True),
        (errors.UnsupportedSaslMechanismError(CANARY), True),
        (errors.IllegalSaslStateError(CANARY), True),
        (ssl.SSLEOFError(8, CANARY), False),
        (errors.KafkaConnectionError(CANARY), False),
        (TimeoutError(CANARY), False),
        (ConnectionRefusedError(CANARY), False),
        (socket.gaierror(-2, CANARY), False),
        (OSError(CANARY), False),
    ],
)
def test_connection_errors_in_closed_words(error: BaseException, lasting: bool) -> None:
    fault = explain(error, "SASL_SSL")
    assert fault.lasting is lasting
    assert fault.text and CANARY not in fault.text


def test_each_fault_has_words_of_its_own() -> None:
    given = [refused_certificate(9), refused_certificate(10), refused_certificate(20), refused_certificate(62)]
    assert len({explain(error, "SSL").text for error in given}) == 4


def test_every_address_is_named_and_one_passing_fault_makes_it_passing() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]  # bound and not listening: refused
        fault = asyncio.run(why_unreachable(Settings(broker=f"127.0.0.1:{port}, 127.0.0.1:{port}")))
    assert fault == Fault(f"127.0.0.1:{port}: nobody listens there; 127.0.0.1:{port}: nobody listens there", False)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (errors.TopicAuthorizationFailedError({"b", "a"}), "no right on topic a, b"),
        (errors.TopicAuthorizationFailedError("a"), "no right on topic a"),
        (errors.GroupAuthorizationFailedError("g"), "no right on consumer group g"),
        (errors.TransactionalIdAuthorizationFailed("g-0"), "no right on transactional id g-0"),
        (errors.ClusterAuthorizationFailedError(), "no right on cluster"),
        (errors.ProducerFenced(), None),
        (ValueError(CANARY), None),
    ],
)
def test_missing_rights_are_named(error: BaseException, text: str | None) -> None:
    assert denied(error) == text
