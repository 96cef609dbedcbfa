"""Each metric moves when what it counts happens, and is documented; the alert rules name only what there is."""

import asyncio
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import promql_parser
import pytest
import yaml
from aiokafka import TopicPartition
from aiokafka.errors import KafkaConnectionError
from shell_fakes import SOURCE, Bus, Killed, Worker, until
from shell_story import event, story

import plangate.core
from plangate.core.reasons import REASONS
from plangate.shell import metrics as metrics_module
from plangate.shell import process
from plangate.shell.metrics import ALERTS, DEAD_LETTERS, OUTCOMES, Metrics
from plangate.shell.settings import Settings
from plangate.shell.task import OutOfRange
from plangate.shell.tasks import PartitionTasks

INPUT = TopicPartition(SOURCE, 0)
ROOT = Path(__file__).parents[2]
DOCS, RULES = ROOT / "docs/worker.md", ROOT / "deploy/prometheus/alerts.yml"


def names(registry: Any) -> set[str]:
    """Ours, as they are scraped; those of the process are the client library's."""
    samples = (sample for family in registry.collect() for sample in family.samples)
    return {sample.name for sample in samples if not sample.name.endswith("_created")}


def values(metrics: Metrics) -> dict[tuple[str, str], float]:
    samples = (sample for family in metrics.registry.collect() for sample in family.samples)
    return {(s.name, str(sorted(s.labels.items()))): s.value for s in samples if s.name.startswith("plangate_")}


class Site:
    """`PartitionTasks` over fakes, with the worker's two watches beside them."""

    def __init__(self, bus: Bus, stall_seconds: float = 60.0) -> None:
        self.bus, self.metrics = bus, Metrics()
        self.made: list[Worker] = []
        self.tasks = PartitionTasks(self._make, lambda reason, error: None, self.metrics)
        self.worker = process.Worker(Settings(stall_seconds=stall_seconds))
        self.worker._metrics = self.metrics
        self.answer: Any = {}
        self.asked = 0
        self.checked = 0
        consumer = SimpleNamespace(waiting=self._waiting, check=self._check)
        self.worker._app = SimpleNamespace(consumer=consumer)  # type: ignore[assignment]

    def _make(self, partition: int, known: Any) -> Any:
        self.made.append(Worker(self.bus, metrics=self.metrics, known=known))
        return self.made[-1].task, self.made[-1].publisher

    async def _check(self) -> None:
        self.checked += 1

    async def _waiting(self, partitions: list[int]) -> dict[int, int]:
        self.asked += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        if self.answer is None:
            await asyncio.sleep(3600)
        return self.answer

    def feed(self) -> None:
        if fetch := self.made[-1].source.fetch(0, 4):
            self.tasks.feed(fetch)


async def soon(condition: Callable[[], bool]) -> None:
    """As `until`, where a timer is waited for."""
    for _ in range(20_000):
        if condition():
            return
        await asyncio.sleep(0.001)
    raise AssertionError("it never came to that")


def test_every_metric_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    """A metric that is added needs a case in here."""
    monkeypatch.setattr(process, "LAG_SECONDS", 0.0)
    bus = Bus()
    story(bus, 20)
    bus.append(INPUT, *event("w0", type="span_pinned", span_id="s", pin_owner="o", pin_reason="r"))
    for number in range(6):
        plan = {"plan_id": f"again{number // 2}", "window_generation": 900, "entries": []}
        bus.append(INPUT, *event("w0", type="plan_proposed", **plan))
    with pytest.raises(Killed):
        asyncio.run(Worker(bus, "acknowledgements", ("changes_sent", 0)).run())
    story(bus, 30)

    async def scenario(site: Site) -> None:
        site.tasks.assign({0})
        await until(lambda: site.tasks.ready)
        site.feed()
        site.tasks.measure(60)
        backlog = values(site.metrics)["plangate_backlog_records", "[]"]
        assert backlog > 0
        await until(lambda: site.tasks.tasks[0].idle)
        site.tasks.feed(OutOfRange(0, site.tasks.tasks[0].expected + 5, 99))
        await until(lambda: site.tasks.tasks[0].wants_records)
        while bus.offsets.get(INPUT, 0) < len(bus.logs[INPUT]):
            site.feed()
            await asyncio.sleep(0)
        site.answer = {0: 7}
        watch = asyncio.create_task(site.worker._watch_log(site.tasks))
        await until(lambda: site.asked > 1)
        watch.cancel()
        site.tasks.tasks[0].last_progress = -1e9
        site.tasks.measure(60)
        moved.update({key for key, value in values(site.metrics).items() if value != before[key]})
        moved.add(("plangate_backlog_records", "[]"))

    site, moved = Site(bus), set[tuple[str, str]]()
    before = values(site.metrics)
    asyncio.run(scenario(site))
    ours = {name for name in names(site.metrics.registry) if name.startswith("plangate_")}
    assert ours - {name for name, _ in moved} == set()
    after = values(site.metrics)
    assert after["plangate_lag_records", "[]"] == 7
    assert after["plangate_input_lost_offsets_total", "[]"] == 5
    assert after["plangate_stalled_partitions", "[]"] == 1
    assert after["plangate_redelivered_total", "[]"] > 0
    assert after["plangate_duplicate_proposals_total", "[]"] > 0
    assert after["plangate_alerts_total", "[('alert', 'untrusted_authority')]"] == 1


def test_a_record_without_a_time_is_not_measured() -> None:
    bus = Bus()
    for timestamp in (-1, 0, 1_700_000_000_000):
        plan = {"plan_id": f"p{timestamp}", "window_generation": 0, "entries": []}
        bus.append(INPUT, *event("w", type="plan_proposed", **plan), timestamp=timestamp)
    worker = Worker(bus)
    asyncio.run(worker.run())
    assert worker.metrics.registry.get_sample_value("plangate_decision_lag_seconds_count") == 1


