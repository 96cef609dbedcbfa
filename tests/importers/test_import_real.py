"""Every importer over every transcript of its format, against what another program counted in them."""

import re
from collections import Counter

import pytest

from plangate.importers import Transcript, events, parse

COLUMNS = (
    "file", "convs", "messages", "spans", "calls", "results", "provider", "batches", "widest", "thinking", "compact",
    "depends", "pairs", "req_by", "closes", "edits", "units", "dangling", "no_result", "reused", "parents", "bad_lines",
)  # fmt: skip
EDGES = ("depends_on", "pairs_with", "required_by", "closes")
# How the README words a figure -> our column. Microcompactions are judged by what they clear, further down.
STATED = {
    r"(\d+) conversations?": "convs",
    r"(\d+) provider-run calls?": "provider",
    r"\((\d+) batch(?:es)?\)": "batches",
    r"up to (\d+) calls at once": "widest",
    r"(\d+) thinking blocks?": "thinking",
    r"(?<!micro)(\d+) compactions?": "compact",
    r"(\d+) results? without call": "dangling",
    r"(\d+) calls? without result": "no_result",
    r"(\d+) reused call ids": "reused",
    r"(\d+) missing parents?": "parents",
    r"(\d+) lines? that (?:is|are) not JSON": "bad_lines",
}


def count(transcript: Transcript) -> dict[str, int]:
    """Our figures. As in the README, sub-agent records count neither as messages nor as calls."""
    own = [one for one in transcript.conversations if not (one.name or "").startswith("agent-")]
    turns = [turn for one in own for turn in one.turns]
    spans = [span for turn in turns for span in turn.spans]
    kinds = Counter(span.kind for span in spans)
    provider = sum(span.span_id.startswith("srvtoolu_") and span.kind == "tool_call" for span in spans)
    widths = Counter(span.pairs_with for span in spans if span.kind == "tool_call" and span.pairs_with)
    problems = Counter(problem.problem for problem in transcript.problems)
    edges = {name: sum(len(getattr(span, name)) for span in spans) for name in EDGES}
    return {
        "convs": len(transcript.conversations),
        "messages": sum(one.messages for one in own),
        "spans": len(spans),
        "calls": kinds["tool_call"] - provider,
        "results": kinds["tool_result"] - provider,
        "provider": provider,
        "batches": len(widths),
        "widest": max(widths.values(), default=0) + 1,
        "thinking": kinds["reasoning"],
        "compact": sum(bool(turn.removed) for turn in turns),
        "depends": edges["depends_on"],
        "pairs": edges["pairs_with"],
        "req_by": edges["required_by"],
        "closes": edges["closes"],
        "edits": sum(len(turn.edited) for turn in turns),
        "units": sum(span.cost_units for span in spans),
        "dangling": problems["result_without_call"],
        "no_result": problems["call_without_result"],
        "reused": problems["reused_call_id"],
        "parents": problems["missing_parent"],
        "bad_lines": problems["glued_line"] + problems["broken_line"],
    }


def expected(row: list[str]) -> dict[str, int]:
    """The README's figures; what it doesn't mention is none."""
    found = {"messages": int(row[4])} | dict(zip(("calls", "results"), map(int, row[5].split(" / ")), strict=True))
    for pattern, column in STATED.items():
        match = re.search(pattern, row[6])
        found[column] = int(match[1]) if match else {"widest": 1, "convs": None}.get(column, 0)
    return {column: figure for column, figure in found.items() if figure is not None}


def test_figures_are_those_of_the_readme(transcript_file, data, stated, table):
    format = transcript_file.parent.name
    row = stated[f"{format}/{transcript_file.name}"]
    figures, stated_figures = count(parse(format, data)), expected(row)
    if not table:
        table.append(list(COLUMNS))
    cells = [f"{figures[name]}{'*' if name in stated_figures else ''}" for name in COLUMNS[1:]]
    table.append([transcript_file.name.split(".json")[0], *cells])
    assert {name: figures[name] for name in stated_figures} == stated_figures


def test_every_stated_file_is_there(stated, files):
    assert sorted(stated) == sorted(files)


def test_events_are_lawful(transcript_file, data, check_events):
    transcript = parse(transcript_file.parent.name, data)
    live = check_events(events(transcript, "w"))
    assert len(live) == len(transcript.conversations)


def test_every_result_has_the_edges_of_its_call(transcript_file, data):
    """Each result but the dangling ones, bound to a call that nothing else was bound to."""
    transcript = parse(transcript_file.parent.name, data)
    spans = [span for one in transcript.conversations for turn in one.turns for span in turn.spans]
    results = [span for span in spans if span.kind == "tool_result"]
    bound = [span for span in results if span.depends_on]
    assert all(s.depends_on == s.needs_verbatim == s.pairs_with == s.closes and len(s.closes) == 1 for s in bound)
    dangling = sum(
        problem.problem in ("result_without_call", "result_of_closed_call") for problem in transcript.problems
    )
    assert len(results) - len(bound) == dangling
    for one in transcript.conversations:
        calls = [span.depends_on for turn in one.turns for span in turn.spans if span in bound]
        assert len(calls) == len(set(calls))


@pytest.mark.parametrize(
    "name, cleared, missing, saved", [("cc-microcompact", 11, 0, 20_801), ("cc-microcompact-ids-absent", 0, 14, None)]
)
def test_microcompaction_clears_the_results_it_names(name, cleared, missing, saved, unpacked):
    transcript = parse("claude-code", unpacked(f"claude-code/{name}.jsonl.gz"))
    sizes: dict[str, int] = {}
    smaller = []
    for turn in transcript.conversations[0].turns:
        smaller += [sizes[span.span_id] - span.cost_units for span in turn.edited if span.kind == "tool_result"]
        sizes |= {span.span_id: span.cost_units for span in turn.edited + turn.spans}
    assert len(smaller) == cleared
    assert sum(problem.problem == "cleared_result_not_live" for problem in transcript.problems) == missing
    if saved:
        assert 0.9 < sum(smaller) / saved < 1.1  # the program's own count of what it saved


def test_the_real_condensation_is_there_as_plan_material(unpacked):
    data = unpacked("openhands-v0/oh-v0-297-events-condensation.json.gz")
    turns = parse("openhands-v0", data).conversations[0].turns
    first, second = (turn for turn in turns if turn.reason == "condensation")
    numbers = [sorted(int(span_id.removeprefix("event-")) for span_id in turn.removed) for turn in (first, second)]
    assert [(range_[0], range_[-1]) for range_ in numbers] == [(9, 74), (75, 160)]
    assert [turn.spans[0].span_id for turn in (first, second)] == ["event-150", "event-234"]
    assert 150 in numbers[1]  # the second swallows the first one's summary
    parted = next(span for turn in turns for span in turn.spans if span.span_id == "event-162")
    assert parted.pairs_with == parted.depends_on == ("event-160",)  # and parts this pair
