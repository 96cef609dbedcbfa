"""A window as changelog bytes: patches, whole or since the last one (design: nothing lost, one answer).

A patch is msgpack: [version, full, head, {map name: [[key, value], ...]}, {map name: [removed key, ...]}]. One format
for snapshots and deltas; applied in order they give the state. Indexes are derived and are not in it.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from ..core.policy import Policy, parse_policy
from ..core.state import Change, Decided, Head, Left, LiveSpan
from ..core.window import Window

VERSION = 1
Items = dict[str, list[tuple[str, Any]]]
_TYPES: dict[str, Any] = {
    "spans": LiveSpan, "left": Left, "decisions": Decided, "event_ids": int, "signed_event_ids": int, "authority": int,
    "waiting": bool, "approvals": int, "escalations": int, "reports": tuple[tuple[Any, ...], ...], "changes": Change,
}  # fmt: skip
#: maps whose order means something (oldest first): restored by moving a set key to the end
_ORDERED = ("decisions", "event_ids", "signed_event_ids", "escalations", "reports")


class StateVersionError(RuntimeError):
    """The changelog was written by a newer version; reading on would lose what it means."""


class _Patch(Struct, array_like=True):
    version: int
    full: bool
    head: Head
    items: dict[str, list[tuple[str, msgspec.Raw]]]
    removed: dict[str, list[str]]


class _Version(Struct, array_like=True):
    version: int


_ENCODER = msgspec.msgpack.Encoder()
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


def apply_patch(window: Window | None, patch: bytes, default: Policy | None = None, *, rebuild: bool = True) -> Window:
    """Lay a patch over a window (None: a new one). With ``rebuild=False`` the caller must call ``window.rebuild()``."""
    version = msgspec.msgpack.decode(patch, type=_Version).version
    if version > VERSION:
        raise StateVersionError(f"state version {version} is newer than {VERSION}, which this program reads")
    read = _DECODER.decode(patch)
    if window is None or read.full:
        window = Window(read.head.window_id, default or Policy())
    window.head = read.head
    for name, keys in read.removed.items():
        tracked = getattr(window, name)
        for key in keys:
            if key in tracked:
                del tracked[key]
    for name, items in read.items.items():
        tracked, decoder = getattr(window, name), _DECODERS[name]
        for key, raw in items:
            if name in _ORDERED and key in tracked:
                del tracked[key]
            tracked[key] = decoder.decode(raw)
    for name in _TYPES:
        getattr(window, name).dirty = set()
    if read.head.policy is not None:
        window.policy = parse_policy(read.head.policy, default or Policy())
    if rebuild:
        window.rebuild()
    return window
