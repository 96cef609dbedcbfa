"""What goes in beside ids, numbers and edges comes out nowhere: on a real Kafka, from real workers, in any encoding."""

import base64
import json
import os
import re
import socket
import sys
from pathlib import Path
from typing import Any
from urllib.request import urlopen
from uuid import uuid4

import pytest
from aiokafka.admin import AIOKafkaAdminClient
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from kafka_bus import OUTPUTS, Bus
from kafka_container import ApacheKafka
from kafka_events import KEY, PARTITIONS, WINDOWS, Item, item
from worker_process import WorkerProcess, wait_for

sys.path.append(str(Path(__file__).parents[1] / "wire"))
from canarykit import STEM, Canaries, crafted, event_types, forms

from plangate.wire.topics import INPUT

DYING = Path(__file__).with_name("dying_worker.py")
WINDOW = WINDOWS[1]
CHANGELOG = "plangate-windows-changelog"


def lawful(canaries: Canaries) -> list[Item]:
    """Each event type with every field of its type, unsigned and signed; a canary wherever there may be content."""
    items = []
    for signed in (False, True):
        for kind in event_types():
            event = {**crafted(kind, canaries), "authority_seq": len(items)}
            for name in ("sequence", "event_id", "window_id"):
                del event[name]
            if event["type"] == "policy_set":
                event["policy"] |= {"policy_version": "v9", "id_redaction": "hmac"}
                event["policy"]["limits"] = {canaries.new("limits: name"): canaries.new("limits: value")}
            if event["type"] != "window_closed":
                items.append(item(WINDOW, event, signed))
    return items


def unlawful(canaries: Canaries) -> list[Item]:
    """Dead letters and forged records, each with a canary at a place of its own."""
    c = canaries.new
    window, opened = WINDOW.encode(), json.dumps({"type": "window_opened", "window_id": WINDOW}).encode()
    plan = {"type": "plan_proposed", "plan_id": "p2", "window_generation": c("generation"), "entries": c("entries")}
    appends = [{"cost_units": c("cost")}, {"cost_units": 1, "depends_on": [{c("edge"): 1}]}, {"kind": c("kind")}]
    return [
        item(WINDOW, plan),
        *(item(WINDOW, {"type": "span_appended", "spans": [{"span_id": "s3", **fields}]}) for fields in appends),
        item(WINDOW, {"type": "span_appended", "spans": [{"span_id": f"\u202e{c('bidi id')}", "cost_units": 1}]}),
        item(WINDOW, {"type": "span_appended", "spans": [{"span_id": c("long id") * 20, "cost_units": 1}]}),
        item(WINDOW, {"type": c("tag")}),
        item(WINDOW, {"type": "policy_set", "policy": {"planner": {"x": c("policy")}}, "authority_seq": 99}, True),
        Item(window, b'{"type": "' + c("cut off").encode(), []),
        Item(window, b"\xff\xfe" + c("bytes").encode("utf-16"), []),
        Item(window, b"[" * 9000 + c("deep").encode(), []),
        Item(window, json.dumps([c("list")]).encode(), []),
        Item(c("key").encode(), opened, []),
        Item(b"\xff" + c("key that is no text").encode(), opened, []),
        Item(None, opened, [(c("name of a header"), c("header of a record without a key").encode())], 0),
        Item(window, opened, [("x", c("header").encode()), ("traceparent", c("traceparent").encode())]),
        Item(window, opened, [("tracestate", c("tracestate").encode()), ("ce_id", c("ce_id").encode())]),
        Item(window, opened, [("plangate-key-id", c("key id").encode()), ("plangate-signature", b"x")]),
        Item(window, opened, [("plangate-key-id", b"k1"), ("plangate-signature", c("signature").encode())]),
        Item(window, None, [("x", c("header of nothing").encode())]),
    ]


def files(folder: Path, canaries: Canaries) -> dict[str, Any]:
    """Settings: files in a folder whose name is a canary, with canaries in them."""
    secret = folder / canaries.plain("name of a folder")
    secret.mkdir()
    keys = []
    for key_id, source, key in (("k1", "policy_store", KEY), ("k2", canaries.new("source"), None)):
        public = (key or Ed25519PrivateKey.generate()).public_key().public_bytes_raw()
        keys.append({"key_id": key_id, "source": source, "public_key": base64.b64encode(public).decode()})
    ring = {"keys": [{**key, canaries.new("keyring: name"): canaries.new("keyring: value")} for key in keys]}
    made = {
        "keyring_file": (canaries.plain("name of the keyring") + ".json", json.dumps(ring)),
        "policy_file": ("policy.json", json.dumps({canaries.new("file: name"): canaries.new("file: value")})),
        "redaction_key_file": ("redaction.txt", canaries.new("redaction key") + "\n"),
    }
    for name, text in made.values():
        (secret / name).write_text(text)
    return {setting: secret / name for setting, (name, _) in made.items()}


def http(port: int, canaries: Canaries) -> list[bytes]:
    """All pages, and what is answered to requests that are wrong."""
    answers = []
    for page in ("live", "ready", "metrics"):
        with urlopen(f"http://127.0.0.1:{port}/{page}", timeout=10) as answer:
            answers.append(str(answer.headers).encode() + answer.read())
    name = canaries.plain("HTTP request")
    for request in (
        f"GET /{name} HTTP/1.1\r\nHost: x\r\n\r\n",
        f"POST /live HTTP/1.1\r\nHost: x\r\nX: {name}\r\nContent-Length: 30\r\n\r\n{name:30}",
        f"GET /metrics?x={name} HTTP/9.9\r\n\r\n",
        f"{name}\r\n\r\n",
        f"GET / HTTP/1.1\r\n{name}\x00: 1\r\n\r\n",
    ):
        with socket.create_connection(("127.0.0.1", port), 10) as peer:
            peer.sendall(request.encode())
            peer.shutdown(socket.SHUT_WR)
            while part := peer.recv(65536):
                # What it was sent itself may be told to the client that sent it, and to nobody else.
                answers.append(part.replace(name.encode(), b""))
    return answers


