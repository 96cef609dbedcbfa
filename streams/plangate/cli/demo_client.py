"""The demo's client: sends events, follows all output topics, keeps what it saw in a file."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from types import TracebackType
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from ..wire.topics import INPUT, TOPICS

PATIENCE_SECONDS = 60.0


class Client:
    """One producer and one reader of every output topic. ``live`` holds the spans each window was sent."""

    def __init__(self, broker: str, records: Path) -> None:
        self._producer = AIOKafkaProducer(bootstrap_servers=broker)
        topics = [name for name in TOPICS if name != INPUT]
        self._consumer = AIOKafkaConsumer(*topics, bootstrap_servers=broker, auto_offset_reset="earliest")
        self._records = records.open("wb")
        self._status: dict[str, dict[str, Any]] = {}
        self._decisions: dict[tuple[str, str], dict[str, Any]] = {}
        self._sent: dict[str, int] = {}
        self._news = asyncio.Condition()
        self.live: dict[str, dict[str, dict[str, Any]]] = {}
        self.decided = 0

    async def __aenter__(self) -> Client:
        await self._producer.start()
        await self._consumer.start()
        self._reader = asyncio.create_task(self._read())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.sleep(0.5)
        self._reader.cancel()
        await self._consumer.stop()
        await self._producer.stop()
        self._records.close()

    async def _read(self) -> None:
        async for record in self._consumer:
            value = json.loads(record.value)
            key = record.key.decode()
            # The value's own bytes, as `replay` prints them: hashes are over these.
            head = json.dumps({"topic": record.topic, "key": key}).encode()
            self._records.write(head[:-1] + b', "value": ' + record.value + b"}\n")
            async with self._news:
                if record.topic == "window-status":
                    self._status[key] = value
                elif record.topic == "plan-decisions":
                    self._decisions[key, value["plan_id"]] = value
                    self.decided += 1
                self._news.notify_all()

    async def send(self, event: dict[str, Any]) -> None:
        window = event["window_id"]
        done = await self._producer.send_and_wait(INPUT, json.dumps(event).encode(), key=window.encode())
        self._sent[window] = done.offset
        spans = self.live.setdefault(window, {})
        for span in event.get("spans", ()):
            spans[span["span_id"]] = span

    async def settled(self, window: str) -> dict[str, Any]:
        """The window's status once the gate has applied everything that was sent to it."""
        return await self._wait(lambda: self._status if self._caught_up(window) else {}, window)

    def _caught_up(self, window: str) -> bool:
        status = self._status.get(window)
        return status is not None and status["source"]["offset"] >= self._sent[window]

    async def propose(
        self,
        window: str,
        plan_id: str,
        generation: int,
        entries: list[dict[str, Any]],
        replacements: list[dict[str, Any]] | None = None,
    ) -> dict[str, Any]:
        """Send a plan and wait for its decision."""
        head = {"type": "plan_proposed", "window_id": window, "plan_id": plan_id, "window_generation": generation}
        await self.send(head | {"entries": entries, "replacements": replacements or [], "proposer": "demo"})
        return await self._wait(lambda: self._decisions, (window, plan_id))

    async def _wait(self, found: Any, key: Any) -> dict[str, Any]:
        async with asyncio.timeout(PATIENCE_SECONDS), self._news:
            await self._news.wait_for(lambda: key in found() or self._reader.done())
        if self._reader.done():
            self._reader.result()
        return found()[key]
