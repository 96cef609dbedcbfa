"""Defects of our own that hostile input found, each kept as it was found."""

from __future__ import annotations

import base64
import json
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from aiokafka.record.default_records import _DefaultRecordBatchBuilderPy
from wirekit import KEYS, Bench, Json, raw

from plangate.core import plan as plans
from plangate.core.plan import citations
from plangate.core.policy import Limits, Policy
from plangate.core.records import FRAME_BYTES
from plangate.shell.clients import MAX_RECORD_BYTES
from plangate.shell.settings import Settings
from plangate.shell.topics import Found, faults, wanted_topics
from plangate.shell.worker.headers import Records
from plangate.wire.engine import Engine
from plangate.wire.keyring import KeyringError, load_keyring
from plangate.wire.replay import replay

TRACE = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
OPEN = {"type": "window_opened", "window_id": "w"}


def windowful(bench: Bench, names: list[str], **last: Any) -> int:
    """Appends the names as spans, ``last`` being fields of the last; the generation."""
    spans: list[Json] = [{"span_id": name, "cost_units": 1} for name in names]
    spans[-1] |= last
    for start in range(0, len(spans), 500):
        bench.send({"type": "span_appended", "window_id": "w", "spans": spans[start : start + 500]})
    return bench.windows["w"].head.generation


def plan(generation: int, entries: list[Json], **more: Any) -> Json:
    return {"type": "plan_proposed", "window_id": "w", "plan_id": "p", "window_generation": generation,
            "entries": entries, **more}  # fmt: skip


@pytest.mark.parametrize("by", ["worker", "window"])
def test_a_resolution_too_long_for_its_record_is_cut(by: str) -> None:
    """It stopped the worker for good: a list inside the resolution was never cut."""
    small = Limits(record_bytes=65_536)
    bench = Bench(Engine(Policy(limits=small))) if by == "worker" else Bench()
    if by == "window":
        policy = {
            "type": "policy_set",
            "window_id": "w",
            "authority_seq": 1,
            "policy": {"limits": {"record_bytes": 65_536}},
        }
        bench.send(policy, "ps")
    names = [f"s{number:03}".rjust(200, "x") for number in range(200)]
    generation = windowful(bench, [*names, "root"], needs_prefix=True)
    (refused, *_) = bench.send(plan(generation, [{"span_id": name, "relevance": 0} for name in names]))
    cut, left = refused["cut"]["resolution.retain"], refused["resolution"]["retain"]
    assert cut["count"] == 200 and 0 < len(left) < 200 and left == sorted(names)[: len(left)]
    assert len(raw(refused)) <= 65_536 - FRAME_BYTES


def test_a_malformed_plan_costs_no_more_than_its_lists_may_hold() -> None:
    """Eight million paths took a minute, and an answer as long as the record."""
    bench = Bench()
    bench.send(OPEN)
    text = raw(plan(0, []))[:-2] + b",".join([b"0"] * 100_000) + b"]}"
    refused = json.loads(bench.feed(text)[0].value)
    assert refused["invalid_paths"] == ["entries"] and "cut" not in refused


def test_only_a_lawful_trace_is_passed_on() -> None:
    """Any bytes in these headers came out again: content, or more than a record may hold."""
    bench = Bench()
    bad = [("traceparent", content) for content in (b"", None, b"c0ntent", TRACE + b"-x", TRACE.upper(), b"\xff" * 55)]
    headers = [*bad, ("tracestate", b"c0ntent"), ("traceparent", TRACE), ("traceparent", TRACE[:-1] + b"0")]
    (status,) = bench.feed(raw(OPEN), headers)
    assert [(n, v) for n, v in status.headers if n.startswith("trace")] == [("traceparent", TRACE)]


class Unreadable(str):
    def encode(self, *_: object) -> bytes:
        return b"\xff\xfe"


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("codec", [0, 1])
def test_a_header_name_that_is_no_text_hides_no_record(place: int, codec: int) -> None:
    """aiokafka's decoder raised on it, at every fetch anew: any producer could end every worker."""
    builder = _DefaultRecordBatchBuilderPy(2, codec, 0, -1, -1, -1, 100_000)
    for offset in range(3):
        headers = [("a", b"1"), (Unreadable(), b"2"), ("b", None)] if offset == place else [("c", b"3")]
        builder.append(offset, 1, b"k%d" % offset, b"v", headers)
    records = Records(bytes(builder.build()))
    batch = records.next_batch()
    assert not records.has_next() and batch.validate_crc() and batch.next_offset == 3
    found = list(batch)
    assert [(r.offset, r.key, r.value) for r in found] == [(n, b"k%d" % n, b"v") for n in range(3)]
    names = [name for name, _ in found[place].headers]
    assert (names[0], names[2]) == ("a", "b") and not names[1].isascii()


