"""``plangate replay``: the gate over a file (contract section 9)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from ..core.policy import Policy
from ..core.step import Signature
from ..core.window import Window
from .decode import Rejected, decode
from .encode import Out
from .engine import DEFAULT_REDACTION_KEY, Engine, Record
from .topics import INPUT


class _Typed(msgspec.Struct):
    type: msgspec.Raw = msgspec.Raw(b"")


class _Wrapper(msgspec.Struct):
    value: msgspec.Raw = msgspec.Raw(b"")
    source: msgspec.Raw = msgspec.Raw(b"")


class _Line(msgspec.Struct):
    topic: str
    key: str
    value: msgspec.Raw


def replay(
    lines: Iterable[bytes], policy: Policy | None = None, redaction_key: bytes = DEFAULT_REDACTION_KEY
) -> Iterator[Out]:
    """Every output of every line, as partition 0 with the line number from 0 as offset."""
    engine, windows = Engine(policy, redaction_key=redaction_key), {}
    for offset, line in enumerate(lines):
        if line.strip():
            yield from _line(engine, windows, line.rstrip(b"\r\n"), offset)


def _line(engine: Engine, windows: dict[str, Window], line: bytes, offset: int) -> list[Out]:
    value, source = _unwrapped(line)
    if value is None:
        return []
    record = Record(INPUT, 0, offset, None, value)
    decoded = decode(value, engine.policy.limits.record_bytes)
    if isinstance(decoded, Rejected):
        return [engine.dead_letter(record, decoded.reason, decoded.path)]
    return engine.apply(windows, record, decoded, Signature(source, source or "", vouched=source is not None))


def _unwrapped(line: bytes) -> tuple[bytes | None, str | None]:
    """The event's bytes, and who the file says vouches for it; a line with a type at its top is the event itself.

    A wrapper's null stands for a record without a value, which is nothing (contract section 1); a line ``null`` stands
    for one whose value is those four bytes, which is no event.
    """
    try:
        if bytes(msgspec.json.decode(line, type=_Typed).type):
            return line, None
        wrapper = msgspec.json.decode(line, type=_Wrapper)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return line, None
    if not bytes(wrapper.value):
        return line, None
    try:
        source = msgspec.json.decode(bytes(wrapper.source), type=str) if bytes(wrapper.source) else None
    except (msgspec.MsgspecError, UnicodeError):
        source = None
    return None if bytes(wrapper.value) == b"null" else bytes(wrapper.value), source


def replay_lines(
    lines: Iterable[bytes | str], policy: Policy | None = None, redaction_key: bytes = DEFAULT_REDACTION_KEY
) -> Iterator[bytes]:
    """Output lines {"topic", "key", "value"} as JSON bytes; ``value`` holds the published bytes as they are."""
    as_bytes = (line.encode("utf-8", "surrogatepass") if isinstance(line, str) else line for line in lines)
    for out in replay(as_bytes, policy, redaction_key):
        yield msgspec.json.encode(_Line(out.topic, out.key.decode(), msgspec.Raw(out.value)))
