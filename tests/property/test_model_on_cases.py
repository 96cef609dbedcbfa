"""The naive model itself must tell every public bug story as its case file expects."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from model import Model

CASES = sorted((Path(__file__).parent.parent / "cases" / "data").glob("*.json"))


def flat(record: dict[str, Any]) -> dict[str, Any]:
    """Planner units as one list of evicted ids, sorted where the expectation cannot tell their order."""
    if record["kind"] == "plan":
        return record | {"evicted_ids": [span_id for unit in record["units"] for span_id in unit]}
    return record


def agrees(expected: dict[str, Any], record: dict[str, Any]) -> bool:
    return all(record.get(name) == value for name, value in expected.items())


def test_the_cases_are_there() -> None:
    assert len(CASES) == 78


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_model_tells_the_case(path: Path) -> None:
    case = json.loads(path.read_text())
    model = Model(case["policy"])
    for line in case["lines"]:
        model.feed(json.dumps(line))
    records = [flat(record) for record in model.records]
    for kind in ("decision", "plan", "loss", "shadow"):
        expected = [r for r in case["expect"]["records"] if r["kind"] == kind]
        got = [r for r in records if r["kind"] == kind]
        assert len(got) == len(expected)
        for want, have in zip(expected, got, strict=True):
            assert agrees(want, have), (want, have)
    for want in case["expect"]["records"]:
        if want["kind"] in ("alert", "accounting"):
            assert any(agrees(want, have) for have in records), want
    for window_id, live in case["expect"]["live"].items():
        assert sorted(model.windows[window_id].live) == live
    for window_id, generation in case["expect"]["generation"].items():
        assert model.windows[window_id].generation == generation
