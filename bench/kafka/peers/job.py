"""What all peers share: where they run, and the product's own engine, so that their outputs can be compared."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable

from plangate.core.window import Window
from plangate.wire.engine import Engine, Out, Record
from plangate.wire.topics import INPUT, TOPICS

BROKER, PREFIX = os.environ["BENCH_BROKER"], os.environ["BENCH_PREFIX"]
PARTITIONS = int(os.environ.get("BENCH_PARTITIONS", "4"))
SOURCE = PREFIX + INPUT
OUTPUTS = {name: PREFIX + name for name in TOPICS if name != INPUT}

logging.basicConfig(level=logging.WARNING)


class Gate:
    """The engine and its live windows, kept in memory by partition."""

    def __init__(self) -> None:
        self.engine = Engine()
        self.windows: dict[int, dict[str, Window]] = {}

    def process(
        self, partition: int, offset: int, key: bytes, value: bytes, headers: Iterable[tuple[str, bytes]] = ()
    ) -> list[Out]:
        windows = self.windows.setdefault(partition, {})
        return self.engine.process(windows, Record(INPUT, partition, offset, key, value, list(headers)))

    def window(self, partition: int, key: bytes) -> Window:
        return self.windows[partition][key.decode()]
