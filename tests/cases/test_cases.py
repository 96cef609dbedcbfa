"""Every public bug story through `plangate replay --policy`, as a user runs it (contract section 9)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from plangate.cli.main import cli

CASES = sorted((Path(__file__).parent / "data").glob("*.json"))
KINDS = {
    "decision": ("plan-decisions", None),
    "plan": ("eviction-plans", "eviction_planned"),
    "shadow": ("eviction-plans", "shadow_compared"),
    "loss": ("window-diagnostics", "loss_located"),
    "accounting": ("window-diagnostics", "accounting_compared"),
    "alert": ("window-alerts", "window_alert"),
}
LAST_LOOK = "last-look"
HUGE = 2**40


def replay(lines: list[dict[str, Any]], policy: dict[str, Any], folder: Path) -> list[dict[str, Any]]:
    events, rules = folder / "events.jsonl", folder / "policy.json"
    events.write_text("".join(json.dumps(line) + "\n" for line in lines))
    rules.write_text(json.dumps(policy))
    result = CliRunner().invoke(cli, ["replay", str(events), "--policy", str(rules)])
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def look_at(window_id: str) -> dict[str, Any]:
    """A request that retains everything, so its answer names the live spans and the generation."""
    request = {"type": "budget_requested", "window_id": window_id, "request_id": LAST_LOOK, "budget_units": HUGE}
    return {"value": request}


def of_kind(records: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    topic, tag = KINDS[kind]
    values = [record["value"] for record in records if record["topic"] == topic]
    return [v for v in values if tag in (None, v["type"]) and v.get("request_id") != LAST_LOOK]


def agrees(expected: dict[str, Any], value: dict[str, Any]) -> bool:
    return all(value.get(name) == wanted for name, wanted in expected.items() if name != "kind")


def test_all_case_files_are_here() -> None:
    assert len(CASES) == 78


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_case(path: Path, tmp_path: Path) -> None:
    case = json.loads(path.read_text())
    expect = case["expect"]
    looks = [look_at(window_id) for window_id in expect["live"]]
    records = replay([*case["lines"], *looks], case["policy"], tmp_path)
    for kind in ("decision", "plan", "loss", "shadow"):
        wanted = [r for r in expect["records"] if r["kind"] == kind]
        values = of_kind(records, kind)
        assert len(values) == len(wanted), f"{kind}: {values}"
        for want, value in zip(wanted, values, strict=True):
            assert agrees(want, value), f"wanted {want}, got {value}"
    for kind in ("alert", "accounting"):
        for want in (r for r in expect["records"] if r["kind"] == kind):
            assert any(agrees(want, value) for value in of_kind(records, kind)), f"missing: {want}"
    seen = {r["value"]["window_id"]: r["value"] for r in records if r["value"].get("request_id") == LAST_LOOK}
    for window_id, live in expect["live"].items():
        assert seen[window_id]["retained_ids"] == live
        assert seen[window_id]["generation"] == expect["generation"][window_id]


def test_the_check_can_fail(tmp_path: Path) -> None:
    case = json.loads((Path(__file__).parent / "data" / "C01.default.json").read_text())
    records = replay(case["lines"], case["policy"] | {"amend_plans": True}, tmp_path)
    assert not agrees(case["expect"]["records"][0], of_kind(records, "decision")[0])
