"""The load test in containers: starts the cluster, runs the generator, does what it is told on the way, cleans up.

    python deploy/load/run.py --action 200:add --action 400:remove -- --duration 600 --rate 300

What stands after `--` goes to `plangate load`. Needs Docker with Compose, and nothing but Python's own library.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ACTIONS = ("add", "remove", "kill", "restart-broker")
UNITS = {"B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3, "kB": 1000, "MB": 1000**2, "GB": 1000**3}
STATS_SECONDS = 5.0
READY_SECONDS = 240.0
# Up in steps until the lag grows; whoever gives options of their own gives all of them.
DEFAULTS = ["--rate", "200", "--ramp", "1.3", "--ramp-step", "15", "--duration", "240", "--agents", "100"]


class Failure(Exception):
    """The test could not be run."""


class Cluster:
    """One run of the compose file."""

    def __init__(self, project: str, out: Path, prometheus: bool, port: int) -> None:
        self.project, self.out, self._prometheus, self._port = project, out, prometheus, port
        self._command = [*_compose(), "-f", str(HERE / "compose.yml"), "-p", project]
        own = {"PLANGATE_LOAD_OUT": str(out), "PLANGATE_PROMETHEUS_PORT": str(port)}
        own["PLANGATE_LOAD_USER"] = f"{os.getuid()}:{os.getgid()}"
        self._environment = {**os.environ, **own}
        self._lock = threading.Lock()

    def compose(self, *arguments: str) -> None:
        """A compose command; what it says goes to standard error."""
        done = subprocess.run([*self._command, *arguments], env=self._environment, stdout=sys.stderr)
        if done.returncode:
            raise Failure(f"compose {arguments[0]}: status {done.returncode}")

    def containers(self, service: str) -> list[str]:
        """Names of a service's running containers, oldest first."""
        filters = [f"label=com.docker.compose.{key}" for key in (f"project={self.project}", f"service={service}")]
        shown = _docker("ps", "--format", "{{.CreatedAt}}\t{{.Names}}", *(a for f in filters for a in ("--filter", f)))
        return [line.split("\t")[1] for line in sorted(shown.splitlines())]

    def start(self, workers: int) -> None:
        """Kafka, workers, Prometheus; returns when the workers decide."""
        self.compose("build", "worker")
        self.compose("up", "-d", "--scale", f"worker={workers}", "worker")
        if self._prometheus:
            self.compose("--profile", "prometheus", "up", "-d", "--no-deps", "--build", "prometheus")
        end = time.monotonic() + READY_SECONDS
        while not all(map(_ready, self.containers("worker"))):
            if time.monotonic() > end:
                raise Failure("the workers did not get ready")
            time.sleep(2)

    def load(self, options: list[str]) -> subprocess.Popen[bytes]:
        """Start the generator in its container."""
        run = ["--profile", "load", "run", "--rm", "-T", "--no-deps", "--name", f"{self.project}-generator", "load"]
        command = ["load", "/transcripts", "--worker", "worker", "--out", "/report", "--notes", "/report/notes.jsonl"]
        # In a group of its own: Ctrl-C reaches the generator once, through `stop_load`.
        arguments = [*self._command, *run, *command, *options]
        return subprocess.Popen(arguments, env=self._environment, start_new_session=True)

    def loading(self) -> bool:
        """Whether the generator has begun to send."""
        shown = subprocess.run(["docker", "logs", f"{self.project}-generator"], capture_output=True)
        return b" sent " in shown.stdout + shown.stderr

    def stop_load(self) -> None:
        """Ask the generator to stop and to write its report."""
        with contextlib.suppress(Failure):
            _docker("kill", "--signal", "INT", f"{self.project}-generator")

    def act(self, action: str) -> str:
        """Carry out an action; what was done, in words."""
        with self._lock:
            workers = self.containers("worker")
            if action == "add":
                more = len(workers) + 1
                self.compose("up", "-d", "--no-recreate", "--no-deps", "--scale", f"worker={more}", "worker")
                return f"worker added: {more} now"
            if action == "restart-broker":
                self.compose("restart", "--timeout", "20", "kafka")
                return "broker restarted"
            if not workers:
                raise Failure(f"{action}: no worker left")
            if action == "kill":
                _docker("kill", workers[0])  # which the engine takes for a wish, so the restart policy holds still
                _docker("start", workers[0])
                return f"worker {workers[0]} killed and started anew"
            _docker("stop", "--time", "20", workers[0])
            _docker("rm", "-v", workers[0])
            return f"worker {workers[0]} removed: {len(workers) - 1} now"

    def stats(self) -> dict[str, dict[str, float]]:
        """Processor and memory of each container."""
        names = [name for service in ("kafka", "worker", "load", "prometheus") for name in self.containers(service)]
        shown = _docker("stats", "--no-stream", "--format", "{{json .}}", *names) if names else ""
        return {told["Name"]: read_stats(told) for told in map(json.loads, shown.splitlines())}

    def seen_by_prometheus(self) -> int | None:
        """How many workers Prometheus has scraped in the last minutes; None without Prometheus."""
        if not self._prometheus:
            return None
        query = "query?query=count(count_over_time(up%7Bjob%3D%22plangate%22%7D%5B1h%5D))"
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/api/v1/{query}", timeout=10) as page:
                return int(json.load(page)["data"]["result"][0]["value"][1])
        except (OSError, ValueError, LookupError):
            return 0

    def down(self) -> None:
        """Remove everything, volumes too."""
        self.compose("--profile", "prometheus", "--profile", "load", "down", "-v", "--timeout", "20")


