"""Memory: bytes that one live span adds to a process, everything included: indexes, memories, allocator's waste.

``recovered``: the windows were read back from their changelog state, as after a restart.
"""

from __future__ import annotations

import subprocess
import sys

from .measure import Spread
from .report import Row

GOAL = 400
#: windows and spans of each: the same number of spans in windows of several sizes
SHAPES = ((100, 1_000), (1_000, 100), (1, 100_000))
PROGRAM = """
import gc, os, sys
from random import Random
from bench.inputs import append, record, spans
from plangate.core.window import Window
from plangate.wire.engine import Engine
from plangate.wire.state import apply_patch, take_patch

def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

count, size, recovered = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "recovered"
engine, windows, dice = Engine(), {}, Random(6)
engine.process({}, record("w", 0, append("w", spans(64, dice))))
before = resident()
for number in range(count):
    window_id = f"window-{number:06d}"
    for offset, first in enumerate(range(0, size, 32)):
        items = spans(min(32, size - first), dice, number * size + first)
        engine.process(windows, record(window_id, offset, append(window_id, items)))
        patch = take_patch(windows[window_id], full=first + 32 >= size)
    if recovered:
        windows[window_id] = apply_patch(None, patch)
        del patch
print((resident() - before) / (count * size))
"""


def bytes_per_span(windows: int, spans: int, how: str) -> float:
    """In a process of its own, by what the operating system says it holds."""
    command = [sys.executable, "-c", PROGRAM, str(windows), str(spans), how]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def run(tiny: bool) -> list[Row]:
    rows = []
    for windows, size in SHAPES[:1] if tiny else SHAPES:
        if tiny:
            windows, size = 2, 500
        for how in ("live", "recovered"):
            found = Spread.of([bytes_per_span(windows, size, how) for _ in range(1 if tiny else 2)])
            what = f"bytes per live span, {windows:,} windows of {size:,} ({how})"
            goal = GOAL if (windows, size) == SHAPES[0] else None
            beside = f"{found.middle * windows * size / 2**20:.0f} MiB in all; ids of 24 characters, 1.5 edges each"
            rows.append(Row("memory", what, found, beside, goal))
    return rows
