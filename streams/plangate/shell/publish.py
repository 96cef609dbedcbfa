"""Publishing a batch: outputs, changed windows and the input offset, in that order, so that no crash loses an answer.

design: the promise is at least one decision, and all of them byte-identical (contract section 4, step 1;
docs/worker.md).

- `TransactionalPublisher`: all three in one Kafka transaction of the input partition. A batch is there whole or not
  at all.
- `AcknowledgedPublisher`: (1) outputs, wait for all acknowledgements; (2) changelog, the same; (3) move the offset.
  Killed after (1): the batch comes again, the state is the old one, the same bytes go out again. Killed after (2):
  the records are known by their offset and skipped, their outputs are out already.

Both raise on any failure. The state in memory is then ahead of Kafka, so the only right thing is to end the process.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

from aiokafka import TopicPartition
from aiokafka.errors import UnknownError, UnsupportedVersionError

from plangate.shell.changelog import Change
from plangate.shell.sender import CONSEQUENCES, Message, Producer, Sender, Sent, cause_of
from plangate.wire.engine import Out

# Told what has just been done. Taking over: assigned, shut_out (the owner before), recovering (again and again),
# recovered. A batch: stepped, begun, outputs_sent, changes_sent, offsets_sent (transactions only), committed. Giving
# away: revoked, with a batch perhaps in flight.
Probe = Callable[[str], None]


class Publisher(Protocol):
    """Publishes the batches of one input partition."""

    async def start(self) -> None:
        """Connect, and keep any earlier owner of the partition from publishing, where the broker can."""

    async def publish(self, outputs: Sequence[Out], changes: Sequence[Change], next_offset: int) -> int | None:
        """Publish a batch; the changelog's end after it, None if the batch wrote none. Raises on any failure."""

    async def stop(self) -> None:
        """Release what start took."""


class Names(NamedTuple):
    """Where a partition's records come from and go to; full names."""

    source: str
    changelog: str
    group_id: str
    prefix: str
    partition: int


class TransactionsError(Exception):
    """The broker starts no transaction."""


class TransactionalPublisher:
    """One transaction for each batch; `producer` has a transactional id of this input partition alone."""

    def __init__(self, producer: Producer, names: Names, probe: Probe = lambda step: None) -> None:
        self._producer = producer
        self._names = names
        self._probe = probe
        self._sender = Sender(producer)

    async def start(self) -> None:
        """Raises TransactionsError if the broker knows no transactions."""
        try:
            await self._producer.start()
        except (UnknownError, UnsupportedVersionError):
            raise TransactionsError(
                "the broker starts no transaction; if it has none, set guarantee to acknowledgements"
            ) from None

    async def publish(self, outputs: Sequence[Out], changes: Sequence[Change], next_offset: int) -> int | None:
        names, probe = self._names, self._probe
        await self._producer.begin_transaction()
        probe("begun")
        sent = await self._sender.send(_outputs(names, outputs))
        probe("outputs_sent")
        written: list[Sent] = []
        try:
            written = await self._sender.send(_changes(names, changes))
            await asyncio.gather(*sent, *written)
        except CONSEQUENCES as error:
            raise await cause_of(error, [*sent, *written]) from None
        probe("changes_sent")
        source = TopicPartition(names.source, names.partition)
        await self._producer.send_offsets_to_transaction({source: next_offset}, names.group_id)
        probe("offsets_sent")
        await self._producer.commit_transaction()
        probe("committed")
        # The commit marker takes an offset of its own.
        return await _end(written, markers=1)

    async def stop(self) -> None:
        await self._producer.stop()


class AcknowledgedPublisher:
    """Each step acknowledged before the next. `commit` moves the group's offset of this input partition."""

    def __init__(
        self,
        producer: Producer,
        names: Names,
        commit: Callable[[int, int], Awaitable[None]],
        probe: Probe = lambda step: None,
    ) -> None:
        self._producer = producer
        self._names = names
        self._commit = commit
        self._probe = probe
        self._sender = Sender(producer)

    async def start(self) -> None:
        await self._producer.start()

    async def publish(self, outputs: Sequence[Out], changes: Sequence[Change], next_offset: int) -> int | None:
        names, probe = self._names, self._probe
        probe("begun")
        await asyncio.gather(*await self._sender.send(_outputs(names, outputs)))
        probe("outputs_sent")
        written = await self._sender.send(_changes(names, changes))
        await asyncio.gather(*written)
        probe("changes_sent")
        await self._commit(names.partition, next_offset)
        probe("committed")
        return await _end(written, markers=0)

    async def stop(self) -> None:
        await self._producer.stop()


def _outputs(names: Names, outputs: Sequence[Out]) -> Iterable[Message]:
    return (Message(names.prefix + out.topic, out.key, out.value, out.headers) for out in outputs)


def _changes(names: Names, changes: Sequence[Change]) -> Iterable[Message]:
    # The changelog has as many partitions as the input, and each window's record lies in that of its events.
    return (Message(names.changelog, change.key, change.value, (), names.partition) for change in changes)


async def _end(written: Sequence[Sent], markers: int) -> int | None:
    if not written:
        return None
    base, count = await written[-1]
    return base + count + markers
