"""The worker on a real Kafka: its outputs are those of the engine over the log, whatever happens to the process."""

import signal
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from kafka_bus import Bus, differences
from kafka_events import PARTITIONS, WINDOWS, bad_items, event_stream, item, partition_of, write_keyring
from worker_process import WorkerProcess, wait_for

from plangate.core.events import AnyEvent
from plangate.wire.topics import INPUT

GUARANTEES = ["transactions", "acknowledgements"]
DYING = Path(__file__).with_name("dying_worker.py")


class Rig:
    """A bus with a prefix of its own, and workers on it."""

    def __init__(self, kafka: str, folder: Path) -> None:
        self.bus = Bus(kafka, f"t{uuid4().hex[:8]}.")
        self.folder = folder
        self.keyring = write_keyring(folder)

    def worker(self, *command: str, **settings: object) -> WorkerProcess:
        given = {"broker": self.bus.kafka, "topic_prefix": self.bus.prefix, "partitions": PARTITIONS}
        more = {"command": command} if command else {}
        return WorkerProcess(
            self.folder, **more, **{**given, "keyring_file": self.keyring, "instance_id": "w", **settings}
        )

    def wait_until_decided(self) -> None:
        wait_for(lambda: self.bus.decided("plangate"))


@pytest.fixture
def rig(kafka: str, tmp_path: Path) -> Iterator[Rig]:
    yield Rig(kafka, tmp_path)


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_outputs_equal_the_engines_over_a_restart_and_a_kill(rig: Rig, guarantee: str) -> None:
    """Every event type, three windows on several partitions; SIGTERM in one lull, SIGKILL in the middle of the work."""
    items = list(event_stream(6000, 7, rig.keyring))
    assert len({partition_of(window.encode()) for window in WINDOWS}) >= 2
    settings = {"guarantee": guarantee, "batch_size": 50}
    with rig.worker(**settings).wait_until_ready() as first:
        rig.bus.produce(items[:600])
        rig.wait_until_decided()
        rig.bus.produce(items[600:800])
        assert first.stop() == 0
    assert first.last_line()["reason"] == "signal"
    rig.bus.produce(items[800:])
    with rig.worker(**settings) as second:
        wait_for(lambda: second.ask("live") == 200 and second.metric("plangate_events_total") > 300)
        second.signal(signal.SIGKILL)
        assert second.wait() == -signal.SIGKILL
    assert not rig.bus.decided("plangate"), "it was killed too late"
    with rig.worker(**settings).wait_until_ready() as third:
        rig.wait_until_decided()
        skipped = third.metric("plangate_redelivered_total")
        assert third.stop() == 0

    wrong, repeats = differences(rig.bus, rig.keyring)
    assert wrong == []
    print(f"{guarantee}: {repeats} repeats, {skipped:.0f} records skipped")
    if guarantee == "transactions":
        assert (repeats, skipped) == (0, 0)
    outcomes = Counter(
        dict(out.headers)["ce_type"].decode() for outs in rig.bus.outputs("plan-decisions").values() for out in outs
    )
    assert {f"plangate.plan_{name}.v1" for name in ("accepted", "deferred", "refused")} <= set(outcomes)
    sent = b" ".join(record.value or b"" for records in rig.bus.read(INPUT).values() for record in records)
    for kind in AnyEvent.__args__:
        tag = kind.__struct_config__.tag
        assert tag == "window_closed" or f'"type": "{tag}"'.encode() in sent


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_killed_after_each_step_of_a_batch(rig: Rig, guarantee: str) -> None:
    """The process ends itself by SIGKILL right after a step; the next one gets on with it. Read while and after."""
    rig.bus.create_topic(INPUT, PARTITIONS, cleanup_policy="delete", compression_type="uncompressed")
    rig.bus.produce(event_stream(2000, 11, rig.keyring))
    steps = ["stepped", "begun", "outputs_sent", "changes_sent", "offsets_sent", "committed"]
    if guarantee == "acknowledgements":
        steps.remove("offsets_sent")
    settings = {"guarantee": guarantee, "batch_size": 20}
    for number, step in enumerate(steps):
        with rig.worker(sys.executable, str(DYING), step, str(2 + number), **settings) as worker:
            assert worker.wait() == -signal.SIGKILL, worker.log.read_text()
    assert not rig.bus.decided("plangate"), "all was decided before the last kill"
    with rig.worker(**settings).wait_until_ready() as last:
        rig.wait_until_decided()
        assert last.stop() == 0
    wrong, repeats = differences(rig.bus, rig.keyring)
    assert wrong == []
    print(f"{guarantee}: {len(steps)} kills, {repeats} repeats")
    if guarantee == "transactions":
        assert repeats == 0
    else:
        assert repeats > 0, "a kill between outputs and changelog repeats answers"


