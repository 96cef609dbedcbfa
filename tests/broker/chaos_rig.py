"""One run: a prefix on a broker, load and a reader alongside, workers, and the check of everything at the end."""

import json
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from chaos_load import Load, Reader, Seen
from chaos_verdict import Verdict, judge
from kafka_bus import OUTPUTS, Bus
from kafka_events import PARTITIONS, event_stream, partition_of, write_keyring
from worker_process import WORKER, WorkerProcess, wait_for

from plangate.wire.engine import Out

# How often each scenario is run, every time with another seed.
ROUNDS = int(os.environ.get("CHAOS_ROUNDS", "1"))
GUARANTEES = ["transactions", "acknowledgements"]
DYING = Path(__file__).with_name("dying_worker.py")
WINDOWS = tuple(f"agent-{number}" for number in range(10))
LOADED = sorted({partition_of(name.encode()) for name in WINDOWS})
assert len(LOADED) == PARTITIONS, "every partition has windows"
BATCH_SIZE = 50
EVENTS_PER_SECOND = 100
SESSION_SECONDS = 3
# Far more than a take-over takes: only a run that is stuck meets it.
STUCK_SECONDS = 90.0


def with_both_guarantees(scenario: Callable[[Path, str], None], folder: Path) -> None:
    """Run `scenario` with each guarantee, both at the same time: most of it is waiting."""
    with ThreadPoolExecutor() as pool:
        jobs = []
        for guarantee in GUARANTEES:
            (folder / guarantee).mkdir()
            jobs.append(pool.submit(scenario, folder / guarantee, guarantee))
    for job in jobs:
        job.result()


class ChaosWorker(WorkerProcess):
    """A worker whose log is read while it runs."""

    instance_id = ""

    def lines(self, event: str) -> list[dict[str, Any]]:
        found = []
        for line in self.log.read_text().splitlines():
            if f'"{event}"' in line:
                try:
                    entry = json.loads(line)
                except ValueError:  # cut off by a kill
                    continue
                if entry.get("event") == event:
                    found.append(entry)
        return found

    def take_overs(self, since: float = 0.0) -> list[int]:
        """The partitions it took over after `since`."""
        lines = self.lines("partition_taken_over")
        return [line["partition"] for line in lines if datetime.fromisoformat(line["timestamp"]).timestamp() > since]

    @property
    def owned(self) -> set[int]:
        """The partitions of its last assignment."""
        return set(self.lines("partitions_assigned")[-1]["partitions"])

    @property
    def dead(self) -> bool:
        return self.process.poll() is not None


class Run:
    """Use as a context: all that still runs at its end is killed."""

    def __init__(self, kafka: str, folder: Path, seed: int, guarantee: str, **settings: Any) -> None:
        self.dice = random.Random(seed)
        self.bus = Bus(kafka, f"c{uuid4().hex[:8]}.")
        self.folder = folder
        self.guarantee = guarantee
        self.keyring = write_keyring(folder)
        self.settings = settings
        self.workers: list[ChaosWorker] = []
        self.gone: list[ChaosWorker] = []  # ended, and started again
        self.ends: Counter[int] = Counter()  # their statuses
        self._supervised = False
        self.seconds: list[float] = []  # to take over
        self.load: Load | None = None
        self.reader: Reader
        self._items = event_stream(10**9, seed, self.keyring, WINDOWS)

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.workers:
            worker.__exit__()
        for thread in (self.load, getattr(self, "reader", None)):
            if thread is not None:
                thread.ending.set()

    def worker(self, *dying: str, **settings: Any) -> ChaosWorker:
        """Start one; `dying`: arguments of dying_worker.py."""
        given = {
            "broker": self.bus.kafka,
            "topic_prefix": self.bus.prefix,
            "partitions": PARTITIONS,
            "keyring_file": self.keyring,
            "guarantee": self.guarantee,
            "batch_size": BATCH_SIZE,
            "session_timeout_seconds": SESSION_SECONDS,
            "heartbeat_seconds": 0.5,
            "transaction_timeout_seconds": 10,
            **self.settings,
            **settings,
        }
        command = [sys.executable, str(DYING), *dying] if dying else WORKER
        worker = ChaosWorker(self.folder, command, **given)
        worker.instance_id = given.get("instance_id", "")
        self.workers.append(worker)
        return worker

    def begin(self, *dying: str, **settings: Any) -> ChaosWorker:
        """The first worker, which makes the topics; then the reader and the load."""
        first = self.worker(*dying, **{"instance_id": "w0", **settings})
        first.wait_until_ready()
        self.reader = Reader(self.bus)
        self.load = Load(self.bus, self._items, EVENTS_PER_SECOND)
        self.wait_for_progress(time.time())
        return first

    def wait_for_progress(self, since: float) -> float:
        """Until new answers for all partitions were read; the seconds from `since` to the last of them."""
        arrived: dict[int, float | None] = {}

        def answered() -> bool:
            self._start_again()
            self.reader.check()
            if self.load is not None:
                self.load.check()
            for partition in LOADED:
                if arrived.get(partition) is None:
                    arrived[partition] = self.reader.answered(partition, since)
            return None not in arrived.values()

        wait_for(answered, STUCK_SECONDS)
        return max(value for value in arrived.values() if value is not None) - since

    def supervise(self) -> None:
        """From now on a worker that has ended is started again while the run waits."""
        self._supervised = True

    def _start_again(self) -> None:
        for worker in [worker for worker in self.workers if worker.dead] if self._supervised else ():
            self.ends[worker.wait()] += 1
            self.workers.remove(worker)
            self.gone.append(worker)
            self.worker(instance_id=worker.instance_id)

    def fault_done(self, at: float, ended: float | None = None) -> None:
        """Wait until all partitions are answered by others, and note how long that took.

        `at`: when the fault began; `ended`: when the worker that it hit made its last answer, if later.
        """
        since = at if ended is None else ended
        self.seconds.append(self.wait_for_progress(since) + since - at)

    def finish(self) -> Verdict:
        """End the load, let the workers decide the rest and stop them, read on to the end, and judge."""
        if self.load is not None:
            self.load.finish()
        wait_for(lambda: self._start_again() or self.bus.decided("plangate"), STUCK_SECONDS)
        for worker in self.workers:
            if not worker.dead:
                assert worker.stop() == 0, worker.log.read_text()
        self.reader.finish()
        log = self.bus.read("window-events")
        for partition, offsets in self.load.acknowledged.items() if self.load is not None else ():
            missing = set(offsets) - {record.offset for record in log[partition]}
            assert not missing, f"the broker lost {len(missing)} acknowledged records: no fault of a worker's"
        after = {place: records for topic in OUTPUTS for place, records in self._after(topic)}
        wanted = [out for outs in self.bus.recomputed(self.keyring).values() for out in outs]
        return judge(self.reader.seen, after, wanted)

    def _after(self, topic: str) -> Iterator[tuple[tuple[str, int], list[Seen]]]:
        for partition, records in self.bus.read(topic).items():
            yield (
                (topic, partition),
                [Seen(r.offset, 0.0, 0.0, Out(topic, r.key, r.value, list(r.headers))) for r in records],
            )

    def repeats_bound(self, partition: int) -> int:
        """The most input records of a partition that may come again: a batch for each take-over but the first."""
        taken = sum(worker.take_overs().count(partition) for worker in self.workers + self.gone)
        return max(0, taken - 1) * BATCH_SIZE
