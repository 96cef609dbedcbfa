"""The bench at sizes that take no time: it checks that outputs agree before it times them. No time is asserted."""

import pytest

from bench import core, planner
from bench.__main__ import main
from bench.measure import Spread
from bench.report import Row, table


@pytest.mark.parametrize("section", ["core", "scale", "planner", "append", "memory"])
def test_section_runs_and_its_outputs_agree(section: str, capsys: pytest.CaptureFixture[str]) -> None:
    rows = main([section, "--tiny"])
    assert rows and all(row.section == section and row.ratio.low > 0 for row in rows)
    assert capsys.readouterr().out.count("\n") == len(rows) + 2


def test_core_fails_where_the_answers_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core.second_seed, "THRESHOLD", 0.95)
    with pytest.raises(AssertionError):
        core.run(tiny=True)


def test_planner_fails_where_the_answers_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = planner.plan_eviction
    monkeypatch.setattr(planner, "plan_eviction", lambda entries, budget: answer(entries, budget + 10**6))
    with pytest.raises(AssertionError):
        planner.run(tiny=True)


def test_goals_are_judged_at_the_median() -> None:
    row = Row("s", "w", Spread(0.1, 0.6, 0.7), "", 0.5)
    assert row.reached is False and "**no**" in table([row])
    assert Row("s", "w", Spread(0.1, 0.6, 0.7), "", 0.5, at_most=False).reached is True
    assert Row("s", "w", Spread(0.1, 0.6, 0.7), "").reached is None