def test_bad_records_are_answered_and_stop_nothing(rig: Rig) -> None:
    with rig.worker().wait_until_ready() as worker:
        good = {"type": "span_appended"}
        for number, bad in enumerate(bad_items()):
            spans = [{"span_id": f"s{number}", "kind": "user", "cost_units": 1}]
            rig.bus.produce([*(item(window, {**good, "spans": spans}) for window in WINDOWS), bad])
        for window in WINDOWS:
            entry = {"span_id": "s0", "relevance": 0.0}
            plan = {"type": "plan_proposed", "plan_id": "p", "window_generation": len(bad_items()), "entries": [entry]}
            rig.bus.produce([item(window, plan)])
        rig.wait_until_decided()
        assert worker.metric("plangate_dead_letters_total") == len(bad_items()) - 1
        assert worker.stop() == 0
    wrong, repeats = differences(rig.bus, rig.keyring)
    assert (wrong, repeats) == ([], 0)
    accepted = [out for outs in rig.bus.outputs("plan-decisions").values() for out in outs]
    assert sorted(out.key.decode() for out in accepted) == sorted(WINDOWS)
    assert all(b"plan_accepted" in out.value for out in accepted)


def test_a_defect_of_ours_ends_the_process(rig: Rig) -> None:
    """Status 70, the reason in the log, nothing of the batch published, and nothing of the record in the log."""
    with rig.worker(sys.executable, str(DYING), "defect", "c4n4ry").wait_until_ready() as worker:
        spans = [{"span_id": "c4n4ry-span", "kind": "user", "cost_units": 1}]
        rig.bus.produce([item("c4n4ry-window", {"type": "span_appended", "spans": spans})])
        assert worker.wait() == 70
    line = worker.last_line()
    assert (line["reason"], line["status"], line["exception"]) == ("a partition can't go on", 70, "ValueError")
    assert "c4n4ry" not in worker.log.read_text()
    assert all(not rig.bus.read(topic) for topic in ("plan-decisions", "window-status", "dead-letters"))
    with rig.worker().wait_until_ready() as worker:
        rig.wait_until_decided()
        assert worker.stop() == 0
    assert differences(rig.bus, rig.keyring) == ([], 0)


@pytest.mark.parametrize(
    ("topic", "partitions", "settings", "says"),
    [
        (
            "plangate-windows-changelog",
            3,
            {"cleanup_policy": "compact"},
            "3 partitions, must be 4 like the input topic",
        ),
        ("plangate-windows-changelog", 4, {"cleanup_policy": "delete"}, "cleanup.policy is delete, must be compact"),
        ("window-status", 4, {"cleanup_policy": "delete"}, "cleanup.policy is delete, must be compact"),
        ("window-events", 4, {"cleanup_policy": "compact"}, "cleanup.policy is compact, must be delete"),
        ("window-events", 4, {}, "compression.type is producer, must be uncompressed"),
    ],
)
def test_wrong_topics_are_told(rig: Rig, topic: str, partitions: int, settings: dict[str, str], says: str) -> None:
    rig.bus.create_topic(topic, partitions, **settings)
    with rig.worker() as worker:
        assert worker.wait() == 78
    assert f"{rig.bus.prefix}{topic}: {says}" in worker.last_line()["detail"]


def test_missing_topics_are_told_where_they_are_not_to_be_created(rig: Rig) -> None:
    with rig.worker(create_topics=False) as worker:
        assert worker.wait() == 78
    assert (
        f"{rig.bus.prefix}audit-log: missing, or not shown to this user; create_topics is off"
        in worker.last_line()["detail"]
    )
