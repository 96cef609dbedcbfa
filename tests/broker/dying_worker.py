"""A worker that ends where told.

`STEP N`: killed at the N-th time it comes to that step. `STEP signal`: at the first time after SIGUSR1.
`STEP pause`: the same, but it stops itself there with SIGSTOP, once. `STEP WHEN DEFECT`: with a defect of
`broken_worker`. `defect TEXT`: can't decide anything.

Steps are those of `plangate.shell.publish.Probe`, and `outputs_torn`, `changes_torn`: the first half of a batch's
outputs or changelog records is with the broker, the rest is not; patches are cut into small chunks for that.
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable, Iterable
from functools import partial
from itertools import count

from broken_worker import break_worker

from plangate.shell import process, publish, store
from plangate.shell.logs import configure_logs
from plangate.shell.sender import Message, Sender, Sent
from plangate.shell.settings import Settings, load_settings
from plangate.wire.engine import Engine

TORN = ("outputs_torn", "changes_torn")


class Defective(Engine):
    def process(self, *args: object) -> list:
        raise ValueError(f"{sys.argv[2]} {args!r}")


def defective(settings: Settings) -> Engine:
    return Defective()


def end(step: str, by: signal.Signals) -> None:
    line = json.dumps({"event": "killed_at", "step": step})
    os.write(2, f"{line}\n".encode())
    os.kill(os.getpid(), by)


class TearingSender(Sender):
    """`now`: whether this is the time to die."""

    step = ""
    now: Callable[[], bool]

    async def send(self, messages: Iterable[Message]) -> list[Sent]:
        every = list(messages)
        # Only changelog records come with a partition.
        kind = "changes_torn" if every and every[0].partition is not None else "outputs_torn"
        if kind == self.step and len(every) > 1 and TearingSender.now():
            await asyncio.gather(*await super().send(every[: len(every) // 2]))
            end(kind, signal.SIGKILL)
        return await super().send(every)


def main(wanted: str, when: str, defect: str = "") -> None:
    settings = load_settings(os.environ)
    configure_logs(settings.log_level, settings.log_format)
    if wanted == "defect":
        process.load_engine = defective
        process.run(settings)
    if defect:
        break_worker(defect)
    number, told = count(1), []
    signal.signal(signal.SIGUSR1, lambda *_: told.append(True))

    def now() -> bool:
        return bool(told) if when in ("signal", "pause") else next(number) == int(when)

    def probe(step: str) -> None:
        if step == wanted and now():
            told.clear()
            end(step, signal.SIGSTOP if when == "pause" else signal.SIGKILL)

    if wanted in TORN:
        TearingSender.step, TearingSender.now = wanted, staticmethod(now)
        publish.Sender = TearingSender
        store.ChangelogWriter = partial(store.ChangelogWriter, chunk_bytes=100)
    process.run(settings, probe)


if __name__ == "__main__":
    main(*sys.argv[1:])
