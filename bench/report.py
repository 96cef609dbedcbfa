"""What was measured, as a table: the goal, the ratio's spread, whether it was reached, absolute figures."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from .measure import Spread

HEAD = "| section | what | goal | min / median / max | reached | absolute, this machine's |"


@dataclass(frozen=True)
class Row:
    """One measured ratio. ``goal`` None: no goal was set, the figure is there to be known. Judged at the median."""

    section: str
    what: str
    ratio: Spread
    absolute: str
    goal: float | None = None
    at_most: bool = True

    @property
    def reached(self) -> bool | None:
        if self.goal is None:
            return None
        return self.ratio.middle <= self.goal if self.at_most else self.ratio.middle >= self.goal

    def line(self) -> str:
        goal = "" if self.goal is None else f"{'at most' if self.at_most else 'at least'} {self.goal:g}"
        verdict = {None: "", True: "yes", False: "**no**"}[self.reached]
        return f"| {self.section} | {self.what} | {goal} | {self.ratio} | {verdict} | {self.absolute} |"


def table(rows: Iterable[Row]) -> str:
    """Markdown; ends with a newline."""
    return "\n".join([HEAD, "| --- | --- | --- | --- | --- | --- |", *(row.line() for row in rows)]) + "\n"


def as_json(rows: Iterable[Row]) -> str:
    return json.dumps([{**asdict(row), "reached": row.reached} for row in rows], indent=1)
