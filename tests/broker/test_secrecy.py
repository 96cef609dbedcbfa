"""What goes in beside ids, numbers and edges comes out nowhere: no topic, no log line, no metric, on a real Kafka."""

import base64
import json
from pathlib import Path
from urllib.request import urlopen
from uuid import uuid4

import pytest
from kafka_bus import OUTPUTS, Bus
from kafka_events import PARTITIONS, Item, item, write_keyring
from worker_process import WorkerProcess, wait_for

from plangate.wire.topics import INPUT

WINDOW = "window-0"


def canary(number: int) -> str:
    return f"c4n4ry{number:02d}secret"


def poisoned() -> list[Item]:
    """Each canary at a place of its own."""
    c = iter(map(canary, range(100)))
    entry = {"span_id": "s1", "relevance": 0.9, "rationale": next(c), "cited_dependencies": [], "note": next(c)}
    span = {
        "span_id": "s1",
        "kind": "user",
        "cost_units": 3,
        "text": next(c),
        "pin_reason": next(c),
        "pin_owner": next(c),
    }
    pin = {"type": "span_pinned", "span_id": "s1", "pin_owner": next(c), "pin_reason": next(c), "authority_seq": 1}
    opened = json.dumps({"type": "window_opened", "window_id": WINDOW}).encode()
    plan = {"type": "plan_proposed", "plan_id": "p1", "window_generation": 3, "entries": [entry]}
    policy = {"policy_version": "v9", "motto": next(c), "limits": {"note": next(c)}}
    return [
        item(WINDOW, {"type": "window_opened", "title": next(c)}),
        item(WINDOW, {"type": "span_appended", "spans": [span]}),
        item(WINDOW, pin, signed=True),
        item(WINDOW, {"type": "policy_set", "policy": policy, "authority_seq": 2}, signed=True),
        item(WINDOW, {**plan, "proposer": next(c)}),
        item(WINDOW, {"type": "plan_proposed", "plan_id": "p2", "window_generation": next(c), "entries": next(c)}),
        item(WINDOW, {"type": "spans_removed", "span_ids": ["s2"], "reason": next(c)}),
        item(WINDOW, {"type": "span_appended", "spans": [{"span_id": "s3", "cost_units": next(c)}]}),
        item(WINDOW, {"type": "span_appended", "spans": [{"span_id": f"\u202e{next(c)}", "cost_units": 1}]}),
        item(WINDOW, {"type": next(c)}),
        Item(WINDOW.encode(), b'{"type": "' + next(c).encode(), [], None),
        Item(WINDOW.encode(), b"\xff\xfe" + next(c).encode(), [], None),
        Item(next(c).encode(), opened, [], None),
        Item(WINDOW.encode(), opened, [("x", next(c).encode())], None),
    ]  # fmt: skip


def forms(text: str) -> list[bytes]:
    raw = text.encode()
    return [raw, raw.hex().encode(), base64.b64encode(raw)[:-4], raw[:8]]


@pytest.mark.parametrize("guarantee", ["transactions"])
def test_no_canary_leaves(kafka: str, tmp_path: Path, guarantee: str) -> None:
    bus = Bus(kafka, f"t{uuid4().hex[:8]}.")
    given = {"broker": kafka, "topic_prefix": bus.prefix, "partitions": PARTITIONS, "log_level": "debug"}
    items = poisoned()
    with WorkerProcess(tmp_path, **given, guarantee=guarantee, keyring_file=write_keyring(tmp_path)) as worker:
        worker.wait_until_ready()
        bus.produce(items)
        wait_for(lambda: bus.decided("plangate"))
        with urlopen(f"http://127.0.0.1:{worker.port}/metrics", timeout=5) as answer:
            metrics = answer.read()
        assert worker.stop() == 0
    seen = [metrics, worker.log.read_bytes()]
    for topic in [*OUTPUTS, "plangate-windows-changelog"]:
        for records in bus.read(topic).values():
            for record in records:
                seen += [record.key or b"", record.value or b""]
                seen += [part for name, value in record.headers or () for part in (name.encode(), value)]
    heap = b"\n".join(seen)
    assert heap.count(b"dead_letter") and b"plan_refused" in heap and b"span_pinned" in heap
    sent = b"\n".join(b"".join([i.key or b"", i.value or b"", *(v for _, v in i.headers)]) for i in items)
    used = [number for number in range(100) if canary(number).encode() in sent]
    assert len(used) == 21
    assert [(n, form) for n in used for form in forms(canary(n)) if form in heap] == []
    assert INPUT not in OUTPUTS
