"""One seed: a broker, agents that send, workers that decide, faults while they do; then calm until all is decided."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from random import Random
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import structlog
from model_evidence import random_policy
from model_window import Json
from sim_agents import send
from sim_broker import CHANGELOG, INPUT, Broker
from sim_clients import Network
from sim_events import Made, keyring
from sim_faults import TAKE_OVER, Faults, Plan, plan_for
from sim_log import Entry, Place
from sim_loop import Killed, Loop, Process
from sim_recovered import Recovered, seen_in_log, taken
from sim_worker import METRICS, Terms, Worker

from plangate.shell import changelog, sender, store, task, tasks
from plangate.shell.logs import name_exception
from plangate.shell.store import Recovery, WindowStore
from plangate.wire.engine import Engine
from plangate.wire.policy import load_policy

SAFETY_STEPS, LIVENESS_STEPS = 6_000, 20_000
SAFETY_SECONDS = 0.35


@dataclass
class World:
    """After `run`: what is in the logs, what was noted, what was written to logs of text."""

    seed: int
    trace: Callable[[str], None] | None = None
    breaking: Callable[[], None] = lambda: None  # breaks the product while the world runs
    notes: dict[str, int] = field(default_factory=dict)
    logged: list[str] = field(default_factory=list)
    recovered: list[Recovered] = field(default_factory=list)
    stuck: str = ""

    def __post_init__(self) -> None:
        self.rng = Random(self.seed)
        self.plan: Plan = plan_for(self.seed, self.rng)
        self.policy: Json = random_policy(self.rng, "v0")
        self.loop = Loop()
        self.faults = Faults(self.plan, Random(self.seed + 1_000_003), self.note)
        self.broker = Broker(self.loop, Random(self.seed + 2_000_003), self.plan.partitions, self.note)
        self.engine = Engine(load_policy(json.dumps(self.policy).encode()), keyring())
        self.workers: dict[int, Worker] = {}
        self.lives: dict[int, int] = {}
        self.met: dict[tuple[int, str], int] = {}
        self.made: dict[int, Made] = {}  # by the identity of the value that is in the log
        self.sending = True
        self.skew = 0.0
        self.skipped = int(METRICS.repeats._value.get())

    # -- what is told ----------------------------------------------------------------------------------------

    def note(self, situation: str) -> None:
        self.notes[situation] = self.notes.get(situation, 0) + 1
        if self.trace is not None:
            self.trace(f"{self.loop.now - 1000:8.4f}            {situation}")

    def say(self, process: Process, words: str) -> None:
        if self.trace is not None:
            self.trace(f"{self.loop.now - 1000:8.4f}  {process.name:9} {words}")

    # -- processes -------------------------------------------------------------------------------------------

    def start(self, host: int) -> None:
        """A new process on a host that has none."""
        worker = self.workers.get(host)
        if worker is not None and not worker.process.dead:
            return
        life = self.lives[host] = self.lives.get(host, -1) + 1
        process = Process(f"h{host}.{life}")
        process.crash_at = -1 if self.faults.calm else self.plan.crash_at.get(process.name, -1)
        process.on_crash = lambda: self.die(host, process, "crash at an await point")
        network = Network(self.loop, self.faults, process.name)
        network.on_request = lambda what: self.met_step(host, process, what)
        plan = self.plan
        terms = Terms(
            self.broker, self.engine, plan.guarantee, plan.batch_size, plan.batch_bytes, plan.chunk_bytes,
            lambda: self.rng.randbytes(8), self.watch, lambda who, step: self.met_step(host, who, step),
            lambda who, why: self.ended(host, who, why),
        )  # fmt: skip
        self.workers[host] = worker = Worker(process, network, terms)
        self.say(process, "starts")
        self.loop.spawn(process, worker.play())

    def ended(self, host: int, process: Process, why: str) -> None:
        self.say(process, f"ends: {why}")
        self.note(f"process ended: {why}")
        self.loop.after(self.faults.delay(10), self.start, host)

    def die(self, host: int, process: Process, why: str) -> None:
        process.dead = True
        self.note(why)
        self.ended(host, process, why)

    def met_step(self, host: int, process: Process, step: str) -> None:
        """Told of each step and request of a process, before it goes on; may end it there."""
        count = self.met[host, step] = self.met.get((host, step), -1) + 1
        self.say(process, step)
        if step == "committed":
            skipped = int(METRICS.repeats._value.get())
            if skipped > self.skipped:
                self.note("redelivered and skipped")
            self.skipped = skipped
        what = self.plan.triggers.get((host, step, count))
        if what is None or self.faults.calm or process.dead:
            return
        when = "in take-over" if step in TAKE_OVER else f"at {self.plan.guarantee}" if step != "revoked" else "when"
        self.note(f"{what} {when}: {step}")
        if what == "crash":
            self.die(host, process, f"crash at {step}")
            raise Killed
        self.act(what, host)

    def act(self, what: str, host: int) -> None:
        """A fault from outside, at its time."""
        if self.faults.calm:
            return
        worker = self.workers.get(host)
        if what == "start":
            self.start(host)
        elif what == "compact":
            self.compact()
        elif what == "rebalance":
            self.note("rebalance: a worker joins")
            self.start(max(self.workers, default=-1) + 1 if len(self.workers) < 4 else host)
        elif worker is None or worker.process.dead or worker.process.paused:
            return
        elif what == "leave":
            self.note("rebalance: a worker leaves")
            worker.leave()
        elif what == "crash":
            self.die(host, worker.process, "crash from outside")
        elif what == "pause":
            self.note("process stopped (SIGSTOP)")
            worker.process.paused = True
            self.loop.after(self.rng.choice(self.plan.pauses), self.wake, worker.process)

    def wake(self, process: Process) -> None:
        if process.paused:
            self.say(process, "wakes up")
            self.note("process woken (SIGCONT)")
            self.loop.resume(process)

    def compact(self) -> None:
        for partition in range(self.plan.partitions):
            log = self.broker.logs[Place(CHANGELOG, partition)]
            before = log.compacted
            log.compact(self.rng.choice((log.end, log.end, max(0, log.end - 3))))
            if log.compacted > before:
                self.note("changelog compacted")

    def watch(self, process: Process, partition: int, windows: WindowStore, kept: bool, recovery: Recovery) -> None:
        log = self.broker.logs[Place(CHANGELOG, partition)]
        worker = self.workers[int(process.name[1])]
        committed = worker.source.told.get(partition)
        if not kept and worker.reused(partition):
            self.note("recovery: kept windows were not the newest")
        for situation in sorted(seen_in_log(log, windows, kept, recovery, committed)):
            self.note(f"recovery: {situation}")
        self.say(process, f"recovered partition {partition}: {len(windows.windows)} windows")
        self.recovered.append(taken(partition, windows, kept, committed or 0))

    # -- the run ---------------------------------------------------------------------------------------------

    def run(self) -> World:
        """Faults, then calm. `stuck` says what was not decided by then."""
        with _played(self):
            self.breaking()
            self.loop.spawn(Process("agent"), send(self))
            self.loop.after(0, self.start, 0)
            for when, what, host in self.plan.times:
                self.loop.after(when, self.act, what, host)
            over = 1000.0 + SAFETY_SECONDS
            self.loop.run_until(lambda: self.loop.now > over and not self.sending, SAFETY_STEPS)
            self.calm()
            if not self.loop.run_until(self.decided, LIVENESS_STEPS):
                behind = {p: (self.broker.offsets.get(p), self.broker.logs[Place(INPUT, p)].end) for p in self.places}
                self.stuck = f"not decided in {LIVENESS_STEPS} steps: {behind}"
        return self

    @property
    def places(self) -> range:
        return range(self.plan.partitions)

    def calm(self) -> None:
        """No more faults: who is stopped wakes up, who is dead was started anew."""
        self.faults.calm = True
        self.note("calm")
        for worker in list(self.workers.values()):
            worker.process.crash_at = -1
            if worker.process.paused:
                self.loop.after(self.rng.choice((0.01, 0.01, 0.4)), self.wake, worker.process)

    def decided(self) -> bool:
        """All records sent, all offsets past them, no transaction open."""
        if self.sending or self.broker.busy:
            return False
        for partition in self.places:
            log, committed = self.broker.logs[Place(INPUT, partition)], self.broker.offsets.get(partition) or 0
            if log.stable < log.end or any(entry.visible and entry.offset >= committed for entry in log.entries):
                return False
        return True

    def input(self, partition: int) -> list[tuple[Entry, Made]]:
        """The committed records of one input partition."""
        return [(entry, self.made[id(entry)]) for entry in self.broker.logs[Place(INPUT, partition)].visible()]

    # -- clocks ----------------------------------------------------------------------------------------------

    def monotonic(self) -> float:
        """Deciding takes time on a slow machine; the batch is cut and lets others run."""
        if self.plan.slow_cpu and not self.faults.calm:
            spent = self.faults.rng.choice((0.0, 0.0, 0.011, 0.011, 0.26))
            if spent > 0.25:
                self.note("slow processor: a batch is cut by time")
            self.loop.now += spent
        return self.loop.now

    def clock(self) -> float:
        """Wall clock: jumps forth and back."""
        if self.plan.jumps and not self.faults.calm and self.faults.rng.random() < 0.2:
            self.note("clock jumped")
            self.skew = self.faults.rng.choice((-1e6, -60.0, 3600.0, 1e6))
        return self.loop.now + self.skew


@contextmanager
def _played(world: World) -> Iterator[None]:
    """The product's clocks, log and sizes are the world's; what its dead processes leave behind goes silently."""
    before = structlog.get_config()

    def keep(_: Any, __: str, event: Any) -> Any:
        world.logged.append(repr(event))
        raise structlog.DropEvent

    with ExitStack() as stack:
        for module in (task, store, tasks):
            stack.enter_context(patch.object(module, "monotonic", world.monotonic))
        stack.enter_context(patch.object(task, "time", world.clock))
        stack.enter_context(patch.object(sender, "time", SimpleNamespace(time=world.clock)))
        stack.enter_context(patch.object(changelog, "SMALL_SNAPSHOT", world.plan.small_snapshot))
        structlog.configure(
            processors=[name_exception, keep],
            wrapper_class=structlog.make_filtering_bound_logger(0),
            logger_factory=structlog.ReturnLoggerFactory(),
            cache_logger_on_first_use=False,
        )
        gc.disable()
        try:
            yield
        finally:
            structlog.configure(**before)
            world.loop.close()
            gc.enable()
