"""What a window's state is made of (contract section 3): records that survive a restart, and maps that hold them.

They forbid unknown fields: state that this version would not carry on must not be read by it. A field may be added at
the end, with a default, only together with a new `plangate.wire.state.VERSION`.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from msgspec import Struct

from .events import Kind

Value = TypeVar("Value")


class LiveSpan(Struct, array_like=True, forbid_unknown_fields=True, gc=False):
    """A span as it stands in the window.

    ``depends`` includes ``verbatim``; ``required`` holds only ids live when declared. ``sent`` is empty where what was
    sent can be read off the span (:mod:`.sameness`). Most spans have one dependency and one partner at most, so these
    two lists are held as a bare id then, which is half of what a tuple takes.
    """

    id: str
    kind: Kind
    cost: int
    priority: int
    used: int
    place: int
    sent: bytes
    signed: bool = False
    pinned: bool = False
    open: bool = False
    prefix: bool = False
    depends_held: str | tuple[str, ...] = ()
    verbatim: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    pairs_held: str | tuple[str, ...] = ()
    derived: tuple[str, ...] = ()

    @property
    def depends(self) -> tuple[str, ...]:
        held = self.depends_held
        return held if isinstance(held, tuple) else (held,)

    @depends.setter
    def depends(self, ids: tuple[str, ...]) -> None:
        self.depends_held = ids[0] if len(ids) == 1 else ids

    @property
    def pairs(self) -> tuple[str, ...]:
        held = self.pairs_held
        return held if isinstance(held, tuple) else (held,)

    @pairs.setter
    def pairs(self, ids: tuple[str, ...]) -> None:
        self.pairs_held = ids[0] if len(ids) == 1 else ids


class Left(Struct, array_like=True, forbid_unknown_fields=True, gc=False):
    """What must be known of a span that left: by what, and its lineage (contract section 3, pins and reuse of ids)."""

    by: str
    signed: bool = False
    derived: tuple[str, ...] = ()
    required: tuple[str, ...] = ()


class Decided(Struct, array_like=True, forbid_unknown_fields=True):
    """A recorded decision: its bytes are given again for the same plan_id (contract section 4, step 1)."""

    number: int
    generation: int
    refused: bool
    value: bytes


class Change(Struct, array_like=True, forbid_unknown_fields=True):
    generation: int
    event: str
    span_ids: tuple[str, ...]
    count: int


class Swap(Struct, array_like=True, forbid_unknown_fields=True):
    """A replacement as accepted: the new span and what it stands for."""

    span_id: str
    covers: tuple[str, ...]
    cost: int
    priority: int | None
    in_place: bool


class Pending(Struct, array_like=True, forbid_unknown_fields=True):
    """An acceptance that waits for the runtime's confirmation (policy ``commit: on_confirm``)."""

    plan_id: str
    partition: int
    offset: int
    scorer: str
    evicted: tuple[str, ...]
    swaps: tuple[Swap, ...]
    deferred: int = 0


class Head(Struct, array_like=True, forbid_unknown_fields=True):
    """The scalars of a window."""

    window_id: str
    last_offset: int = -1
    seen: bool = False
    closed: bool = False
    generation: int = 0
    running: int = 0
    budget: int | None = None
    highest_turn: int = 0
    sequence: int | None = None
    gap: bool = False
    streak: int = 0
    proposals: int = 0
    decided: int = 0
    changed: int = 0
    remembered: int = 0
    policy: dict[str, Any] | None = None
    pending: Pending | None = None
    method: str | None = None
    mixed: bool = False
    audited: int = 0
    audit_hash: str = ""


class Tracked(dict[str, Value], Generic[Value]):
    """A dict that knows which keys changed since :meth:`settle`. Values are replaced, or marked with :meth:`touch`."""

    __slots__ = ("dirty",)

    def __init__(self) -> None:
        super().__init__()
        self.dirty: set[str] = set()

    def __setitem__(self, key: str, value: Value) -> None:
        self.dirty.add(key)
        super().__setitem__(key, value)

    def __delitem__(self, key: str) -> None:
        self.dirty.add(key)
        super().__delitem__(key)

    def touch(self, key: str) -> None:
        self.dirty.add(key)
