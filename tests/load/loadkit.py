"""A gate in memory for the generator: the engine itself, with decisions that are read some records later."""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from plangate.core.policy import Policy
from plangate.core.window import Window
from plangate.load.decision import read_decision
from plangate.load.fleet import Fleet, Options, Outgoing, Proposal
from plangate.load.ledger import Ledger
from plangate.load.scripts import Script, read_scripts
from plangate.wire.engine import Engine, Record

TRANSCRIPTS = Path(__file__).parents[1] / "data" / "transcripts"
SMALL = (
    TRANSCRIPTS / "claude-code" / "cc-orphan-result.jsonl.gz",
    TRANSCRIPTS / "claude-code" / "cc-small-error.jsonl",
    TRANSCRIPTS / "openai-chat" / "litellm-log-claude-sonnet-4.json",
    TRANSCRIPTS / "openhands-v0" / "oh-v0-297-events-condensation.json.gz",
)


def small_scripts() -> list[list[Script]]:
    return read_scripts(SMALL)


class Gate:
    """Decides at once; `outputs` keeps all decisions as bytes."""

    def __init__(self, policy: Policy | None = None) -> None:
        self.engine, self.windows, self.offset = Engine(policy), dict[str, Window](), 0
        self.dead_letters = 0

    def take(self, window_id: str, value: bytes) -> list[bytes]:
        """Decisions on one record."""
        record = Record("window-events", 0, self.offset, window_id.encode(), value, [])
        self.offset += 1
        outs = self.engine.process(self.windows, record)
        self.dead_letters += sum(out.topic == "dead-letters" for out in outs)
        return [out.value for out in outs if out.topic == "plan-decisions"]


class Play:
    """A fleet before a gate, without clocks: one record a step, decisions read `delay` steps later."""

    def __init__(self, delay: int = 10, rate: float = 200.0, policy: Policy | None = None, **options: Any) -> None:
        self.fleet = Fleet(small_scripts(), Options(run="t", **options))
        self.gate, self.ledger, self.now = Gate(policy), Ledger(), 0.0
        self.sent: list[Outgoing] = []
        self.decided: list[tuple[Proposal, dict[str, Any]]] = []
        self._delay, self._rate = delay, rate
        self._on_way: deque[tuple[int, bytes]] = deque()
        self._step = 0

    def run(self, steps: int) -> "Play":
        for _ in range(steps):
            self.now += 1 / self._rate
            self._step += 1
            if outgoing := self.fleet.next(self.now):
                self._send(outgoing)
            self._read(self._step)
        return self

    def settle(self) -> "Play":
        """Read all that is on the way; nothing more is sent."""
        self._read(self._step + self._delay)
        return self

    def _send(self, outgoing: Outgoing) -> None:
        self.sent.append(outgoing)
        if outgoing.proposal:
            self.ledger.sent(outgoing.proposal, self.now).acknowledged += 1
        for value in self.gate.take(outgoing.window_id, outgoing.value):
            self._on_way.append((self._step + self._delay, value))

    def _read(self, until: int) -> None:
        while self._on_way and self._on_way[0][0] <= until:
            value = self._on_way.popleft()[1]
            decision = read_decision(value)
            if first := self.ledger.answered(decision, value, self.now):
                self.decided.append((first[0], json.loads(value)))
                self.fleet.decided(first[0], decision, self.now)


class MemoryBus:
    """What `Run` needs of a bus, before a gate; `spoil` may change, drop or repeat the decisions of one record."""

    def __init__(self, spoil: Callable[[list[bytes]], list[bytes]] = lambda values: values) -> None:
        self.gate = Gate()
        self.values: list[bytes] = []
        self._spoil = spoil
        self._decisions: asyncio.Queue[bytes] = asyncio.Queue()

    async def send(self, window_id: str, value: bytes, done: Callable[[bool], None]) -> None:
        self.values.append(value)
        done(True)
        for decision in self._spoil(self.gate.take(window_id, value)):
            self._decisions.put_nowait(decision)

    async def flush(self) -> None:
        pass

    async def lag(self) -> int:
        return self._decisions.qsize()

    async def decisions(self) -> AsyncIterator[bytes]:
        while True:
            yield await self._decisions.get()
