"""What goes on while faults happen: a producer at a steady rate, and a reader of all outputs at read_committed."""

import asyncio
import threading
import time
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from kafka_bus import OUTPUTS, Bus
from kafka_events import Item

from plangate.wire.engine import Out
from plangate.wire.topics import INPUT

TICK_SECONDS = 0.05
# A broker may be away for so long without a record of the load being given up.
OUTAGE_SECONDS = 600
# Keyed by window like the input, so that their partitions are those of the input.
BESIDE_INPUT = ("plan-decisions", "audit-log", "window-status", "window-diagnostics", "window-alerts")


class Seen(NamedTuple):
    """An output as a reader got it; `made` and `arrived` in seconds since 1970, by the worker's and our clock."""

    offset: int
    made: float
    arrived: float
    out: Out


Place = tuple[str, int]  # topic (base name), partition


class _Background(threading.Thread):
    """A coroutine in a thread; `finish` ends it and raises what it raised."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.ending = threading.Event()
        self._error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            asyncio.run(self.work())
        except BaseException as error:  # told by finish
            self._error = error

    @abstractmethod
    async def work(self) -> None: ...

    def check(self) -> None:
        """Raises what ended it, if something did."""
        if self._error is not None:
            raise self._error

    def finish(self, seconds: float = 120.0) -> None:
        self.ending.set()
        self.join(seconds)
        assert not self.is_alive(), f"{type(self).__name__} does not end"
        self.check()


class Load(_Background):
    """Produces `items` at a steady rate until told to finish. `acknowledged`: places that the broker confirmed."""

    def __init__(self, bus: Bus, items: Iterator[Item], rate: float) -> None:
        self._bus, self._items, self._rate = bus, items, rate
        self.acknowledged: dict[int, list[int]] = defaultdict(list)
        super().__init__()

    async def work(self) -> None:
        producer = AIOKafkaProducer(
            bootstrap_servers=self._bus.kafka,
            enable_idempotence=True,
            request_timeout_ms=OUTAGE_SECONDS * 1000,
            linger_ms=2,
        )
        await producer.start()
        sent, number, began = [], 0, time.monotonic()
        try:
            while not self.ending.is_set():
                due = int((time.monotonic() - began) * self._rate) - number
                # After a stall of ours or the broker's not all at once: the rate is what the faults meet.
                for item in islice(self._items, min(due, int(self._rate))):
                    sent.append(
                        await producer.send(
                            self._bus.prefix + INPUT,
                            item.value,
                            item.key,
                            partition=item.partition,
                            headers=item.headers,
                        )
                    )
                number += due
                await asyncio.sleep(TICK_SECONDS)
            for place in await asyncio.gather(*sent):
                self.acknowledged[place.partition].append(place.offset)
        finally:
            await producer.stop()


class Reader(_Background):
    """Reads every output as it becomes visible; `finish` reads on to the ends of that moment."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self.seen: dict[Place, list[Seen]] = defaultdict(list)
        super().__init__()

    async def work(self) -> None:
        bus = self._bus
        consumer = AIOKafkaConsumer(
            *(bus.prefix + topic for topic in OUTPUTS),
            bootstrap_servers=bus.kafka,
            isolation_level="read_committed",
            auto_offset_reset="earliest",
            fetch_max_wait_ms=100,
        )
        await consumer.start()
        try:
            while not self.ending.is_set():
                await self._take(consumer)
            places = sorted(consumer.assignment())
            ends = await consumer.end_offsets(places)
            while any([await consumer.position(place) < ends[place] for place in places]):
                await self._take(consumer)
        finally:
            await consumer.stop()

    async def _take(self, consumer: AIOKafkaConsumer) -> None:
        for place, records in (await consumer.getmany(timeout_ms=100)).items():
            topic, now = place.topic.removeprefix(self._bus.prefix), time.time()
            self.seen[topic, place.partition] += [
                Seen(r.offset, r.timestamp / 1000, now, Out(topic, r.key, r.value, list(r.headers))) for r in records
            ]

    def answered(self, partition: int, since: float) -> float | None:
        """When the first answer that was made after `since` could be read from what comes of an input partition."""
        arrivals = (_first_after(self.seen[topic, partition], since) for topic in BESIDE_INPUT)
        return min((arrived for arrived in arrivals if arrived is not None), default=None)


def _first_after(records: list[Seen], since: float) -> float | None:
    first = len(records)
    while first and records[first - 1].made > since:
        first -= 1
    return records[first].arrived if first < len(records) else None
