"""One hot window under a flood of plans, and its neighbours (a process of its own, under a memory ceiling)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).with_name("hot_window.py")
#: of address space, libraries included
CEILING = 1_024


def test_a_flood_on_a_window_of_200_000_spans_stays_below_the_ceiling_and_leaves_others_alone() -> None:
    run = subprocess.run(
        [sys.executable, str(PROGRAM), "200000", "1500", str(CEILING)], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr[-2_000:]
    told = json.loads(run.stdout)
    assert told["live"] == 200_000
    assert told["peak"] < CEILING
    # As many answers as the memory of a generation holds are whole; then there are too many.
    assert told["longest"] > 8_000_000
    whole = told["flood"].pop("orphans")
    assert 0 < whole <= 9
    assert told["flood"] == {"too_many_proposals": 1_500 - whole}
    # Neighbours get their answers as ever, for as much work as ever.
    assert told["others"] == {"orphans": 30 * 5}
    before, after = told["work"]
    assert after <= before * 1.1
