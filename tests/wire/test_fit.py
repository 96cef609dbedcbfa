"""Answers to the largest lawful plans fit a record; what was cut is counted and digested (contract section 7)."""

from __future__ import annotations

import json
from hashlib import sha256

import pytest

from plangate.wire.replay import replay_lines

RECORD_BYTES = 8_388_608
SPANS, ID_BYTES = 19_000, 256


def compact(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def ids() -> list[str]:
    return [f"{number:06d}".rjust(ID_BYTES, "x") for number in range(SPANS)]


def stream(shape: str) -> list[dict]:
    """A window of long ids, and a plan that evicts most of it: freely, or with an orphan for each span that stays."""
    names = ids()
    spans = [{"span_id": name, "cost_units": 1} for name in names]
    going = names[:-1]
    if shape == "orphans":
        going = names[: SPANS // 2]
        for lost, kept in zip(going, spans[SPANS // 2 :], strict=True):
            kept["depends_on"] = kept["pairs_with"] = [lost]
    lines = [
        {"type": "span_appended", "window_id": "w", "spans": spans[start : start + 1000]}
        for start in range(0, SPANS, 1000)
    ]
    entries = [{"span_id": name, "relevance": 0} for name in going]
    plan = {"type": "plan_proposed", "window_id": "w", "plan_id": "p", "window_generation": len(lines)}
    return [*lines, plan | {"entries": entries}]


@pytest.mark.parametrize(
    ("shape", "kind", "cut_list"), [("free", "accepted", "commit_order"), ("orphans", "refused", "orphans")]
)
def test_answers_of_the_largest_plans_fit(shape: str, kind: str, cut_list: str) -> None:
    records = [json.loads(line) for line in replay_lines(map(json.dumps, stream(shape)))]
    for record in records:
        assert len(compact(record["value"])) + len(record["key"]) < RECORD_BYTES
    (decision,) = (r["value"] for r in records if r["topic"] == "plan-decisions")
    assert decision["type"] == f"plan_{kind}"
    assert list(decision["cut"]) == [cut_list]
    cut = decision["cut"][cut_list]
    assert 0 < len(decision[cut_list]) < cut["count"] == (SPANS - 1 if shape == "free" else SPANS // 2)
    if shape == "free":
        assert decision["evicted_ids"] == ids()[:-1]
        # Nothing depends on anything here, so the order of the whole list is told by the part that is left.
        whole = sorted(ids()[:-1], reverse=decision["commit_order"][0] != ids()[0])
        assert cut["sha256"] == sha256(compact(whole)).hexdigest()


def test_an_ordinary_plan_is_answered_whole() -> None:
    lines = [
        {"type": "span_appended", "spans": [{"span_id": f"s{n}", "cost_units": 1} for n in range(900)]},
        {
            "type": "plan_proposed",
            "plan_id": "p",
            "window_generation": 1,
            "entries": [{"span_id": f"s{n}", "relevance": 0} for n in range(800)],
        },
    ]
    (decision,) = (
        record["value"]
        for record in map(json.loads, replay_lines(json.dumps({**line, "window_id": "w"}) for line in lines))
        if record["topic"] == "plan-decisions"
    )
    assert len(decision["evicted_ids"]) == 800 and "cut" not in decision
