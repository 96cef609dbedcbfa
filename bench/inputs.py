"""Events for the benches: the same from the same numbers, with ids of 24 characters."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

from plangate.core.window import Window
from plangate.wire.engine import Engine, Out, Record
from plangate.wire.state import apply_patch, take_patch
from plangate.wire.topics import INPUT

Json = dict[str, Any]
LETTERS = "abcdefghijklmnopqrstuvwxyz    "


def span_id(number: int) -> str:
    """24 characters that share no long prefix, as ids of real agents."""
    return f"{Random(number).getrandbits(52):013x}-{number:010d}"


def spans(count: int, dice: Random, first: int = 0, edges: bool = True) -> list[Json]:
    """Spans with 1.5 edges each: every one depends on an earlier one, every second is paired with an earlier one."""
    made: list[Json] = []
    for number in range(first, first + count):
        span: Json = {"span_id": span_id(number), "kind": "tool_result", "cost_units": dice.randint(300, 3000)}
        if edges and number:
            span["depends_on"] = [span_id(number - 1 - dice.randrange(min(number, 20)))]
            if number % 2:
                span["pairs_with"] = [span_id(number - 1)]
        made.append(span)
    return made


def append(window_id: str, items: list[Json], **fields: Any) -> bytes:
    return event("span_appended", window_id, spans=items, **fields)


def event(kind: str, window_id: str, **fields: Any) -> bytes:
    return json.dumps({"type": kind, "window_id": window_id, **fields}).encode()


def text(dice: Random, length: int) -> str:
    return "".join(dice.choices(LETTERS, k=length))


def record(window_id: str, offset: int, value: bytes) -> Record:
    return Record(INPUT, 0, offset, window_id.encode(), value)


def filled(window_id: str, count: int, dice: Random, *, edges: bool = True) -> dict[str, Window]:
    """One window of ``count`` live spans, appended a thousand at a time."""
    engine, windows = Engine(), dict[str, Window]()
    for offset, first in enumerate(range(0, count, 1000)):
        items = spans(min(1000, count - first), dice, first, edges)
        engine.process(windows, record(window_id, offset, append(window_id, items)))
    assert len(windows[window_id].spans) == count
    return windows


class Copies:
    """Fresh copies of a window, for repeats that change it."""

    def __init__(self, window: Window) -> None:
        self.window_id = window.head.window_id
        self._patch = take_patch(window, full=True)

    def take(self) -> dict[str, Window]:
        return {self.window_id: apply_patch(None, self._patch)}


def of_type(outs: list[Out], topic: str) -> Iterator[Json]:
    return (json.loads(out.value) for out in outs if out.topic == topic)
