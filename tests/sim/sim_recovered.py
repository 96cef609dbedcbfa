"""What a take-over found: named, and as a value that can be compared with the state of a log prefix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
from sim_log import Log

from plangate.core.window import Window
from plangate.shell.changelog import HEADER, SUFFIX
from plangate.shell.store import Recovery, WindowStore
from plangate.wire.state import _ORDERED, _TYPES

State = tuple[Any, ...]


@dataclass(frozen=True)
class Recovered:
    """Windows of one partition as recovered, with the offset of the group at that time."""

    partition: int
    committed: int
    kept: bool
    windows: dict[str, tuple[int, State]]


def state_of(window: Window) -> State:
    """All that survives a restart, and the indexes that are rebuilt from it, in a form that compares."""
    maps = []
    for name in _TYPES:
        items = [(key, msgspec.to_builtins(value)) for key, value in getattr(window, name).items()]
        maps.append(items if name in _ORDERED else sorted(items, key=lambda item: item[0]))
    live = window.spans.keys()
    dependents = {key: sorted(live & set(window.dependents.of(key))) for key in window.dependents}
    links = [
        {key: found for key, found in sorted(dependents.items()) if found},
        *({key: sorted(link.of(key)) for key in sorted(live & link.keys())} for link in (window.bound, window.unmet)),
        {key: found for key in sorted(live) if (found := sorted(window.partners(window.spans[key])))},
    ]
    return msgspec.to_builtins(window.head), maps, links, list(window.prefixes), window.cost, repr(window.policy)


def taken(partition: int, store: WindowStore, kept: bool, committed: int) -> Recovered:
    """The state of every window of a store."""
    windows = {name: (window.head.last_offset, state_of(window)) for name, window in store.windows.items()}
    return Recovered(partition, committed, kept, windows)


def seen_in_log(log: Log, store: WindowStore, kept: bool, recovery: Recovery, committed: int | None) -> set[str]:
    """Names of the recovery paths that this changelog made the product take."""
    if kept:
        return {"windows kept from the assignment before"}
    found = set()
    if not recovery.records:
        found.add("empty changelog")
    if log.compacted and recovery.records:
        found.add("compacted changelog")
    if store.resume_after >= (committed or 0):
        found.add("state ahead of the committed offset")
    numbers: dict[bytes, set[int]] = {}
    epochs: dict[bytes, set[bytes]] = {}
    for entry in log.visible():
        if entry.value is None:
            found.add("tombstones")
            continue
        window_id = entry.key[: -SUFFIX.size]
        epoch, bank, number, _ = SUFFIX.unpack_from(entry.key, len(entry.key) - SUFFIX.size)
        _, serial, chunks, _ = HEADER.unpack_from(entry.value)
        numbers.setdefault(window_id, set()).add(number)
        epochs.setdefault(window_id, set()).add(epoch)
        if chunks > 1:
            found.add("a change of several records")
        if serial > 1:
            found.add("a second snapshot in one epoch")
    if any(len(some) > 1 for some in numbers.values()):
        found.add("snapshot and deltas")
    if any(some == {0} for some in numbers.values()):
        found.add("snapshot alone")
    if any(len(some) > 1 for some in epochs.values()):
        found.add("two owners' chains")
    return found
