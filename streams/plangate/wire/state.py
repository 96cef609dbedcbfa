"""A window as changelog bytes: patches, whole or since the last one (design: nothing lost, one answer).

A patch is msgpack: [version, full, head, {map name: [[key, value], ...]}, {map name: [removed key, ...]}]. One format
for snapshots and deltas; applied in order they give the state. Indexes are derived and are not in it.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from ..core.policy import Policy, PolicyError, parse_policy
from ..core.state import Change, Decided, Head, Left, LiveSpan
from ..core.window import Window

#: 2: single edges are bare ids, and a fingerprint may be absent; both readable as they were in 1
VERSION = 2
Items = dict[str, list[tuple[str, Any]]]
_TYPES: dict[str, Any] = {
    "spans": LiveSpan, "left": Left, "decisions": Decided, "event_ids": int, "signed_event_ids": int, "authority": int,
    "waiting": bool, "approvals": int, "escalations": int, "reports": tuple[tuple[Any, ...], ...], "changes": Change,
}  # fmt: skip
#: maps whose order means something (oldest first): restored by moving a set key to the end
_ORDERED = ("decisions", "event_ids", "signed_event_ids", "escalations", "reports")


class StateError(RuntimeError):
    """State that this version can't have written: a patch cut off, altered, or out of place. Names no content."""


class StateVersionError(StateError):
    """The changelog was written by a newer version; reading on would lose what it means."""


class _Patch(Struct, array_like=True, forbid_unknown_fields=True):
    version: int
    full: bool
    head: Head
    items: dict[str, list[tuple[str, msgspec.Raw]]]
    removed: dict[str, list[str]]


_ENCODER = msgspec.msgpack.Encoder()
_WIDTHS = {0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8}  # of msgpack's unsigned integers
_DECODER = msgspec.msgpack.Decoder(_Patch)
_DECODERS = {name: msgspec.msgpack.Decoder(kind) for name, kind in _TYPES.items()}


def take_patch(window: Window, full: bool = False) -> bytes:
    """What changed since the last patch was taken, or everything; clears the marks."""
    items: Items = {}
    removed: dict[str, list[str]] = {}
    for name in _TYPES:
        tracked = getattr(window, name)
        if full:
            if tracked:
                items[name] = list(tracked.items())
        elif tracked.dirty:
            held = (
                [k for k in tracked if k in tracked.dirty]
                if name in _ORDERED
                else sorted(tracked.dirty & tracked.keys())
            )
            if held:
                items[name] = [(key, tracked[key]) for key in held]
            if gone := sorted(tracked.dirty - tracked.keys()):
                removed[name] = gone
        tracked.dirty = set()
    return _ENCODER.encode((VERSION, full, window.head, items, removed))


def check_version(patch: bytes) -> None:
    """Whether this program may read a patch; its first bytes are enough. Raises StateError if it may not."""
    version = _version(patch)
    if version is None or version < 1:
        raise StateError("a window's state has no version: this program never wrote it")
    if version > VERSION:
        raise StateVersionError(f"state version {version} is newer than {VERSION}, which this program reads")


def _version(patch: bytes) -> int | None:
    """The first item of a msgpack array, if it is a whole number that is not negative."""
    if len(patch) < 2 or patch[0] >> 4 != 9:
        return None
    width = _WIDTHS.get(patch[1], 0)
    number = patch[2 : 2 + width] if width else patch[1:2]
    if len(number) < width or (not width and number[0] > 0x7F):
        return None
    return int.from_bytes(number, "big")


def apply_patch(window: Window | None, patch: bytes, default: Policy | None = None, *, rebuild: bool = True) -> Window:
    """Lay a patch over a window (None: a new one). With ``rebuild=False`` the caller must call ``window.rebuild()``.

    Raises StateVersionError for a newer version's patch, StateError for one that no version wrote; the window is then
    as it was.
    """
    check_version(patch)
    try:
        read = _DECODER.decode(patch)
        items = {n: [(k, _DECODERS[n].decode(raw)) for k, raw in rows] for n, rows in read.items.items()}
        if read.removed.keys() - _TYPES.keys():
            raise KeyError
        policy = default or Policy()
        if read.head.policy is not None:
            policy = parse_policy(read.head.policy, policy)
    except (msgspec.MsgspecError, KeyError):
        raise StateError("a window's state can't be read: it was cut off, or this program never wrote it") from None
    except PolicyError as error:  # the worker's limits were made tighter meanwhile
        raise StateError(f"a window has a policy that the worker's own no longer allows: {error}") from None
    if window is None and not read.full:
        raise StateError("a change of a window's state comes without the state that it changes")
    if window is not None and window.head.window_id != read.head.window_id:
        raise StateError("a change of a window's state is another window's")
    if window is None or read.full:
        window = Window(read.head.window_id, default or Policy())
    window.head = read.head
    for name, keys in read.removed.items():
        tracked = getattr(window, name)
        for key in keys:
            if key in tracked:
                del tracked[key]
    for name, rows in items.items():
        tracked = getattr(window, name)
        for key, value in rows:
            if name in _ORDERED and key in tracked:
                del tracked[key]
            tracked[key] = value
    for name in _TYPES:
        getattr(window, name).dirty = set()
    if read.head.policy is not None:
        window.policy = policy
    if rebuild:
        window.rebuild()
    return window
