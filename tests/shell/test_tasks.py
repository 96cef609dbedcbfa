"""Partitions that come and go, and what the health answers say meanwhile."""

import asyncio
import json
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from aiokafka import TopicPartition
from shell_fakes import SOURCE, Bus, Worker, until
from shell_story import expected, story

from plangate.shell import tasks as tasks_module
from plangate.shell.embedded import free_port
from plangate.shell.health import HealthServer
from plangate.shell.metrics import Metrics
from plangate.shell.store import WindowStore
from plangate.shell.tasks import PartitionTasks
from plangate.wire.engine import Engine

INPUT = TopicPartition(SOURCE, 0)


class Rig:
    """`PartitionTasks` over fakes."""

    def __init__(self, bus: Bus, **more: Any) -> None:
        self.bus = bus
        self.more = more
        self.workers: list[Worker] = []
        self.failures: list[tuple[str, BaseException | None]] = []
        self.metrics = Metrics()
        self.tasks = PartitionTasks(
            self.make, lambda reason, error: self.failures.append((reason, error)), self.metrics
        )

    def make(self, partition: int, known: WindowStore | None) -> tuple[Any, Any]:
        worker = Worker(self.bus, known=known, metrics=self.metrics, partition=partition, **self.more)
        self.workers.append(worker)
        return worker.task, worker.publisher

    def pump(self) -> None:
        for partition in self.tasks.wanted():
            if fetch := self.workers[-1].source.fetch(partition, 4):
                self.tasks.feed(fetch)

    async def decide_all(self) -> None:
        def done() -> bool:
            self.pump()
            return self.bus.offsets.get(INPUT, 0) >= len(self.bus.logs[INPUT])

        await until(done)


def test_partitions_come_and_go() -> None:
    async def scenario(rig: Rig) -> None:
        assert not rig.tasks.ready
        rig.tasks.assign({0})
        assert not rig.tasks.ready, "not recovered yet"
        await until(lambda: rig.tasks.ready)
        rig.pump()
        await rig.tasks.revoke(5)
        assert not rig.tasks.ready and rig.tasks.wanted() == []
        rig.tasks.assign({0})
        await until(lambda: rig.tasks.ready)
        assert rig.workers[1].task.store is rig.workers[0].task.store, "nobody wrote meanwhile"
        await rig.decide_all()
        await rig.tasks.revoke(5)
        rig.tasks.assign(set())
        assert rig.tasks.ready, "others have all partitions"
        await rig.tasks.revoke(5)
        rig.tasks.assign({0})
        await until(lambda: rig.tasks.ready)
        assert rig.workers[2].task.store is not rig.workers[0].task.store, "windows of lost partitions are dropped"
        await rig.tasks.close(5)
        rig.tasks.assign({0})
        assert rig.tasks.tasks == [], "closed for good"

    bus = Bus()
    story(bus)
    rig = Rig(bus)
    asyncio.run(scenario(rig))
    assert rig.failures == []
    assert bus.outputs() == expected(bus)
    assert rig.metrics.registry.get_sample_value("plangate_rebalances_total") == 4


def test_a_task_that_dies_is_told() -> None:
    class Broken(Engine):
        def process(self, *args: object) -> list:
            raise ZeroDivisionError

    async def scenario(rig: Rig) -> None:
        rig.tasks.assign({0})
        await until(lambda: rig.tasks.ready)
        rig.pump()
        await until(lambda: bool(rig.failures))

    bus = Bus()
    story(bus)
    rig = Rig(bus, engine=Broken())
    asyncio.run(scenario(rig))
    [(reason, error)] = rig.failures
    assert reason == "a partition can't go on"
    assert isinstance(error, ZeroDivisionError)


def test_a_batch_that_does_not_end_is_told() -> None:
    async def scenario(rig: Rig) -> None:
        rig.tasks.assign({0})
        await until(lambda: rig.tasks.ready)

        async def hang(*args: object) -> None:
            await asyncio.sleep(60)

        rig.workers[0].publisher.publish = hang  # type: ignore[method-assign,assignment]
        rig.pump()
        await until(lambda: not rig.tasks.tasks[0].idle)
        await asyncio.sleep(0)
        await rig.tasks.revoke(0.05)

    bus = Bus()
    story(bus)
    rig = Rig(bus)
    asyncio.run(scenario(rig))
    assert rig.failures[0][0] == "a batch did not end in time for the rebalance"


def test_health_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    for module in (tasks_module, tasks_module.PartitionTask.__module__):
        monkeypatch.setattr(f"{module if isinstance(module, str) else module.__name__}.monotonic", lambda: now[0])
    bus = Bus()
    story(bus)

    async def scenario(rig: Rig) -> None:
        health = HealthServer(rig.tasks, rig.metrics, stall_seconds=60)
        port = free_port()
        await health.start("127.0.0.1", port)

        async def ask(page: str) -> tuple[int, str]:
            return await asyncio.to_thread(_ask, port, page)

        assert (await ask("ready"))[0] == 503
        assert (await ask("live"))[0] == 200
        now[0] += 61
        assert (await ask("live"))[0] == 503, "no partitions for a minute"
        rig.tasks.assign({0})
        await until(lambda: rig.tasks.ready)
        status, body = await ask("ready")
        assert (status, json.loads(body)) == (200, {"ok": True, "partitions": 1, "partitions_ready": 1})
        rig.pump()
        assert (await ask("live"))[0] == 200
        await rig.decide_all()
        await until(lambda: rig.tasks.tasks[0].idle)
        now[0] += 61
        assert (await ask("live"))[0] == 503, "nothing says that nothing waits"
        rig.tasks.tasks[0].touch()
        assert (await ask("live"))[0] == 200
        await rig.tasks.revoke(5)
        assert (await ask("ready"))[0] == 503
        status, page = await ask("metrics")
        assert status == 200
        assert "plangate_events_total 30.0" in page
        await health.stop()

    asyncio.run(scenario(Rig(bus)))


def _ask(port: int, page: str) -> tuple[int, str]:
    try:
        with urlopen(f"http://127.0.0.1:{port}/{page}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()
