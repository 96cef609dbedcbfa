"""Append: what a span costs when it comes alone, and when 32 come in one event."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from plangate.core.window import Window
from plangate.wire.engine import Engine, Record
from plangate.wire.state import take_patch

from .inputs import append, record, spans
from .measure import Spread, interleaved, ratios
from .report import Row

W = "window-1"
TOGETHER = 32


def events(count: int, each: int) -> list[Record]:
    """The same spans, ``each`` in an event."""
    items = spans(count, Random(5))
    return [record(W, n, append(W, items[at : at + each])) for n, at in enumerate(range(0, count, each))]


def run(tiny: bool) -> list[Row]:
    count, repeats = (96, 2) if tiny else (3_200, 15)
    alone, together = events(count, 1), events(count, TOGETHER)
    _agree(alone, together)
    rows = []
    for words, delta, goal in (("", False, 5.0), (", with a changelog delta after each event", True, None)):
        seconds = interleaved({"one": _job(alone, delta), "many": _job(together, delta)}, repeats)
        micros = {name: Spread.of(figures).scaled(1e6 / count) for name, figures in seconds.items()}
        beside = f"{micros['one']} µs per span alone; {micros['many']} µs per span of {TOGETHER}"
        what = f"µs per span, 1 : {TOGETHER} in an event{words}"
        rows.append(Row("append", what, ratios(seconds["one"], seconds["many"]), beside, goal, at_most=False))
    return rows


def _job(records: list[Record], delta: bool) -> Callable[[], Callable[[], None]]:
    def set_up() -> Callable[[], None]:
        engine, windows = Engine(), dict[str, Window]()

        def work() -> None:
            for given in records:
                engine.process(windows, given)
                if delta:
                    take_patch(windows[W])

        return work

    return set_up


def _agree(alone: list[Record], together: list[Record]) -> None:
    """Either way the same live set."""
    engine, one, many = Engine(), dict[str, Window](), dict[str, Window]()
    for given in alone:
        engine.process(one, given)
    for given in together:
        engine.process(many, given)
    assert dict(one[W].spans) == dict(many[W].spans) and one[W].cost == many[W].cost
