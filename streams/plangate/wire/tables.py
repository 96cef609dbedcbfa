"""Tables for people, generated from the tables that the program decides by (contract section 4)."""

from __future__ import annotations

from ..core.reasons import REASONS

START, END = "<!-- decisions:start -->", "<!-- decisions:end -->"


def decision_table() -> str:
    """Every reason as a Markdown table, in the order in which the gate comes to them; ends with a newline."""
    rows = ["| outcome | reason | what it says | waits for | what may help |", "| --- | --- | --- | --- | --- |"]
    rows.append("| accept | | the plan is committed as one change, or awaits confirmation | | |")
    for name, reason in REASONS.items():
        cells = (reason.outcome, f"`{name}`", reason.words, reason.waits_for and f"`{reason.waits_for}`", reason.retry)
        rows.append("|" + "|".join(f" {cell} " if cell else " " for cell in cells) + "|")
    return "\n".join(rows) + "\n"


def with_table(text: str) -> str:
    """A document with the table between its two markers brought up to date. Raises ValueError without the markers."""
    head, rest = text.split(START, 1)
    _, tail = rest.split(END, 1)
    return f"{head}{START}\n{decision_table()}{END}{tail}"
