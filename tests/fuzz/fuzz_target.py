"""What a fuzz input is put through, and what counts as a finding: any exception that leaves :func:`check`.

An input is a file for replay: up to eight lines, each an event or a wrapper that vouches for one, or any bytes at all.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from zlib import crc32

import msgspec
from fuzz_mutator import LINES, MARK

from plangate.core.policy import Limits, Policy
from plangate.core.step import Signature
from plangate.core.window import Window
from plangate.wire import replay as lines_reader
from plangate.wire.decode import Rejected, decode
from plangate.wire.engine import Engine, Out, Record
from plangate.wire.state import apply_patch, take_patch
from plangate.wire.topics import INPUT, ROUTES

#: the smallest records that a policy allows, so that answers meet the limit
POLICY = Policy(limits=Limits(record_bytes=65_536))
OPENED = (
    b'{"type":"span_appended","window_id":"w","spans":[{"span_id":"\xc3\xa4-1","cost_units":9},'
    b'{"span_id":"b-2","cost_units":7,"depends_on":["\xc3\xa4-1"]},{"span_id":"c-3","cost_units":5}]}'
)


class Finding(AssertionError):
    """Something that must never happen. The text names the rule, not the input."""


def check(data: bytes) -> None:
    lines = [OPENED, *data.split(b"\n")[:LINES]]
    outs = list(_outputs(lines, recover=False))
    again = crc32(data) % 4  # now and then, for it doubles the work; the rule must not hide from repetition
    if again < 2 and outs != list(_outputs(lines, recover=again == 0)):
        raise Finding("the same records gave other outputs, or did after a recovery")
    for out in outs:
        _judge(out)
    if MARK.encode() not in data or any(MARK in text for line in lines for text in _kept_texts(line)):
        return
    if any(MARK.encode() in out.value + out.key + repr(out.headers).encode() for out in outs):
        raise Finding("content came out")


def _outputs(lines: list[bytes], *, recover: bool) -> Iterator[Out]:
    """Each line as a vouched event, as replay reads it, and its bytes as the worker gets them."""
    engine, windows = Engine(POLICY), dict[str, Window]()
    for offset, line in enumerate(lines):
        value, source = lines_reader._unwrapped(line)
        record = Record(INPUT, 0, offset, b"w", line, [("traceparent", line[:55]), ("plangate-key-id", line[:9])])
        made = engine.process(windows, record)
        if value is not None and source is not None and not isinstance(event := decode(value, 65_536), Rejected):
            signature = Signature(source, source, vouched=True)
            made += engine.apply(windows, Record(INPUT, 0, offset, None, value), event, signature)
        yield from made
        if recover:
            for name, window in list(windows.items()):
                windows[name] = apply_patch(None, take_patch(window, full=True), POLICY)


def _judge(out: Out) -> None:
    if len(out.value) + len(out.key) + sum(len(n) + len(v) for n, v in out.headers) > 65_536:
        raise Finding("an output is larger than a record may be")
    document = json.loads(out.value)
    if document["type"] not in ROUTES or b"\n" in out.value:
        raise Finding("an output is no record of ours")


def _kept_texts(line: bytes) -> Iterator[str]:
    """Texts of a line that are ids once it is an event."""
    value, _ = lines_reader._unwrapped(line)
    for text in (line, value):
        event = decode(text or b"", 65_536)
        if not isinstance(event, Rejected):
            yield from _texts(msgspec.to_builtins(event))
            break


def _texts(node: Any) -> Iterator[str]:
    if isinstance(node, str):
        yield node
    elif isinstance(node, list | tuple):
        for item in node:
            yield from _texts(item)
    elif isinstance(node, dict):
        for name, item in node.items():
            if name not in ("pin_owner", "pin_reason", "reason", "reviewer"):
                yield from _texts(item)
