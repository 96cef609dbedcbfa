"""The worker as a process: set up, run until told to stop, and end with a status that says why.

| status | why |
| --- | --- |
| 0 | told to stop (SIGTERM, SIGINT); the batches in flight are committed |
| 69 | the broker can't be reached at the start, and it may pass |
| 70 | an error of our own, or of the broker later. Memory is ahead of Kafka then; a fresh process recovers |
| 78 | settings, files, topics, the changelog, certificates, the password or our rights are not as they must be |

Every end has its reason in the log.
"""

import asyncio
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from aiokafka import TopicPartition
from aiokafka.errors import KafkaConnectionError, KafkaError, KafkaTimeoutError, ProducerFenced

from plangate.core.policy import PolicyError
from plangate.shell import clients
from plangate.shell.changelog import ChangelogError
from plangate.shell.changelog_reader import assemble_with
from plangate.shell.health import HealthServer
from plangate.shell.logs import end_process, log_loop_error, logger
from plangate.shell.metrics import Metrics
from plangate.shell.publish import (
    AcknowledgedPublisher,
    Names,
    Probe,
    Publisher,
    TransactionalPublisher,
    TransactionsError,
)
from plangate.shell.reach import denied, why_unreachable
from plangate.shell.settings import Settings
from plangate.shell.store import Recovery, WindowStore
from plangate.shell.task import Deps, InputError, PartitionTask
from plangate.shell.tasks import PartitionTasks
from plangate.shell.topics import TopicError, ensure_topics
from plangate.shell.worker.app import GateApp
from plangate.wire.engine import DEFAULT_REDACTION_KEY, Engine
from plangate.wire.keyring import KeyringError, load_keyring
from plangate.wire.policy import load_policy
from plangate.wire.state import StateError
from plangate.wire.topics import INPUT

STOPPED, UNREACHABLE, FAILED, MISCONFIGURED = 0, 69, 70, 78
LAG_SECONDS = 5.0
LEAVE_SECONDS = 10.0
# Their texts are our own and name no input.
_SPEAKING = (ChangelogError, InputError, KeyringError, PolicyError, StateError, TopicError, TransactionsError)


def load_engine(settings: Settings) -> Engine:
    """The gate under the settings' policy and keys. Raises OSError, PolicyError or KeyringError."""
    policy = load_policy(Path(settings.policy_file).read_bytes()) if settings.policy_file else None
    keyring = load_keyring(settings.keyring_file) if settings.keyring_file else None
    if policy is not None and policy.id_redaction == "hmac" and not settings.redaction_key:
        logger.warning("redaction_without_key")
    return Engine(policy, keyring, settings.redaction_key.encode() or DEFAULT_REDACTION_KEY)


def run(settings: Settings, probe: Probe = lambda step: None) -> NoReturn:
    """Run the worker; the process ends with it. Logs must be configured."""
    try:
        asyncio.run(Worker(settings, probe).run())
    except BaseException as error:
        end_process(FAILED, "an error of our own", error)
    raise AssertionError("the worker ends the process")


