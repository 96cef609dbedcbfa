"""Workers as processes of their own, as users run them."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

from plangate.shell.embedded import free_port

START_SECONDS = 60.0
WORKER = [sys.executable, "-c", "from plangate.cli.main import cli; cli()", "worker"]


def wait_for(condition: Callable[[], Any], seconds: float = 90.0) -> Any:
    """The first true answer; asserts that there is one in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if answer := condition():
            return answer
        time.sleep(0.1)
    raise AssertionError("it did not happen in time")


class WorkerProcess:
    """`plangate worker`, or a program like it; its log goes to `folder`. At the end of a `with` it is killed."""

    def __init__(self, folder: Path, command: Sequence[str] = WORKER, **settings: Any) -> None:
        self.port = free_port()
        self.log = folder / f"worker-{self.port}.log"
        given = {"web_port": self.port, "session_timeout_seconds": 6, "heartbeat_seconds": 1, **settings}
        environment = {f"PLANGATE_{name.upper()}": str(value) for name, value in given.items()}
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command, env={**os.environ, **environment}, stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )

    def __enter__(self) -> "WorkerProcess":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def wait_until_ready(self) -> "WorkerProcess":
        wait_for(lambda: self.ask("ready") == 200 or self.process.poll() is not None, START_SECONDS)
        assert self.process.poll() is None, self.log.read_text()
        return self

    def ask(self, page: str) -> int:
        try:
            with urlopen(f"http://127.0.0.1:{self.port}/{page}", timeout=5) as answer:
                return answer.status
        except URLError as error:
            return getattr(error, "code", 0)
        except OSError:
            return 0

    def metric(self, name: str) -> float:
        with urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=5) as answer:
            lines = answer.read().decode().splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.split()[0].split("{")[0] == name)

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def stop(self) -> int:
        """SIGTERM, and the status."""
        self.signal(signal.SIGTERM)
        return self.process.wait(40)

    def wait(self, seconds: float = 60.0) -> int:
        return self.process.wait(seconds)

    def last_line(self) -> dict[str, Any]:
        """The last line of the log. One that says why the worker stopped is the only one, and true to the status."""
        lines = [json.loads(line) for line in self.log.read_text().splitlines()]
        stopped = [line for line in lines if line["event"] == "stopped"]
        assert not stopped or stopped == lines[-1:], lines
        assert not stopped or (stopped[0]["status"] == self.process.poll() and stopped[0]["reason"]), stopped
        return lines[-1]
