"""Worker: the product's throughput on Kafka against four other ways to do the same job.

All decide with the product's own engine, so that their outputs can be compared; only the plumbing differs.
"""

from __future__ import annotations

from .kafka.bus import broker, expected
from .kafka.load import mixed
from .kafka.runs import Timed, throughput
from .measure import Spread, ratios
from .report import Row

#: peer -> (in words, goal)
PEERS = {
    "naive": ("a naive Faust agent", 15.0),
    "quix": ("Quix Streams", 2.0),
    "plain": ("plain aiokafka, no durable state", 0.7),
    "take": ("a Faust agent that takes batches", 3.0),
}


def run(tiny: bool, only: tuple[str, ...] = tuple(PEERS)) -> list[Row]:
    count, windows, repeats = (200, 10, 1) if tiny else (12_000, 500, 3)
    items = mixed(count, windows)
    wanted = expected(items, 4)
    found: dict[str, list[Timed]] = {name: [] for name in ("plangate", *only)}
    with broker() as kafka:
        for name in found:  # a first run of each that does not count: the broker's and the system's caches
            throughput(name, kafka, items[: max(100, count // 20)], expected(items[: max(100, count // 20)], 4))
        for _ in range(repeats):
            for name, times in found.items():
                times.append(throughput(name, kafka, items, wanted))
    return [_row(name, found) for name in only]


def _row(name: str, found: dict[str, list[Timed]]) -> Row:
    words, goal = PEERS[name]
    ours, theirs = ([timed.rate for timed in found[key]] for key in ("plangate", name))
    cpu = [Spread.of([timed.cpu_micros for timed in found[key]]).middle for key in ("plangate", name)]
    beside = (
        f"{Spread.of(ours)} events/s; peer {Spread.of(theirs)}; processor {cpu[0]:.0f} and {cpu[1]:.0f} µs an event"
    )
    return Row("worker", f"throughput : {words}", ratios(ours, theirs), beside, goal, at_most=False)
