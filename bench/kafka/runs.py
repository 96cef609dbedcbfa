"""Starting the product and its peers as processes, and timing them over a log that is filled beforehand."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.error import URLError
from urllib.request import urlopen
from uuid import uuid4

from plangate.shell.embedded import free_port

from .bus import OUTPUTS, Bus

ROOT = Path(__file__).parents[2]
PEERS = ROOT / "bench" / "kafka" / "peers"
#: made by `make bench`; Quix Streams needs libraries of its own
QUIX_PYTHON = ROOT / "build" / "bench-venv" / "bin" / "python"
START_SECONDS, RUN_SECONDS = 60.0, 120.0
PYTHONPATH = os.pathsep.join([str(ROOT), str(ROOT / "streams")])


class Command(NamedTuple):
    """A program and the environment it needs beside the run's."""

    line: Sequence[str]
    environment: dict[str, str] = {}


def product() -> Command:
    return Command([sys.executable, "-c", "from plangate.cli.main import cli; cli()", "worker"])


PROGRAMS = {
    "plangate": product(),
    "naive": Command([sys.executable, str(PEERS / "naive_faust.py"), "worker", "-l", "warn"]),
    "quix": Command([str(QUIX_PYTHON), str(PEERS / "quix.py")]),
    "plain": Command([sys.executable, str(PEERS / "plain.py")]),
    "take": Command([sys.executable, str(PEERS / "take_faust.py"), "worker", "-l", "warn"]),
}


@contextmanager
def running(name: str, bus: Bus, log: Path | None = None, **settings: str) -> Iterator[subprocess.Popen[bytes]]:
    """One process of a program over the bus's topics; stopped at the end, killed if it does not stop."""
    environment = {
        "PYTHONPATH": PYTHONPATH,
        "BENCH_BROKER": bus.kafka,
        "BENCH_PREFIX": bus.prefix,
        "BENCH_PARTITIONS": str(bus.partitions),
        "PLANGATE_BROKER": bus.kafka,
        "PLANGATE_TOPIC_PREFIX": bus.prefix,
        "PLANGATE_PARTITIONS": str(bus.partitions),
        "PLANGATE_WEB_PORT": "0",
        "PLANGATE_LOG_LEVEL": "warning",
        **settings,
    }
    folder = ROOT / "build" / "bench-logs"
    folder.mkdir(parents=True, exist_ok=True)
    with (log or folder / f"{name}.log").open("ab") as file:
        process = subprocess.Popen(
            PROGRAMS[name].line, env={**os.environ, **environment}, stdout=file, stderr=file, stdin=subprocess.DEVNULL
        )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def ready_port() -> tuple[dict[str, str], int]:
    """Settings that give the product's health pages a free port, and that port."""
    port = free_port()
    return {"PLANGATE_WEB_PORT": str(port)}, port


def wait_until_ready(port: int, process: subprocess.Popen[bytes], seconds: float = START_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urlopen(f"http://127.0.0.1:{port}/ready", timeout=2) as answer:
                if answer.status == 200:
                    return
        except (URLError, OSError):
            time.sleep(0.02)
    raise TimeoutError("the worker did not get ready")


class Timed(NamedTuple):
    """Events by second, and processor microseconds of the process per event."""

    rate: float
    cpu_micros: float


def throughput(
    name: str, kafka: str, items: Sequence[tuple[bytes, bytes]], wanted: Counter[tuple[str, bytes, bytes]]
) -> Timed:
    """From the first output in the log to the moment a reader has the last decision; the outputs are then compared."""
    bus = Bus(kafka, f"{name}-{uuid4().hex[:6]}.")
    bus.create()
    bus.fill(items)
    decisions = sum(count for (topic, _, _), count in wanted.items() if topic == "plan-decisions")
    with running(name, bus) as process:
        ended = bus.await_records("plan-decisions", decisions, RUN_SECONDS, lambda: process.poll() is None)
        cpu = _cpu_seconds(process)
        await_all(bus, sum(wanted.values()))
    records = bus.read(*OUTPUTS)
    found = Counter((record.topic.removeprefix(bus.prefix), record.key, record.value) for record in records)
    if found != wanted:
        missing, more = wanted - found, found - wanted
        raise AssertionError(f"{name}: {missing.total()} outputs missing, {more.total()} too many")
    began = min(record.timestamp for record in records) / 1000
    return Timed(len(items) / (ended - began), cpu / len(items) * 1e6)


def await_all(bus: Bus, count: int, seconds: float = 30.0) -> None:
    """Until all outputs can be read: those behind the last decision too."""
    deadline = time.monotonic() + seconds
    while len(bus.read(*OUTPUTS)) < count and time.monotonic() < deadline:
        time.sleep(0.2)


def _cpu_seconds(process: subprocess.Popen[bytes]) -> float:
    fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
