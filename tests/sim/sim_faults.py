"""Which faults a seed meets: what its plan says will happen, and chance for the rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

STEPS = {
    "transactions": ("stepped", "begun", "outputs_sent", "changes_sent", "offsets_sent", "committed"),
    "acknowledgements": ("stepped", "begun", "outputs_sent", "changes_sent", "committed"),
}
# Steps and requests of a take-over, in their order.
TAKE_OVER = (
    "assigned", "start of the producer", "shut_out", "committed offset", "start of the recovery", "end offset",
    "first offset", "changelog fetch", "recovering", "recovered",
)  # fmt: skip
SENDING = {
    "transactions": ("outputs", "changes", "offsets", "commit"),
    "acknowledgements": ("outputs", "changes", "offset"),
}
PAUSE_SECONDS = (0.02, 0.15, 0.4, 0.9)


@dataclass
class Plan:
    """What is decided before a seed starts. `triggers`: (host, step or request, how often seen before) -> what then."""

    stratum: str
    guarantee: str
    partitions: int
    hosts: int
    batch_size: int
    batch_bytes: int
    chunk_bytes: int
    small_snapshot: int
    triggers: dict[tuple[int, str, int], str] = field(default_factory=dict)
    crash_at: dict[str, int] = field(default_factory=dict)  # process -> await point
    times: list[tuple[float, str, int]] = field(default_factory=list)  # when, what, host
    rates: dict[str, dict[str, float]] = field(default_factory=dict)  # request -> fate -> probability
    gives_up: float = 0.3
    truncates: float = 0.2
    drops: float = 0.0
    pauses: tuple[float, ...] = PAUSE_SECONDS
    jumps: bool = False
    slow_cpu: bool = False


def strata() -> dict[str, Callable[[Plan, Random], None]]:
    """Name -> what it adds to a plan. Seeds take them in turn, so that each comes up equally often."""
    found: dict[str, Callable[[Plan, Random], None]] = {}

    def at(what: str, guarantee: str, step: str) -> Callable[[Plan, Random], None]:
        def add(plan: Plan, rng: Random) -> None:
            plan.guarantee = guarantee or plan.guarantee
            if step in TAKE_OVER:  # of a partition that somebody had before
                plan.triggers[0, "committed", rng.randint(0, 2)] = "crash"
                plan.triggers[0, step, 0 if step in ("changelog fetch", "recovering") else 1] = what
                plan.triggers[1, step, 0] = what
            else:
                plan.triggers[0, step, rng.randint(0, 2)] = what
                plan.triggers[1, step, rng.randint(0, 2)] = what
                if what == "pause" and rng.random() < 0.3:
                    plan.hosts = 1  # nobody takes over: its transaction runs out
                    return
            plan.hosts = rng.choice((1, 2)) if what == "crash" else 2

        return add

    def rate(fate: str, guarantee: str, request: str) -> Callable[[Plan, Random], None]:
        def add(plan: Plan, rng: Random) -> None:
            plan.guarantee = guarantee or plan.guarantee
            plan.rates[request] = {fate: rng.choice((0.15, 0.3))}

        return add

    for guarantee, steps in STEPS.items():
        for step in steps:
            for what in ("crash", "pause", "rebalance"):
                found[f"{what} at {guarantee}: {step}"] = at(what, guarantee, step)
        for request in SENDING[guarantee]:
            for fate in ("answer lost", "request lost", "refused", "doubled"):
                found[f"{fate} at {guarantee}: {request}"] = rate(fate, guarantee, request)
    for request in TAKE_OVER:
        found[f"crash in take-over: {request}"] = at("crash", "", request)
        found[f"rebalance in take-over: {request}"] = at("rebalance", "", request)
    for fate in ("slow", "refused", "answer lost"):
        found[f"changelog fetch {fate}"] = _changelog(fate)
    found |= {
        "slow changes": rate("slow", "", "changes"),
        "slow outputs": rate("slow", "", "outputs"),
        "start of the producer: answer lost": rate("answer lost", "transactions", "start of the producer"),
        "dropped fetches": _drops,
        "dropped fetches again": _drops,
        "clock jumps": _clock,
        "slow processor": _slow,
        "compaction": _compaction,
        "compaction again": _compaction,
        "chunks and banks": _chunks,
        "joins and leaves": _joins,
        "crash at revoked": _revoked,
        "storm": _storm,
        "storm again": _storm,
        "crash anywhere": _anywhere,
        "crash anywhere again": _anywhere,
        "zombie among many": _zombies,
        "zombie wakes in a take-over": _waking,
        "zombie wakes in a take-over again": _waking,
    }
    return found


def _changelog(fate: str) -> Callable[[Plan, Random], None]:
    def add(plan: Plan, rng: Random) -> None:
        plan.rates["changelog fetch"] = {fate: 0.5}
        _restarts(plan, rng, 4)

    return add


def _drops(plan: Plan, rng: Random) -> None:
    plan.drops, plan.truncates = 0.5, 0.5


def _clock(plan: Plan, rng: Random) -> None:
    plan.jumps = True


def _slow(plan: Plan, rng: Random) -> None:
    plan.slow_cpu = True
    plan.batch_size = 8


def _compaction(plan: Plan, rng: Random) -> None:
    for _ in range(4):
        plan.times.append((rng.uniform(0.02, 0.3), "compact", 0))
    _restarts(plan, rng, 3)


def _chunks(plan: Plan, rng: Random) -> None:
    plan.chunk_bytes, plan.small_snapshot = rng.choice((60, 150, 400)), rng.choice((0, 300, 1500))
    plan.batch_bytes = rng.choice((200, 600))
    for _ in range(2):
        plan.times.append((rng.uniform(0.02, 0.3), "compact", 0))
    _restarts(plan, rng, 3)


def _restarts(plan: Plan, rng: Random, count: int) -> None:
    for _ in range(count):
        step = rng.choice(STEPS[plan.guarantee])
        plan.triggers[rng.randrange(plan.hosts), step, rng.randint(0, 4)] = "crash"


def _joins(plan: Plan, rng: Random) -> None:
    plan.hosts = 3
    for _ in range(rng.randint(2, 5)):
        plan.times.append((rng.uniform(0.01, 0.3), rng.choice(("leave", "leave", "rebalance")), rng.randrange(3)))


def _revoked(plan: Plan, rng: Random) -> None:
    plan.hosts = 2
    plan.triggers[0, "revoked", 0] = plan.triggers[1, "revoked", 0] = "crash"
    plan.triggers[0, rng.choice(STEPS[plan.guarantee]), rng.randint(0, 2)] = "rebalance"


def _storm(plan: Plan, rng: Random) -> None:
    plan.hosts = rng.choice((2, 3))
    for request in (*SENDING[plan.guarantee], *TAKE_OVER):
        plan.rates[request] = {rng.choice(("answer lost", "request lost", "doubled", "refused", "slow")): 0.06}
    _restarts(plan, rng, 2)
    for _ in range(3):
        what = rng.choice(("leave", "rebalance", "compact", "pause", "crash"))
        plan.times.append((rng.uniform(0.01, 0.3), what, rng.randrange(plan.hosts)))
    plan.jumps, plan.slow_cpu, plan.drops = rng.random() < 0.3, rng.random() < 0.3, 0.1


def _anywhere(plan: Plan, rng: Random) -> None:
    for host in range(plan.hosts):
        for life in range(2):
            plan.crash_at[f"h{host}.{life}"] = rng.randint(1, 250)


def _zombies(plan: Plan, rng: Random) -> None:
    plan.hosts = 3
    for host in range(2):
        plan.triggers[host, rng.choice(STEPS[plan.guarantee]), rng.randint(0, 2)] = "pause"


def _waking(plan: Plan, rng: Random) -> None:
    plan.guarantee, plan.hosts, plan.partitions = "transactions", 2, 1
    plan.triggers[0, rng.choice(("offsets_sent", "changes_sent")), rng.randint(0, 2)] = "pause"
    plan.pauses = (0.13, 0.14, 0.15, 0.16, 0.17, 0.18)
    for request in TAKE_OVER:
        plan.rates[request] = {"slow": 0.5}


STRATA = strata()


def plan_for(seed: int, rng: Random) -> Plan:
    """The plan of a seed: its stratum in turn, everything else drawn."""
    name = list(STRATA)[seed % len(STRATA)]
    plan = Plan(
        stratum=name,
        guarantee=rng.choice(tuple(STEPS)),
        partitions=rng.choice((1, 1, 2)),
        hosts=rng.choice((1, 2, 2)),
        batch_size=rng.choice((1, 2, 3, 5)),
        batch_bytes=rng.choice((300, 900, 4000)),
        chunk_bytes=rng.choice((300, 900_000, 900_000)),
        small_snapshot=rng.choice((0, 800, 65_536)),
    )
    STRATA[name](plan, rng)
    for host in range(1, plan.hosts):
        plan.times.append((rng.uniform(0.0, 0.15), "start", host))
    if rng.random() < 0.15:
        plan.times.append((rng.uniform(0.02, 0.3), "compact", 0))
    return plan


@dataclass
class Faults:
    """Chance, asked at every request. `calm` ends all faults: the liveness phase."""

    plan: Plan
    rng: Random
    note: Callable[[str], None]
    calm: bool = False

    def fate(self, request: str, name: str) -> str:
        """What happens to a request: nothing, or one of answer lost, request lost, doubled, refused, slow."""
        rates = self.plan.rates.get(request)
        if rates is None or self.calm or name == "agent":
            return ""
        for fate, rate in rates.items():
            if self.rng.random() < rate:
                self.note(f"{fate}: {request}")
                return fate
        return ""

    def retries(self, request: str) -> bool:
        """Whether a client tries again after silence, or gives up and raises."""
        return self.calm or self.rng.random() >= self.plan.gives_up

    def delay(self, factor: float = 1.0) -> float:
        return self.rng.uniform(0.0002, 0.002) * factor

    def fetch_count(self, topic: str) -> int:
        """How many records a fetch brings at most."""
        if not self.calm and self.rng.random() < self.plan.truncates:
            self.note(f"truncated fetch of the {topic}")
            return self.rng.randint(1, 3)
        return 20

    def drops_fetch(self) -> bool:
        if not self.calm and self.rng.random() < self.plan.drops:
            self.note("fetch dropped on its way")
            return True
        return False
