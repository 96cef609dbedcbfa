"""What an importer hands back: spans grouped into turns, and the problems met on the way.

Nothing here holds content. A span has ids, a kind, a size and edges; a problem has a kind, a place and an id.
"""

import re
from typing import Literal

import msgspec

# Stricter than contract section 7 on purpose: whatever passes here passes there, with room left for suffixes.
_USABLE_ID = re.compile(r"[!-~]{1,200}")

Kind = Literal[
    "system",
    "user",
    "assistant",
    "tool_call",
    "tool_result",
    "reasoning",
    "document",
    "diff",
    "summary",
    "memory",
    "other",
]


class FormatError(ValueError):
    """The bytes can't be read as the named format at all; the message is a problem kind and never repeats input."""


class AccountingName(msgspec.Struct, frozen=True):
    """Which method counted a span's cost, and the version of what it was given (contract section 2, `accounting`)."""

    method: str
    input_version: str


class Span(msgspec.Struct, frozen=True, omit_defaults=True):
    """One addressable piece of the window, with the fields of contract section 2 and their defaults.

    Importers never set `priority`, `last_used_order` or the pin fields: a transcript has no say in them.
    """

    span_id: str
    kind: Kind
    cost_units: int
    priority: int = 0
    last_used_order: int | None = None
    depends_on: tuple[str, ...] = ()
    needs_verbatim: tuple[str, ...] = ()
    required_by: tuple[str, ...] = ()
    pairs_with: tuple[str, ...] = ()
    needs_prefix: bool = False
    open: bool = False
    closes: tuple[str, ...] = ()
    derived_from: tuple[str, ...] = ()
    pinned: bool = False
    pin_owner: str | None = None
    pin_reason: str | None = None
    accounting: AccountingName | None = None


class Turn(msgspec.Struct, frozen=True):
    """One step of a conversation: what left, what changed in place, what was appended together, in this order.

    `number` is the ordinal, from 1, of the model call that the spans are input to or output of. A turn with `removed`
    is a real eviction; `reason` says which kind, and its spans are the summary that stands in for what left.
    """

    number: int
    spans: tuple[Span, ...] = ()
    edited: tuple[Span, ...] = ()
    removed: tuple[str, ...] = ()
    reason: str | None = None


class Conversation(msgspec.Struct):
    """The turns of one agent loop; `name` is None for the main one, else an id that is unique in the transcript.

    `messages` counts the format's own messages, whatever number of spans each became.
    """

    name: str | None = None
    turns: list[Turn] = msgspec.field(default_factory=list)
    messages: int = 0


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something in the transcript that was skipped or that a reader should know; docs/importers.md lists the kinds.

    `line` counts from 1 (JSON Lines), `message` from 0 (message lists); `id` is an id of the transcript, or None.
    """

    problem: str
    conversation: str | None = None
    line: int | None = None
    message: int | None = None
    id: str | None = None


class Transcript(msgspec.Struct):
    """Everything read from one file."""

    format: str
    accounting: AccountingName
    conversations: list[Conversation] = msgspec.field(default_factory=list)
    problems: list[Problem] = msgspec.field(default_factory=list)


def usable_id(value: object) -> str | None:
    """The value if it can serve as part of a span id (contract section 7), else None."""
    return value if isinstance(value, str) and _USABLE_ID.fullmatch(value) else None
