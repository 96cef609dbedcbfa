"""A story that leaves something in every part of a window's state, and the sample files of a version made from it.

    python tests/wire/state_sample.py      # once for each new plangate.wire.state.VERSION; never over a released one

`events.jsonl`: input records, offset by offset; `records.jsonl`: all that comes out, in order; `changelog.jsonl`: the
changelog after the first `UPTO` records, of two owners; what comes after shows whether it was read.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from wirekit import KEYS, RING, TOPIC, Json, raw

from plangate.core.window import Window
from plangate.shell.changelog import Change, ChangelogWriter
from plangate.wire.engine import Engine, Out, Record
from plangate.wire.keyring import sign
from plangate.wire.state import VERSION

DATA = Path(__file__).parent / "data"
BATCH, UPTO = 3, 69


def span(span_id: str, **fields: Any) -> Json:
    return {"span_id": span_id, "kind": "user", "cost_units": 5, **fields}


def plan(window: str, plan_id: str, generation: int, entries: dict[str, Any], **fields: Any) -> Json:
    listed = [{"span_id": k, "relevance": 0.1, "cited_dependencies": [], **v} for k, v in entries.items()]
    body = {"type": "plan_proposed", "window_id": window, "plan_id": plan_id, "window_generation": generation}
    return body | {"entries": listed, **fields}


def append(window: str, *spans: Json, **fields: Any) -> Json:
    return {"type": "span_appended", "window_id": window, "spans": list(spans), **fields}


def cost(artifact: str, component: str, value: int, **fields: Any) -> Json:
    body = {"type": "cost_reported", "window_id": "reports", "artifact_id": artifact, "component": component}
    return body | {"method": "m", "input_version": "1", "scope": "s", "units": "u", "value": value, **fields}


def pin(window: str, span_id: str, seq: int) -> Json:
    body = {"type": "span_pinned", "window_id": window, "span_id": span_id, "pin_owner": "o", "pin_reason": "r"}
    return body | {"authority_seq": seq}


def policy(window: str, seq: int, **fields: Any) -> Json:
    return {"type": "policy_set", "window_id": window, "authority_seq": seq, "policy": fields}


def before() -> Iterator[tuple[Json | str, str | None]]:
    """Events with their signers, before the state is kept."""
    a = {"method": "m", "input_version": "1"}
    yield {"type": "window_opened", "window_id": "main", "budget_units": 60, "event_id": "e0"}, None
    yield append("main", span("sys", kind="system", pinned=True, pin_owner="o", pin_reason="r", accounting=a),
                 authority_seq=1, event_id="e1"), "ps"  # fmt: skip
    yield append("main", span("doc", priority=3, last_used_order=9, accounting={"method": "n"}), turn=2), None
    yield append("main", span("call", kind="tool_call", open=True, depends_on=["doc"], needs_verbatim=["sys"])), None
    yield append("main", span("result", kind="tool_result", closes=["call"], pairs_with=["call"])), None
    yield append("main", span("think", kind="reasoning", needs_prefix=True, required_by=["result"])), None
    yield append("main", span("old", derived_from=["doc"], depends_on=["never"]), span("ask", open=True)), None
    yield append("main", span("signed", derived_from=["sys"]), authority_seq=2), "ps"
    yield append("main", span("needy", depends_on=["signed"])), None
    yield append("main", span("needed", required_by=["needy"]), authority_seq=3), "ps"
    yield pin("main", "later", 4), "ps"
    yield pin("main", "doc", 1), "oc"
    yield pin("main", "doc", 1), "oc"
    yield {"type": "compression_approved", "window_id": "main", "span_id": "sys", "replacement_id": "sys2",
           "cost_units": 2, "reviewer": "v", "reason": "r", "authority_seq": 5}, "ps"  # fmt: skip
    yield {"type": "spans_used", "window_id": "main", "span_ids": ["old", "ask"]}, None
    yield {"type": "spans_removed", "window_id": "main", "span_ids": ["needed", "think"]}, None
    yield {"type": "spans_removed", "window_id": "main", "span_ids": ["signed"]}, None
    yield {"type": "span_edited", "window_id": "main", "span": span("old", cost_units=6)}, None
    for number, live in enumerate((12, 12, 13)):
        yield plan("main", f"stale{number}", live + 40, {"old": {}}), None
    yield plan("main", "refused", 14, {"doc": {}, "ghost": {}}), None
    yield plan("main", "orphans", 14, {"result": {}, "doc": {"disposition": "keep", "relevance": 0.9}}), None
    yield plan("main", "bad", 14, {"old": {"relevance": 9}}), None
    swap = {"span_id": "old2", "covers": ["old"], "cost_units": 1, "in_place": True, "priority": 2}
    yield plan("main", "swap", 14, {"old": {"disposition": "compress"}}, replacements=[swap]), None
    yield plan("main", "swap", 14, {"old": {}}), None
    yield plan("main", "unknown", 15, {"old2": {}, "nobody": {}}), None
    yield plan("main", "late", 14, {"old2": {}}), None
    yield plan("main", "late2", 14, {"old2": {}}), None
    yield policy("wait", 1, policy_version="w1", commit="on_confirm", amend_plans=True, decisions_remembered=3), "ps"
    yield append("wait", span("a"), span("b", depends_on=["a"]), span("c"), span("d")), None
    swaps = [{"span_id": "d2", "covers": ["d"], "cost_units": 2, "priority": 1, "in_place": True}]
    yield plan("wait", "waits", 2, {"c": {}, "d": {"disposition": "compress"}}, replacements=swaps), None
    yield plan("wait", "meanwhile", 2, {"a": {}}), None
    yield {"type": "window_opened", "window_id": "gap", "sequence": 4}, None
    yield append("gap", span("a"), sequence=5, event_id="g1"), None
    yield append("gap", span("b", needs_prefix=True, required_by=["a"]), sequence=8), None
    yield plan("gap", "gapped", 2, {"a": {}}), None
    yield policy("shadow", 2, policy_version="s1", shadow_planner="dependency-closed/1", id_redaction="hmac",
                 budget_units=12, generation_counts="rewrites", limits={"live_spans": 50}), "ps"  # fmt: skip
    yield append("shadow", span("a"), span("b", pairs_with=["a"]), span("c")), None
    yield {"type": "budget_requested", "window_id": "shadow", "request_id": "q1", "budget_units": 6}, None
    entry = {"id": "a", "priority": 1, "pinned": False, "cost_units": 5, "last_used_order": 0}
    seen = {"budget_units": 6, "status": "fits", "retained_ids": ["a"], "evicted_ids": ["b"], "entries": [entry]}
    observed = {"type": "planner_observed", "window_id": "shadow", "case_id": "c1", "planner": "x", **seen}
    yield observed | {"policy_version": "1"}, None
    yield {"type": "pipeline_observed", "window_id": "shadow", "case_id": "c2", "expected_id": "a",
           "retrieved_ids": ["a"], "eligible_ids": []}, None  # fmt: skip
    yield append("shut", span("a")), None
    yield {"type": "window_closed", "window_id": "shut"}, None
    yield cost("x", "one", 3), None
    yield cost("x", "two", 4), None
    yield cost("y", "one", 1, method="n"), None
    yield pin("main", "doc", 9), None
    yield '{"type": "window_opened", "window_id": ', None
    yield {"type": "no_such_type", "window_id": "main"}, None
    while True:  # fill up to UPTO with one window's long life: deltas after its snapshot
        yield {"type": "spans_used", "window_id": "main", "span_ids": ["ask", "sys"]}, None


def after() -> Iterator[tuple[Json | str, str | None]]:
    """Events whose answers rest on what was kept."""
    for window in ("main", "wait", "gap", "shadow", "shut", "reports"):
        yield {"type": "budget_requested", "window_id": window, "request_id": f"look-{window}", "budget_units": 0}, None
        yield plan(window, "after", 0, {"a": {}}), None
    for plan_id in ("swap", "refused", "bad", "stale1"):
        yield plan("main", plan_id, 0, {}), None
    yield append("main", span("dropped"), event_id="e0"), None
    yield pin("main", "ask", 5), "ps"
    yield append("main", span("dropped"), authority_seq=9, event_id="e1"), "ps"
    yield append("main", span("think"), turn=9), None
    yield append("main", span("later"), span("never"), turn=3), None
    yield append("main", span("taint", derived_from=["signed"], pinned=True, pin_owner="o", pin_reason="r"),
                 authority_seq=10), "ps"  # fmt: skip
    yield {"type": "spans_removed", "window_id": "main", "span_ids": ["call"]}, None
    swap = {"span_id": "sys2", "covers": ["sys"], "cost_units": 2}
    yield plan("main", "approved", 18, {"sys": {"disposition": "compress"}, "ask": {}}, replacements=[swap]), None
    yield append("main", span("closer", closes=["ask"])), None
    yield plan("main", "approved2", 19, {"sys": {"disposition": "compress"}, "ask": {}}, replacements=[swap]), None
    yield plan("main", "unpin", 20, {"later": {}}), None
    yield plan("wait", "again", 2, {"b": {}}), None
    yield {"type": "plan_committed", "window_id": "wait", "plan_id": "waits"}, None
    yield plan("wait", "amended", 3, {"a": {}, "b": {"disposition": "keep", "relevance": 0.9}}), None
    yield append("gap", span("late"), sequence=8), None
    yield {"type": "window_resynced", "window_id": "gap", "spans": [span("a")], "sequence": 9}, None
    yield plan("gap", "closed", 3, {"a": {}}), None
    yield (
        {"type": "budget_requested", "window_id": "shadow", "request_id": "q2", "budget_units": 6, "commit": True},
        None,
    )
    yield append("shut", span("b")), None
    yield cost("x", "three", 4), None
    yield policy("wait", 2, policy_version="w2", limits={"live_spans": 10**9}), "ps"


def inputs() -> Iterator[Record]:
    """All records of the story."""
    lines = [line for _, line in zip(range(UPTO), before(), strict=False)]
    for offset, (line, signer) in enumerate([*lines, *after()]):
        value = raw(line) if isinstance(line, dict) else line.encode()
        key = line["window_id"].encode() if isinstance(line, dict) else b"main"
        headers = sign(KEYS[signer], signer, TOPIC, value) if signer else []
        yield Record(TOPIC, 0, offset, key, value, headers)


def run(records: list[Record], windows: dict[str, Window]) -> list[Out]:
    engine = Engine(keyring=RING)
    return [out for record in records for out in engine.process(windows, record)]


def changelog(records: list[Record]) -> list[Change]:
    """What two owners, one after the other, write of the windows."""
    windows: dict[str, Window] = {}
    log: list[Change] = []
    half = len(records) // 2
    for number, part in enumerate((records[:half], records[half:])):
        extents = {} if not number else {w: {(b"owner--0", 1): _extent(log, w)} for w in windows}
        writer = ChangelogWriter(b"owner--%d" % number, extents)
        for start in range(0, len(part), BATCH):
            batch = part[start : start + BATCH]
            run(batch, windows)
            names = dict.fromkeys((record.key or b"").decode() for record in batch)
            log += writer.collect([(name, windows[name]) for name in names if name in windows])
    return log


def _extent(log: list[Change], window: str) -> Any:
    from array import array

    return array("H", [1] * sum(change.key.startswith(window.encode() + b"\0") for change in log))


def coded(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def written_out(out: Out) -> str:
    headers = {name: value.decode() for name, value in out.headers}
    return json.dumps({"topic": out.topic, "key": out.key.decode(), "headers": headers, "value": out.value.decode()})


def write(folder: Path) -> None:
    """Write the files of this version. Raises FileExistsError if they are there."""
    folder.mkdir()
    records = list(inputs())
    rows = [[coded(r.key), coded(r.value), [[n, coded(v)] for n, v in r.headers]] for r in records]
    (folder / "events.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "records.jsonl").write_text("".join(written_out(out) + "\n" for out in run(records, {})))
    rows = [[coded(c.key), coded(c.value)] for c in changelog(records[:UPTO])]
    (folder / "changelog.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


if __name__ == "__main__":
    write(DATA / f"v{VERSION}")
