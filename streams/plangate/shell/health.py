"""`/live`, `/ready` and `/metrics` over HTTP. Answers hold words and numbers, never ids or content."""

from collections.abc import Callable

from aiohttp import web

from plangate.shell.metrics import Metrics
from plangate.shell.tasks import PartitionTasks


class HealthServer:
    """Live: where something was waiting, something got on lately. Ready: all partitions of ours are recovered."""

    def __init__(self, tasks: PartitionTasks, metrics: Metrics, stall_seconds: float) -> None:
        self._tasks = tasks
        self._metrics = metrics
        self._stall_seconds = stall_seconds
        application = web.Application()
        application.router.add_get("/live", self._answer(lambda: not tasks.stalled(stall_seconds)))
        application.router.add_get("/ready", self._answer(lambda: tasks.ready))
        application.router.add_get("/metrics", self._show_metrics)
        self._runner = web.AppRunner(application, access_log=None)

    async def start(self, host: str, port: int) -> None:
        """Raises OSError if the address is taken."""
        await self._runner.setup()
        await web.TCPSite(self._runner, host, port).start()

    async def stop(self) -> None:
        await self._runner.cleanup()

    def _answer(self, good: Callable[[], bool]) -> Callable[[web.Request], object]:
        async def handler(request: web.Request) -> web.Response:
            fine = good()
            ready = sum(task.ready for task in self._tasks.tasks)
            body = {"ok": fine, "partitions": len(self._tasks.tasks), "partitions_ready": ready}
            return web.json_response(body, status=200 if fine else 503)

        return handler

    async def _show_metrics(self, request: web.Request) -> web.Response:
        self._tasks.measure(self._stall_seconds)
        return web.Response(
            body=self._metrics.text(), headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"}
        )
