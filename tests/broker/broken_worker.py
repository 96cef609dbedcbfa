"""Deliberate defects of a worker, so that the chaos runs' checks can be seen to fail. `break_worker` plants one."""

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from plangate.shell import clients, process
from plangate.shell.publish import AcknowledgedPublisher, _changes, _outputs
from plangate.shell.store import ChangelogReader


class OffsetFirst(AcknowledgedPublisher):
    """The input offset is moved before anything is published."""

    async def publish(self, outputs: Sequence[Any], changes: Sequence[Any], next_offset: int) -> int | None:
        await self._commit(self._names.partition, next_offset)
        return await super().publish(outputs, changes, next_offset)


class StateFirst(AcknowledgedPublisher):
    """State is written before the outputs: a repeat is then skipped, and its answer is lost."""

    async def publish(self, outputs: Sequence[Any], changes: Sequence[Any], next_offset: int) -> int | None:
        for sent in await self._sender.send(_changes(self._names, changes)):
            await sent
        self._probe("changes_sent")
        for sent in await self._sender.send(_outputs(self._names, outputs)):
            await sent
        await self._commit(self._names.partition, next_offset)
        return None


def break_worker(name: str) -> None:
    """`offset_first`, `state_first`, `changelog_ignored`; `not_shut_out`: no owner ends the one before."""
    if name == "offset_first":
        process.AcknowledgedPublisher = OffsetFirst
    elif name == "state_first":
        process.AcknowledgedPublisher = StateFirst
    elif name == "changelog_ignored":
        ChangelogReader.windows = lambda self: iter(())
    elif name == "not_shut_out":
        made = clients.transactional_producer

        def own_id(settings: Any, partition: int) -> Any:
            producer = made(settings, partition)
            producer._txn_manager.transactional_id += uuid4().hex
            return producer

        clients.transactional_producer = own_id
    else:
        raise ValueError(name)