def group(bus: Bus) -> bytes:
    async def describe(admin: AIOKafkaAdminClient) -> Any:
        found = await admin.describe_consumer_groups([bus.prefix + "plangate"])
        return [answer.to_object() for answer in found]

    return repr(bus._with_admin(describe)).encode()


def log_directories(container: ApacheKafka, prefix: str) -> dict[str, bytes]:
    """What lies on the broker's disk of our topics, the input aside, and of its own: group, transactions, metadata."""
    script = (
        f"cd /tmp/kafka-logs && ls -d {prefix}* __* | grep -v '^{prefix}{INPUT}-' "
        '| while read d; do for f in $d/*.log; do echo "@@$f"; base64 -w0 $f; echo; done; done'
    )
    code, output = container.get_wrapped_container().exec_run(["sh", "-c", script])
    assert code == 0
    found = re.findall(rb"@@(\S+)\n([A-Za-z0-9+/=]*)\n", output)
    return {name.decode(): base64.b64decode(data) for name, data in found}


def test_no_canary_leaves(
    kafka_container: ApacheKafka, kafka: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    canaries, kafka = Canaries(), kafka_container.bootstrap
    bus = Bus(kafka, f"t{uuid4().hex[:8]}.")
    items = [*lawful(canaries), *unlawful(canaries)]
    for name in ("HOME_OF_SECRETS", "PLANGATE_NO_SETTING", "SASL_PASSWORD"):
        monkeypatch.setenv(name, canaries.new(f"environment: {name}"))
    work, settings = tmp_path / "work", files(tmp_path, canaries)
    work.mkdir()
    monkeypatch.chdir(work)
    given = {
        "broker": kafka, "topic_prefix": bus.prefix, "partitions": PARTITIONS, "log_level": "debug",
        "sasl_password": canaries.new("SASL password"), "sasl_username": canaries.new("SASL user"), **settings,
    }  # fmt: skip
    seen: dict[str, bytes] = {}
    with WorkerProcess(tmp_path, **given).wait_until_ready() as worker:
        bus.produce(items)
        wait_for(lambda: bus.decided("plangate"))
        seen["http"] = b"\n".join(http(worker.port, canaries))
        seen["group"] = group(bus)
        assert worker.stop() == 0
    seen["log"] = worker.log.read_bytes()
    assert b"unknown_variable" in seen["log"] and b"HELP plangate_events_total" in seen["http"]

    # A defect whose exception has the record in its text; and a broker that does not want the password.
    bus.produce(items[:1])
    command = [sys.executable, str(DYING), "defect", canaries.new("text of an exception")]
    with WorkerProcess(tmp_path, command, **given) as worker:
        assert worker.wait() == 70
    seen["log of a crash"] = worker.log.read_bytes()
    assert b"ValueError" in seen["log of a crash"] and b"_decide" in seen["log of a crash"]
    with WorkerProcess(tmp_path, **given, security_protocol="SASL_PLAINTEXT") as worker:
        assert worker.wait() == 78
    seen["log without access"] = worker.log.read_bytes()

    for topic in [*OUTPUTS, CHANGELOG]:
        for records in bus.read(topic, "read_uncommitted").values():
            for number, record in enumerate(records):
                headers = [part for name, value in record.headers or () for part in (name.encode(), value)]
                seen[f"{topic} {number}"] = b"\n".join([record.key or b"", record.value or b"", *headers])
    heap = b"\n".join(seen.values())
    for kind in (b"dead_letter", b"plan_refused", b"eviction_planned", b"span_pinned", b"bad_signature", b"v9"):
        assert kind in heap
    disk = log_directories(kafka_container, bus.prefix)
    kinds = {re.sub(r"-\d+/.*", "", name).removeprefix(bus.prefix) for name in disk}
    assert kinds >= {*OUTPUTS, CHANGELOG, "__consumer_offsets", "__transaction_state"} and INPUT not in kinds
    assert any(b"plan_refused" in data for data in disk.values())

    assert os.listdir(work) == [], "the worker leaves no file where it runs"
    sent = b"\n".join(b"".join([i.key or b"", i.value or b"", *(v for _, v in i.headers)]) for i in items)
    size = len(heap) + sum(map(len, disk.values()))
    print(f"{len(canaries.places)} canaries in {len(items)} records and the settings; {size} bytes searched")
    assert len(canaries.places) > 500 and sent.count(STEM.encode()) > 400
    leaks = {where: found for where, data in (seen | disk).items() if (found := canaries.leaks(data))}
    assert leaks == {}


def test_what_lies_on_the_brokers_disk_is_searched(kafka_container: ApacheKafka, kafka: str) -> None:
    """A canary planted in an output topic is found, in each encoding."""
    bus = Bus(kafka, f"t{uuid4().hex[:8]}.")
    bus.create_topic(INPUT, 1)
    bus.create_topic("window-alerts", 1)
    canaries = Canaries()
    planted = list(forms(canaries.new("here")).values())
    bus.produce([Item(b"w", canaries.new("in the input").encode(), [], 0)])
    assert not any(map(canaries.leaks, log_directories(kafka_container, bus.prefix).values()))
    for form in planted:
        bus.produce_to("window-alerts", [Item(b"w", form, [], 0)])
    found = [canaries.leaks(data) for data in log_directories(kafka_container, bus.prefix).values()]
    assert "here" in set().union(*found) and "in the input" not in set().union(*found)