def read_stats(told: dict[str, Any]) -> dict[str, float]:
    """Cores and bytes from one line of `docker stats`."""
    size = re.match(r"([\d.]+)\s*([A-Za-z]+)", told["MemUsage"])
    memory = float(size[1]) * UNITS.get(size[2], 1) if size else 0.0
    return {"cpu_cores": float(told["CPUPerc"].rstrip("%") or 0) / 100, "memory_bytes": memory}


def read_action(text: str) -> tuple[float, str]:
    """`SECONDS:ACTION`."""
    at, _, action = text.partition(":")
    if action not in ACTIONS:
        raise argparse.ArgumentTypeError(f"must be SECONDS:ACTION with one of {', '.join(ACTIONS)}")
    try:
        return float(at), action
    except ValueError:
        raise argparse.ArgumentTypeError("the seconds must be a number") from None


class Notes:
    """What the report takes in: actions and container figures, JSON lines."""

    def __init__(self, file: Path) -> None:
        self._file = file
        file.write_text("")

    def write(self, **note: Any) -> None:
        with self._file.open("a") as stream:
            stream.write(json.dumps({"at": time.time(), **note}) + "\n")


def _watch(cluster: Cluster, notes: Notes, over: threading.Event) -> None:
    while not over.wait(STATS_SECONDS):
        with contextlib.suppress(Failure, ValueError, KeyError):
            notes.write(containers=cluster.stats())


def _play(cluster: Cluster, notes: Notes, actions: list[tuple[float, str]], over: threading.Event) -> None:
    while not cluster.loading():
        if over.wait(1):
            return
    start = time.monotonic()
    for at, action in sorted(actions):
        if over.wait(max(0.0, start + at - time.monotonic())):
            return
        try:
            done = cluster.act(action)
        except Failure as error:
            done = f"{action} failed: {error}"
        notes.write(action=done)
        print(f"== {done}", file=sys.stderr)


@contextlib.contextmanager
def _beside(*threads: threading.Thread) -> Iterator[None]:
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for thread in threads:
            thread.join()


def _ready(worker: str) -> bool:
    page = "import urllib.request as r; r.urlopen('http://127.0.0.1:6066/ready', timeout=4)"
    return not subprocess.run(["docker", "exec", worker, "python", "-c", page], capture_output=True).returncode


def _docker(*arguments: str) -> str:
    done = subprocess.run(["docker", *arguments], capture_output=True, text=True)
    if done.returncode:
        raise Failure(f"docker {arguments[0]}: {done.stderr.strip()[-300:]}")
    return done.stdout


def _compose() -> list[str]:
    if shutil.which("docker") and not subprocess.run(["docker", "compose", "version"], capture_output=True).returncode:
        return ["docker", "compose"]
    if shutil.which("docker-compose"):
        return ["docker-compose"]
    raise Failure("there is neither `docker compose` nor `docker-compose`")


def main() -> int:
    own = sys.argv[1:]
    options = own[own.index("--") + 1 :] if "--" in own else DEFAULTS
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--action", type=read_action, action="append", default=[], metavar="SECONDS:ACTION")
    parser.add_argument("--no-prometheus", action="store_true")
    parser.add_argument("--prometheus-port", type=int, default=9090)
    parser.add_argument("--out", type=Path, default=HERE.parents[1] / "build" / "load")
    parser.add_argument("--project", default="plangate-load")
    parser.add_argument("--keep", action="store_true", help="leave all but the generator running")
    given = parser.parse_args(own[: own.index("--")] if "--" in own else own)
    out = given.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    notes = Notes(out / "notes.jsonl")
    try:
        cluster = Cluster(given.project, out, not given.no_prometheus, given.prometheus_port)
        try:
            cluster.start(given.workers)
            over = threading.Event()
            watch = threading.Thread(target=_watch, args=(cluster, notes, over))
            play = threading.Thread(target=_play, args=(cluster, notes, given.action, over))
            generator = cluster.load(options)
            signal.signal(signal.SIGINT, lambda *_: cluster.stop_load())
            signal.signal(signal.SIGTERM, lambda *_: cluster.stop_load())
            with _beside(watch, play):
                status = generator.wait()
                over.set()
            if (seen := cluster.seen_by_prometheus()) is not None:
                print(f"== Prometheus scraped {seen} workers", file=sys.stderr)
            return status
        finally:
            if not given.keep:
                cluster.down()
    except Failure as error:
        print(f"Error: {error}", file=sys.stderr)
        return 3


if __name__ == "__main__":
    raise SystemExit(main())
