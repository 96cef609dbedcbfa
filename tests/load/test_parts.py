"""Scripts, quantiles, axes, and what is read of a worker's metrics."""

import asyncio
import json
import socket
from pathlib import Path

import pytest
from loadkit import SMALL, TRANSCRIPTS

from plangate.importers import parse
from plangate.importers.events import conversation_events
from plangate.load.figures import quantiles
from plangate.load.scrape import addresses, cpu_shares, read_metrics
from plangate.load.scripts import ScriptError, read_scripts
from plangate.load.svg import line_chart, nice_ticks, short


def test_a_script_is_the_importers_events() -> None:
    file = TRANSCRIPTS / "claude-code" / "cc-small-error.jsonl"
    transcript = parse("claude-code", file.read_bytes())
    [[script]] = read_scripts([file])
    opened, *wanted = conversation_events(transcript, transcript.conversations[0], 'w"1')
    assert [json.loads(step.value('w"1')) for step in script] == wanted
    assert sum(step.ends_turn for step in script) == len(transcript.conversations[0].turns)


def test_folders_and_files_give_the_same_scripts() -> None:
    assert len(read_scripts([TRANSCRIPTS])) == 22
    assert read_scripts([SMALL[0], SMALL[0]]) == read_scripts([SMALL[0]])


def test_what_is_no_transcript_is_told_by_path_and_never_by_content(tmp_path: Path) -> None:
    folder = tmp_path / "claude-code"
    folder.mkdir()
    with pytest.raises(ScriptError, match="no transcript"):
        read_scripts([tmp_path])
    (folder / "bad.json.gz").write_bytes(b"\x1f\x8bsecret")
    with pytest.raises(ScriptError, match="bad.json.gz") as error:
        read_scripts([tmp_path])
    assert "secret" not in str(error.value)
    with pytest.raises(ScriptError, match="named for its format"):
        read_scripts([tmp_path / "loose.json"])


def test_quantiles_are_of_what_was_seen() -> None:
    assert quantiles([]) is None
    assert quantiles([3.0]) == [3.0, 3.0, 3.0, 3.0]
    assert quantiles([float(n) for n in range(100, 0, -1)]) == [50.0, 95.0, 99.0, 100.0]


@pytest.mark.parametrize("most", [0.003, 0.7, 1, 7, 19, 100, 101, 12_345, 3e8])
def test_axes_reach_the_most_in_few_round_steps(most: float) -> None:
    ticks = nice_ticks(most)
    assert ticks[0] == 0
    assert ticks[-1] >= most * 0.999
    assert 2 <= len(ticks) <= 7


def test_axis_numbers_are_short() -> None:
    assert [short(n) for n in (0, 0.25, 950, 10_000, 2_500_000, 3e9)] == ["0", "0.25", "950", "10k", "2.5M", "3G"]


def test_a_chart_has_gaps_where_nothing_was_measured() -> None:
    drawn = line_chart("x", {"a": [(0, 1.0), (1, None), (2, 1.0), (3, 2.0)]})
    [path] = [part for part in drawn.split("<") if part.startswith("path")]
    assert path.count("M") == 2
    assert path.count("L") == 1
    assert line_chart("x", {"a": [(0, None)]}) == line_chart("x", {}) == ""


PAGE = """# HELP process_cpu_seconds_total Total
process_cpu_seconds_total 12.5
process_resident_memory_bytes 7.5e+07
plangate_windows 12.0
plangate_decisions_total{outcome="accepted"} 3.0
plangate_partitions what
"""


def test_metrics_are_read() -> None:
    assert read_metrics(PAGE) == {"cpu_seconds": 12.5, "memory_bytes": 7.5e7, "windows": 12.0}


def test_cpu_is_the_share_of_the_time_between_and_none_after_a_restart() -> None:
    before = {"a": {"cpu_seconds": 10.0}, "b": {"cpu_seconds": 10.0}, "gone": {"cpu_seconds": 1.0}}
    after = {"a": {"cpu_seconds": 11.0}, "b": {"cpu_seconds": 0.5}, "new": {"cpu_seconds": 3.0}}
    assert dict(cpu_shares(before, after, 2.0)) == {"a": 0.5}


@pytest.mark.parametrize(
    ("url", "found"),
    [("worker:7", ["1.2.3.4:7", "1.2.3.5:7"]), ("http://worker", ["1.2.3.4:6066", "1.2.3.5:6066"]), ("gone:1", [])],
)
def test_all_addresses_of_a_name_are_workers(monkeypatch: pytest.MonkeyPatch, url: str, found: list[str]) -> None:
    def resolve(host: str, port: int, *_: object, **__: object) -> list:
        if host != "worker":
            raise socket.gaierror
        return [(socket.AF_INET, 1, 6, "", (address, port)) for address in ("1.2.3.5", "1.2.3.4", "1.2.3.5")]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    assert asyncio.run(addresses(url)) == found
