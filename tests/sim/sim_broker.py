"""The simulated broker: logs, transactional producers with epochs, and one consumer group with generations.

Methods are what a request does when it arrives. They return at once, raise one of Kafka's errors, or return AGAIN where
a real client would try again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from random import Random

from aiokafka.errors import ProducerFenced
from sim_group import Group
from sim_log import Entry, Log, Place, Txn
from sim_loop import Loop

AGAIN = object()
INPUT, CHANGELOG, GROUP = "window-events", "gate-windows-changelog", "gate"
TXN_SECONDS = 0.25


class Producer:
    """What the coordinator knows of one transactional id."""

    def __init__(self) -> None:
        self.epoch = -1
        self.owner = ""
        self.txn: Txn | None = None
        self.ending = False
        self.places: dict[Place, None] = {}
        self.offsets: dict[int, int] = {}
        self.ended: dict[int, bool] = {}  # epoch -> whether its last transaction was committed
        self.count = 0


class Broker:
    """`note` is told of named situations."""

    def __init__(self, loop: Loop, rng: Random, partitions: int, note: Callable[[str], None]) -> None:
        self.loop, self.rng, self.partitions, self.note = loop, rng, partitions, note
        self.logs: defaultdict[Place, Log] = defaultdict(Log)
        self.offsets: dict[int, int] = {}
        self.producers: defaultdict[str, Producer] = defaultdict(Producer)
        self.group = Group(loop, rng, partitions, note)

    # -- records ---------------------------------------------------------------------------------------------

    def produce(self, place: Place, entries: Iterable[Entry]) -> int:
        """Append without a transaction; gives the first offset."""
        return self.logs[place].append(list(entries))

    @property
    def busy(self) -> bool:
        """A transaction is open."""
        return any(producer.txn is not None for producer in self.producers.values())

    # -- transactions ----------------------------------------------------------------------------------------

    def init(self, name: str, owner: str) -> object:
        """A new epoch for a transactional id; ends what the epoch before had open first."""
        producer = self.producers[name]
        if producer.ending:
            self.note("take-over waits for a transaction that is being ended")
            return AGAIN
        if producer.txn is not None:
            self.note("take-over aborts an open transaction")
            producer.epoch += 1
            self._finish(name, producer, commit=False)
            return AGAIN
        producer.epoch += 1
        producer.owner = owner
        return producer.epoch

    def _current(self, name: str, epoch: int) -> Producer:
        producer = self.producers[name]
        if producer.epoch != epoch:
            self.note("zombie fenced by its epoch")
            raise ProducerFenced
        return producer

    def produce_in_txn(self, name: str, epoch: int, place: Place, entries: list[Entry]) -> object:
        """Append as part of the transaction, which starts with it."""
        producer = self._current(name, epoch)
        if producer.ending:
            return AGAIN
        self._begin(name, producer)
        producer.places[place] = None
        for entry in entries:
            entry.txn = producer.txn
        return self.logs[place].append(entries)

    def offsets_in_txn(self, name: str, epoch: int, partition: int, offset: int) -> object:
        producer = self._current(name, epoch)
        if producer.ending:
            return AGAIN
        self._begin(name, producer)
        producer.offsets[partition] = offset
        return None

    def end(self, name: str, epoch: int, commit: bool) -> object:
        """Decide a transaction; its markers follow one by one."""
        producer = self._current(name, epoch)
        if producer.ending or producer.txn is None:
            return None  # said before, its answer was lost
        self._finish(name, producer, commit)
        return None

    def _begin(self, name: str, producer: Producer) -> None:
        if producer.txn is None:
            producer.txn = Txn()
            producer.count += 1
            self.loop.after(TXN_SECONDS, self._expire, name, producer.count)

    def _expire(self, name: str, count: int) -> None:
        producer = self.producers[name]
        if producer.count == count and producer.txn is not None and not producer.ending:
            self.note("broker: aborts a transaction that took too long")
            producer.epoch += 1
            self._finish(name, producer, commit=False)

    def _finish(self, name: str, producer: Producer, commit: bool) -> None:
        assert producer.txn is not None
        producer.ending = True
        txn, places, offsets = producer.txn, list(producer.places), producer.offsets
        producer.places, producer.offsets = {}, {}
        txn.committed = commit
        self.rng.shuffle(places)
        steps: list[Callable[[], None]] = [lambda place=place: self.logs[place].mark(txn) for place in places]
        if commit and offsets:
            steps.insert(self.rng.randint(0, len(steps)), lambda: self.offsets.update(offsets))

        def complete() -> None:
            producer.ending, producer.txn = False, None

        delay = 0.0
        for step in [*steps, complete]:
            delay += self.rng.random() * 0.001
            self.loop.after(delay, step)