class Worker:
    """One worker. `probe` is told of each step (see `Probe`): chaos tests end the process there."""

    def __init__(self, settings: Settings, probe: Probe = lambda step: None) -> None:
        self._settings = settings
        self._probe = probe
        self._metrics = Metrics()
        self._engine: Engine
        self._app: GateApp

    async def run(self) -> NoReturn:
        """Never returns; see the module for the statuses."""
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(log_loop_error)
        told: asyncio.Future[str] = loop.create_future()

        def tell(number: signal.Signals) -> None:
            if not told.done():
                told.set_result(number.name)

        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, tell, number)
        prepared = asyncio.create_task(self._prepare())
        await asyncio.wait([told, prepared], return_when=asyncio.FIRST_COMPLETED)
        if told.done():
            self._end(STOPPED, "signal", signal=told.result())
        prepared.result()
        settings = self._settings
        tasks = PartitionTasks(self._make_task, self._fail, self._metrics)
        self._app = GateApp(settings, tasks)
        health = HealthServer(tasks, self._metrics, settings.stall_seconds)
        if settings.web_port:
            try:
                await health.start(settings.web_bind, settings.web_port)
            except OSError as error:
                self._end(MISCONFIGURED, "the address for health answers can't be used", error)
        watches = [asyncio.create_task(watch(tasks)) for watch in (self._watch_log, self._watch_progress)]
        ended = asyncio.create_task(self._run_app())
        await asyncio.wait([told, ended, *watches], return_when=asyncio.FIRST_COMPLETED)
        if not told.done():
            for watch in watches:
                if watch.done():
                    self._fail("an error of our own", watch.exception())
            self._fail("the Kafka consumer ended by itself", ended.exception() or self._app.crash_reason)
        stalled = tasks.stalled(settings.stall_seconds)
        logger.info("stopping", reason="signal", signal=told.result(), stalled=stalled)
        for watch in watches:
            watch.cancel()
        await tasks.close(settings.rebalance_timeout_seconds)
        with suppress(Exception):  # all is committed; if leaving fails the group notices by itself
            await asyncio.wait_for(self._app.stop(), LEAVE_SECONDS)
        with suppress(Exception):
            await asyncio.wait_for(health.stop(), 1.0)
        self._end(STOPPED, "signal", signal=told.result(), stalled=stalled)

    async def _prepare(self) -> None:
        try:
            self._engine = load_engine(self._settings)
            admin = clients.admin_client(self._settings)
            await admin.start()
            try:
                record_bytes = self._engine.policy.limits.record_bytes
                partitions = await ensure_topics(self._settings, admin, record_bytes)
            finally:
                await admin.close()
        except KafkaConnectionError as error:
            fault = await why_unreachable(self._settings)
            status = MISCONFIGURED if fault.lasting else UNREACHABLE
            self._end(status, "the broker can't be reached", error, detail=fault.text)
        except (*_SPEAKING, OSError) as error:
            self._end(MISCONFIGURED, "the worker can't start", error)
        except KafkaError as error:
            self._fail("the broker refused to show or to create topics", error)
        logger.info("topics_checked", partitions=partitions, guarantee=self._settings.guarantee)

    async def _run_app(self) -> None:
        await self._app.start()
        await self._app.wait_until_stopped()

    def _make_task(self, partition: int, known: WindowStore | None) -> tuple[PartitionTask, Publisher]:
        settings = self._settings
        names = Names(
            settings.topic(INPUT), settings.changelog_topic, settings.group_id, settings.topic_prefix, partition
        )
        publisher: Publisher
        if settings.guarantee == "transactions":
            producer = clients.transactional_producer(settings, partition)
            publisher = TransactionalPublisher(producer, names, self._probe)
        else:
            producer = clients.plain_producer(settings)
            publisher = AcknowledgedPublisher(producer, names, self._app.consumer.commit_offset, self._probe)
        recovery = Recovery(
            clients.recovery_consumer(settings),
            TopicPartition(names.changelog, partition),
            TopicPartition(names.source, partition),
            assemble_with(self._engine.policy),
        )
        deps = Deps(self._engine, self._app.consumer, self._metrics, INPUT, settings.batch_size, self._probe)
        return PartitionTask(partition, deps, publisher, recovery, known), publisher

    async def _watch_log(self, tasks: PartitionTasks) -> None:
        """Measure what waits in the log. Where nothing does, that counts as progress; if this hangs, nothing counts."""
        while True:
            # Well below the time after which one without progress is taken for stuck.
            await asyncio.sleep(min(LAG_SECONDS, self._settings.stall_seconds / 5))
            ready = [task for task in tasks.tasks if task.ready]
            if not ready:
                await self._app.consumer.check()
                continue
            try:
                asked = self._app.consumer.waiting([task.partition for task in ready])
                waiting = await asyncio.wait_for(asked, self._settings.stall_seconds)
            except (KafkaError, TimeoutError):  # no answer: nothing counts as progress
                continue
            for task in ready:
                if task.idle and waiting.get(task.partition) == 0:
                    task.touch()
            behind = sum(waiting.values()) + sum(task.backlog for task in ready)
            self._metrics.behind.set(behind)

    async def _watch_progress(self, tasks: PartitionTasks) -> None:
        """Say once in the log why `/live` fails: what comes next is a signal, which has no reason of its own."""
        told = False
        while True:
            await asyncio.sleep(1.0)
            stalled = tasks.stalled(self._settings.stall_seconds)
            if stalled and not told:
                logger.error("stalled", partitions=tasks.stuck(self._settings.stall_seconds))
            elif told and not stalled:
                logger.info("going_on")
            told = stalled

    def _fail(self, reason: str, error: BaseException | None = None) -> NoReturn:
        if isinstance(error, ProducerFenced):
            reason = "another worker has taken over a partition"
        elif isinstance(error, KafkaConnectionError | KafkaTimeoutError):
            reason = "the broker can't be reached any more"
        if error is not None and (right := denied(error)) is not None:
            self._end(MISCONFIGURED, "the broker denies the worker a right", error, detail=right)
        self._end(MISCONFIGURED if isinstance(error, _SPEAKING) else FAILED, reason, error)

    def _end(self, status: int, reason: str, error: BaseException | None = None, **fields: Any) -> NoReturn:
        if isinstance(error, _SPEAKING):
            fields["detail"] = str(error)
        end_process(status, reason, error, **fields)
