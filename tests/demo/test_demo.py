"""`make demo` as a newcomer sees it: the real worker on the embedded broker, a real transcript, five decisions."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_demo_ends_by_itself_and_shows_each_outcome(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "plangate.cli", "demo", "--out", str(tmp_path)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=180)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    shown = [line.split()[0] for line in ran.stdout.splitlines() if line.strip().startswith(("ACC", "DEF", "REF"))]
    assert shown == ["DEFERRED", "REFUSED", "ACCEPTED", "ACCEPTED", "REFUSED"]
    records = [json.loads(line) for line in (tmp_path / "decisions.jsonl").read_text().splitlines()]
    decisions = [r["value"] for r in records if r["topic"] == "plan-decisions"]
    by_plan = {d["plan_id"]: d for d in decisions}
    assert by_plan["stale"]["reason"] == "generation_changed"
    refusal = by_plan["trim-oldest"]
    assert refusal["reasons"] == ["orphans"] and refusal["resolution"]["complete"]
    assert by_plan["trim-resolved"]["retained_cost_units"] == refusal["resolution"]["retained_cost_units"]
    (parted,) = (d for d in decisions if d["type"] == "plan_refused" and d["window_id"] == "demo-openhands")
    assert {b["span_id"] for orphan in parted["orphans"] for b in orphan["broken"]} == {"event-160"}
    assert str(tmp_path / "decisions.jsonl") in ran.stdout.replace("\n", "")
    command = [sys.executable, "-m", "plangate.cli", "audit", "verify", str(tmp_path / "decisions.jsonl")]
    report = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60).stdout.splitlines()
    # The demo ends with the last decision and may not see what was published beside it.
    kinds = {json.loads(line).get("finding") for line in report} - {None, "decision_unlinked", "refusal_missing"}
    assert kinds == set() and json.loads(report[-1])["summary"]["audit_records"] >= 4