@pytest.mark.parametrize(
    ("answer", "progress"),
    [({0: 0}, True), ({0: 3}, False), ({}, False), (KafkaConnectionError(), False), (None, False)],
)
def test_only_an_idle_partition_with_nothing_in_its_log_gets_on(
    answer: Any, progress: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None: the broker gives no answer. The watch goes on in any case, and sees it when things are well again."""
    monkeypatch.setattr(process, "LAG_SECONDS", 0.001)

    async def scenario(site: Site) -> None:
        site.tasks.assign({0})
        await until(lambda: site.tasks.ready)
        [task] = site.tasks.tasks
        site.answer = answer
        watch = asyncio.create_task(site.worker._watch_log(site.tasks))
        task.last_progress = -1e9
        asked = site.asked
        await soon(lambda: site.asked >= asked + 2 or watch.done())
        assert (task.last_progress > 0) == progress
        assert site.tasks.stalled(60) != progress
        site.answer = {0: 0}
        await soon(lambda: task.last_progress > 0 or watch.done())
        task._in_batch, task.last_progress, asked = True, -1e9, site.asked
        await soon(lambda: site.asked >= asked + 2 or watch.done())
        assert task.last_progress < 0, "who is in a batch must finish it"
        assert not watch.done()
        watch.cancel()

    asyncio.run(scenario(Site(Bus(), stall_seconds=0.01)))


def test_the_watch_asks_only_what_keeps_us_out_while_nothing_is_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the start there are no partitions yet; asking for them then ended the watch for good."""
    monkeypatch.setattr(process, "LAG_SECONDS", 0.0)

    async def scenario(site: Site) -> None:
        watch = asyncio.create_task(site.worker._watch_log(site.tasks))
        for _ in range(20):
            await asyncio.sleep(0)
        assert site.asked == 0 and site.checked > 0 and not watch.done()
        watch.cancel()

    asyncio.run(scenario(Site(Bus())))


def test_a_fetch_during_a_batch_is_no_progress_of_the_batch() -> None:
    async def scenario(site: Site) -> None:
        site.tasks.assign({0})
        await until(lambda: site.tasks.ready)
        [task] = site.tasks.tasks

        async def hang(*_: Any) -> None:
            await asyncio.sleep(3600)

        site.made[0].publisher.publish = hang  # type: ignore[method-assign]
        site.made[0].task._deps.batch_size = 4
        site.feed()
        await until(lambda: task._in_batch and not task.backlog)
        task.last_progress = -1e9
        site.feed()
        assert site.tasks.stuck(60) == [0]

    bus = Bus()
    story(bus, 8)
    asyncio.run(scenario(Site(bus)))


def test_every_metric_is_documented_and_every_documented_metric_is_one() -> None:
    named = set(re.findall(r"`(plangate_\w+)", DOCS.read_text()))
    ours = {family.name: family.type for family in Metrics().registry.collect() if family.name.startswith("plangate_")}
    assert named == {f"{name}_total" if kind == "counter" else name for name, kind in ours.items()}


def test_every_word_of_a_label_is_there_before_it_first_happens() -> None:
    """Else the first bad signature is no increase for Prometheus, and no alert goes off."""
    text = Metrics().text().decode()
    for label, words in (("outcome", OUTCOMES), ("reason", REASONS), ("reason", DEAD_LETTERS), ("alert", ALERTS)):
        assert not [word for word in words if f'{{{label}="{word}"}} 0.0' not in text]
    source = "".join(file.read_text() for file in Path(plangate.core.__file__).parent.glob("*.py"))
    assert set(re.findall(r'\balert\("(\w+)"', source)) <= set(ALERTS)
    assert all(f'"{word}"' in source or word.endswith("_drift") for word in ALERTS)
    decode = Path(metrics_module.__file__).parents[1].joinpath("wire/decode.py").read_text()
    assert set(re.findall(r'Rejected\("(\w+)"', decode)) <= set(DEAD_LETTERS)


def rules() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


def selectors(node: Any) -> Iterator[Any]:
    """The series that an expression asks for."""
    if isinstance(node, promql_parser.VectorSelector):
        yield node
    for name in ("lhs", "rhs", "expr", "args", "vector_selector"):
        inner = getattr(node, name, None)
        for item in inner if isinstance(inner, list) else [inner]:
            if item is not None:
                yield from selectors(item)


def test_the_alert_rules_ask_for_series_that_there_are() -> None:
    there = names(Metrics().registry) | {"up", "process_start_time_seconds"}
    samples = [sample for family in Metrics().registry.collect() for sample in family.samples]
    asked = set()
    for rule in rules():
        found = list(selectors(promql_parser.parse(rule["expr"])))
        assert found, rule["alert"]
        for selector in found:
            assert selector.name in there, rule["alert"]
            asked.add(selector.name)
            for matcher in selector.matchers.matchers:
                words = {sample.labels.get(matcher.name) for sample in samples if sample.name == selector.name}
                assert matcher.name == "job" or set(matcher.value.split("|")) <= words, rule["alert"]
    wanted = ("decision_lag", "lag_records", "deferral_streak", "dead_letters", "redelivered", "duplicate", "stalled")
    assert all(any(word in name for name in asked) for word in wanted)


def test_each_alert_rule_says_what_to_do() -> None:
    assert len({rule["alert"] for rule in rules()}) == len(rules()) >= 10
    for rule in rules():
        assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
        assert rule["annotations"]["summary"] and rule["labels"]["severity"] in ("critical", "warning", "info")
        assert re.fullmatch(r"\d+[smh]", rule.get("for", "1m"))
