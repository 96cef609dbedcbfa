"""Logs in unusual states at a recovery: a compacted changelog, input partitions that are empty or end in no record."""

import asyncio
import signal
import time
from collections import Counter
from itertools import islice
from pathlib import Path
from uuid import uuid4

import pytest
from aiokafka import AIOKafkaProducer
from chaos_broker import FaultyKafka
from chaos_load import Reader
from chaos_rig import LOADED, WINDOWS, Run, with_both_guarantees
from chaos_table import settle
from kafka_bus import Bus
from kafka_events import PARTITIONS, Item, event_stream, partition_of
from worker_process import wait_for

from plangate.wire.topics import INPUT

CHANGELOG = "plangate-windows-changelog"
COMPACTED_SOON = {
    "cleanup_policy": "compact",
    "segment_bytes": "1048576",
    "segment_ms": "500",
    "min_cleanable_dirty_ratio": "0.01",
    "delete_retention_ms": "0",
    "max_message_bytes": "9437184",
}
STALL_SECONDS = 5


@pytest.mark.timeout(600)
def test_changelog_compacted_before_a_recovery(chaos_kafka: FaultyKafka, tmp_path: Path) -> None:
    def scenario(folder: Path, guarantee: str) -> None:
        with Run(chaos_kafka.bootstrap, folder, 0, guarantee) as run:
            run.bus.create_topic(CHANGELOG, PARTITIONS, **COMPACTED_SOON)
            worker = run.begin()
            counts: Counter[str] = Counter()
            for number in range(2):
                run.wait_for_progress(time.time())
                time.sleep(2)
                worker.signal(signal.SIGKILL)
                assert worker.wait() == -signal.SIGKILL
                if number:  # of what one owner left, the next one deletes what it does not need
                    removed = wait_for(lambda: compacted(run.bus))
                    print(f"compaction removed {removed} records before recovery {number}")
                    counts["compacted"] += 1
                at, worker = time.time(), run.worker(instance_id="w0")
                run.fault_done(at)
                assert max(line["changelog_records"] for line in worker.lines("partition_taken_over"))
            settle("changelog compacted", run, counts)

    with_both_guarantees(scenario, tmp_path)


def compacted(bus: Bus) -> int:
    """How many records are gone from the middle of the changelog, if from every partition some are; else 0.

    A missing offset may be a transaction's marker; two in a row can't be, for no two markers follow on each other.
    """
    removed = dict.fromkeys(LOADED, 0)
    for partition, records in bus.read(CHANGELOG, "read_uncommitted").items():
        offsets = [-1, *(record.offset for record in records)]
        gaps = (after - before - 1 for before, after in zip(offsets, offsets[1:], strict=False))
        removed[partition] = sum(gap - 1 for gap in gaps if gap > 1)
    return sum(removed.values()) if all(removed.values()) else 0


@pytest.mark.timeout(600)
def test_partitions_that_are_empty_or_end_in_no_record(chaos_kafka: FaultyKafka, tmp_path: Path) -> None:
    """They are taken over, count as done, don't make the worker look stuck, and go on when records come."""

    def scenario(folder: Path, guarantee: str) -> None:
        with Run(chaos_kafka.bootstrap, folder, 0, guarantee, stall_seconds=STALL_SECONDS) as run:
            bus, streams = run.bus, {partition: stream(run, partition) for partition in LOADED}
            bus.create_topic(INPUT, PARTITIONS, cleanup_policy="delete", compression_type="uncompressed")
            transact(bus, islice(streams[0], 40), commit=True)
            transact(bus, islice(streams[1], 40), commit=True)
            transact(bus, stream(run, 1, 20), commit=False)
            transact(bus, stream(run, 2, 20), commit=False)
            ends = bus.ends(INPUT)
            seen = bus.read(INPUT)
            visible = {partition: seen[partition][-1].offset if seen[partition] else -1 for partition in LOADED}
            behind = {partition: ends[partition] - visible[partition] - 1 for partition in LOADED}
            assert behind == {0: 1, 1: 22, 2: 21, 3: 0} and ends[3] == 0, behind

            worker = run.worker(instance_id="w0").wait_until_ready()
            run.reader = Reader(bus)
            wait_for(lambda: bus.decided("plangate"))
            worker.signal(signal.SIGKILL)
            assert worker.wait() == -signal.SIGKILL
            second = run.worker(instance_id="w0").wait_until_ready()
            assert sorted(second.take_overs()) == LOADED
            still_live(second)
            assert second.metric("plangate_events_total") == 0, "it decided again what was decided"
            bus.produce(item for partition in LOADED for item in islice(streams[partition], 40))
            faults = ["ends in a commit", "ends in an abort", "nothing but an abort", "empty"]
            settle("input partitions at a recovery", run, Counter(faults), faults)

    with_both_guarantees(scenario, tmp_path)


def still_live(worker: object) -> None:
    """For longer than a stall may last."""
    end = time.monotonic() + 2.5 * STALL_SECONDS
    while time.monotonic() < end:
        assert worker.ask("live") == 200
        time.sleep(0.5)
    assert worker.metric("plangate_lag_records") == 0


def stream(run: Run, partition: int, count: int = 10**6) -> islice:
    """Records of one input partition."""
    names = [name for name in WINDOWS if partition_of(name.encode()) == partition]
    items = event_stream(10**9, partition, run.keyring, names)
    return islice((item for item in items if item.key and item.key.decode("latin1") in names), count)


def transact(bus: Bus, items: islice, commit: bool) -> None:
    """Produce in one transaction that is committed or aborted."""

    async def send(every: list[Item]) -> None:
        producer = AIOKafkaProducer(bootstrap_servers=bus.kafka, transactional_id=f"{bus.prefix}{uuid4().hex}")
        await producer.start()
        await producer.begin_transaction()
        for item in every:
            await producer.send_and_wait(bus.prefix + INPUT, item.value, item.key, headers=item.headers)
        await (producer.commit_transaction() if commit else producer.abort_transaction())
        await producer.stop()

    asyncio.run(send(list(items)))
