"""A real Kafka for the tests of this folder. They are skipped only where no Docker engine answers."""

import logging
from collections.abc import Iterator
from pathlib import Path

import chaos_table
import pytest
from chaos_broker import FaultyKafka
from engine import KAFKA_IMAGE, fetch_image, missing_engine
from kafka_container import ApacheKafka
from secure_broker import SecureKafka
from secure_rooms import USERS

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)  # before -m is judged
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.container)


@pytest.fixture(scope="session")
def engine() -> None:
    """A Docker engine answers, else the test is skipped."""
    if reason := missing_engine():
        pytest.skip(f"needs Docker: {reason}")


@pytest.fixture(scope="session")
def kafka_container(engine: None) -> Iterator[ApacheKafka]:
    """The session's broker. It is shared: make topics with names of your own, and leave it running."""
    if reason := fetch_image(KAFKA_IMAGE):
        pytest.fail(reason)
    with ApacheKafka() as container:
        yield container


@pytest.fixture(scope="session")
def kafka(kafka_container: ApacheKafka) -> str:
    """Bootstrap address of the session's broker."""
    return kafka_container.bootstrap


@pytest.fixture(scope="session")
def chaos_kafka(engine: None) -> Iterator[FaultyKafka]:
    """A broker of its own, which chaos runs may stop and kill."""
    if reason := fetch_image(KAFKA_IMAGE):
        pytest.fail(reason)
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # clients of a broker that is away say so all the time
    with FaultyKafka() as container:
        yield container


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The figures of the chaos runs, for whoever reads the run's output, and in a file."""
    if figures := chaos_table.table():
        terminalreporter.write_sep("=", "faults on a real broker")
        terminalreporter.write(figures)
        chaos_table.FILE.parent.mkdir(exist_ok=True)
        chaos_table.FILE.write_text(figures)


@pytest.fixture(scope="session")
def secure_kafka(engine: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureKafka]:
    """A broker with TLS, passwords and an authorizer, that knows USERS. It is shared: take a Room of your own."""
    if reason := fetch_image(KAFKA_IMAGE):
        pytest.fail(reason)
    with SecureKafka(tmp_path_factory.mktemp("secure"), USERS) as container:
        container.add_users()
        yield container
