"""Transcripts, and the table that the summary of a run ends with."""

import gzip
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

TRANSCRIPTS = Path(__file__).parents[1] / "data" / "transcripts"
FILES = sorted(path for path in TRANSCRIPTS.glob("*-*/*") if path.is_file())
_TABLE = pytest.StashKey[list[list[str]]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash.setdefault(_TABLE, [])


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "transcript_file" in metafunc.fixturenames:
        names = [str(path.relative_to(TRANSCRIPTS)) for path in FILES]
        metafunc.parametrize("transcript_file", FILES, ids=names)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    rows = config.stash[_TABLE]
    if len(rows) < 2:
        return
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    terminalreporter.section("transcripts imported; * = stated by the data's README and equal to it")
    for row in rows:
        numbers = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        terminalreporter.write_line("  ".join([row[0].ljust(widths[0]), *numbers]))


@pytest.fixture(scope="session")
def table(pytestconfig: pytest.Config) -> list[list[str]]:
    """Rows of the summary's table; the first is the header."""
    return pytestconfig.stash[_TABLE]


@pytest.fixture(scope="session")
def stated() -> dict[str, list[str]]:
    """Cells of the README's table of files, by `format/file`."""
    rows = (line.strip("| ").split(" | ") for line in (TRANSCRIPTS / "README.md").read_text().splitlines())
    return {row[0]: row for row in rows if len(row) == 7 and "/" in row[0]}


@pytest.fixture(scope="session")
def files() -> list[str]:
    """All transcripts, as `format/file`."""
    return [f"{path.parent.name}/{path.name}" for path in FILES]


@pytest.fixture(scope="session")
def unpacked() -> Callable[[str], bytes]:
    """The unpacked bytes of a transcript, by `format/file`."""

    def read(name: str) -> bytes:
        raw = (TRANSCRIPTS / name).read_bytes()
        return gzip.decompress(raw) if name.endswith(".gz") else raw

    return read


@pytest.fixture
def data(transcript_file: Path, unpacked: Callable[[str], bytes]) -> bytes:
    """The unpacked bytes of the transcript that a test is given."""
    return unpacked(str(transcript_file.relative_to(TRANSCRIPTS)))


@pytest.fixture(scope="session")
def check_events() -> Callable[[Iterable[dict]], dict[str, dict[str, dict]]]:
    """A judge of events that shares no code with the package: raises AssertionError on anything unlawful."""
    return _check_events


def _check_events(events: Iterable[dict]) -> dict[str, dict[str, dict]]:
    """Contract sections 2 and 7, and no id used twice. The live spans of each window afterwards."""
    live: dict[str, dict[str, dict]] = {}
    seen: dict[str, set[str]] = {}
    for event in events:
        window, kind = event["window_id"], event["type"]
        _check_id(window)
        spans = live.setdefault(window, {})
        if kind == "spans_removed":
            assert 0 < len(event["span_ids"]) <= 1000 and len(set(event["span_ids"])) == len(event["span_ids"])
            for span_id in event["span_ids"]:
                del spans[span_id]
        elif kind == "span_edited":
            assert event["span"]["span_id"] in spans
            spans[event["span"]["span_id"]] = event["span"]
        elif kind == "span_appended":
            assert 0 < len(event["spans"]) <= 1000 and event["turn"] >= 1
            for span in event["spans"]:
                assert span["span_id"] not in seen.setdefault(window, set())
                seen[window].add(span["span_id"])
                _check_span(span, spans)
                spans[span["span_id"]] = span
        else:
            assert kind == "window_opened" and not spans
    return live


_EDGES = ("depends_on", "needs_verbatim", "required_by", "pairs_with", "closes")
_FIELDS = {"span_id", "kind", "cost_units", "needs_prefix", "open", "accounting", *_EDGES}
_KINDS = "system user assistant tool_call tool_result reasoning document diff summary memory other".split()


def _check_span(span: dict, live: dict[str, dict]) -> None:
    assert (
        span.keys() <= _FIELDS and span["kind"] in _KINDS and span["accounting"].keys() == {"method", "input_version"}
    )
    assert type(span["cost_units"]) is int and 0 < span["cost_units"] <= 2**53
    _check_id(span["span_id"])
    for edge in _EDGES:
        ids = span.get(edge, [])
        assert len(ids) <= 64 and len(set(ids)) == len(ids)
        assert all(other in live for other in ids), edge
    assert set(span.get("needs_verbatim", [])) <= set(span.get("depends_on", []))


def _check_id(value: str) -> None:
    assert 1 <= len(value.encode()) <= 256 and value.isprintable() and value.isascii()