def test_a_control_batch_is_read_as_the_fetcher_reads_it() -> None:
    builder = _DefaultRecordBatchBuilderPy(2, 0, 1, 5, 0, -1, 100_000)
    builder.append(0, 1, b"\0\0\0\0", b"", [])
    batch = Records(bytes(builder.build())).next_batch()
    assert next(batch).key == b"\0\0\0\0" and batch.is_transactional and batch.producer_id == 5


@pytest.mark.parametrize(
    "bad", [{"source": 5}, {"source": None}, {"source": ["policy_store"]}, {"key_id": 7}, {"key_id": ""}]
)
def test_a_keyring_holds_texts(bad: Json, tmp_path: Path) -> None:
    public = base64.b64encode(KEYS["ps"].public_key().public_bytes_raw()).decode()
    file = tmp_path / "keys.json"
    file.write_text(json.dumps({"keys": [{"key_id": "k", "source": "policy_store", "public_key": public} | bad]}))
    with pytest.raises(KeyringError, match="entry 0"):
        load_keyring(file)


@pytest.mark.parametrize(
    ("line", "topics"),
    [(b"null", ["dead-letters"]), (b" null ", ["dead-letters"]), (b'{"value":null}', []),
     (b'{"value": null,"source":"policy_store"}', []), (b"", []), (b"{}", ["dead-letters"])],
)  # fmt: skip
def test_null_in_a_replayed_file(line: bytes, topics: list[str]) -> None:
    """A wrapper's null is a record without a value, which is nothing; a line ``null`` no event."""
    assert [out.topic for out in replay([line])] == topics
    if line.startswith(b"n"):
        (published,) = Bench().feed(line)
        assert [out.value for out in replay([line])] == [published.value]


def test_output_topics_must_hold_the_largest_answer() -> None:
    """A topic of the default 1 MiB took all answers but the longest; that stopped the worker."""
    for topic in wanted_topics(Settings(), 4):
        settings = {**topic.settings, "max.message.bytes": "1048588"}
        told = faults(topic, Found(4, settings))
        if topic.name in ("window-events", "plangate-windows-changelog"):
            assert told == []  # the one is not written, the other's records are cut into pieces
        else:
            assert told == [f"{topic.name}: max.message.bytes is 1048588, must be at least {MAX_RECORD_BYTES}"]
        assert faults(topic, Found(4, {**settings, "max.message.bytes": "8388608"})) == []
        assert faults(topic, Found(4, topic.settings)) == []  # a broker that does not tell
    for topic in wanted_topics(Settings(), 4, record_bytes=65_536):
        assert faults(topic, Found(4, {**topic.settings, "max.message.bytes": "1048588"})) == []
        small = faults(topic, Found(4, {**topic.settings, "max.message.bytes": "65536"}))
        assert len(small) == (topic.name != "window-events")


@pytest.mark.parametrize("entries", [50, 200])
def test_citations_of_one_span_in_many_entries_are_merged_at_once(
    entries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each merge copied all before it, so the work grew with the square of the entries."""
    looked_at = 0

    def counted(items: Any) -> dict[str, float | None]:
        nonlocal looked_at
        looked_at += len(items or ())
        return citations(items)

    monkeypatch.setattr(plans, "citations", counted)
    bench = Bench()
    generation = windowful(bench, ["a", "b"])
    many = [
        {"span_id": "a", "relevance": 1, "cited_dependencies": [f"d{n}-{i}" for i in range(20)]} for n in range(entries)
    ]  # fmt: skip
    (refused, *_) = bench.send(plan(generation, many))
    assert refused["reasons"] == ["no_effect", "orphans"]
    assert len(refused["orphans"][0]["broken"]) == looked_at == 20 * entries


def test_blocked_budgets_are_not_remembered_without_end() -> None:
    bench = Bench()
    bench.send({"type": "span_appended", "window_id": "w", "spans": [
        {"span_id": "a", "cost_units": 9_000, "pinned": True, "pin_owner": "o", "pin_reason": "r"}],
        "authority_seq": 1}, "ps")  # fmt: skip
    for budget in range(2000):
        ask = {"type": "budget_requested", "window_id": "w", "request_id": "q", "budget_units": budget}
        assert bench.send(ask)[0]["status"] == "blocked"
    assert len(bench.windows["w"].blocked) <= 1024


@pytest.mark.parametrize("number", [2**53 + 1, 2**60, 2**64])
def test_no_integer_beyond_the_contracts_comes_out(number: int) -> None:
    bench = Bench()
    bench.send(OPEN)
    ask = {"type": "budget_requested", "window_id": "w", "request_id": "q", "budget_units": number}
    planned, diagnosed = islice(bench.send(ask), 2)
    assert (planned["status"], diagnosed["budget"]) == ("rejected", None)
