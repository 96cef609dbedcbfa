"""The page is whole by itself, holds no script, and shows hostile names as text."""

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from loadkit import MemoryBus
from test_run import run

from plangate.load.page import page
from plangate.load.report import read_notes, report

HOSTILE = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>&amp;"
VOID = {"meta", "link", "line", "br"}


class Reader(HTMLParser):
    """All tags and attributes, with their nesting checked."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert not any(name.startswith("on") for name, _ in attrs)
        self.links += [value or "" for name, value in attrs if name in ("src", "href", "xlink:href", "data", "action")]
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def doc() -> dict[str, Any]:
    return report(run(MemoryBus(), ramp_factor=1.5, ramp_step=0.02), {"agents": 8})


def with_names(doc: dict[str, Any], name: str) -> dict[str, Any]:
    """A copy with a name in every place that may hold a word from outside, and figures for each chart."""
    copy = json.loads(json.dumps(doc))
    copy["ended"] = copy["started"] = copy["machine"]["system"] = copy["machine"]["python"] = name
    figures = {"cpu_cores": 0.5, "memory_bytes": 1e8, "windows": 3.0}
    for number, sample in enumerate(copy["samples"]):
        sample["workers"] = {name: figures} if number % 2 else {}
    copy["container_samples"] = [{"at": 1.0, "containers": {name: figures}}]
    told = {"from": 0, "to": 1, "cpu_cores_mean": None, "cpu_cores_max": 0.5, "memory_bytes_max": 5, "windows_max": 1}
    copy["workers"] = copy["containers"] = {name: told}
    copy["actions"] = [{"at": 0.1, "action": name}]
    for field in ("outcomes", "reasons", "wishes", "deferral_streaks", "plans_to_acceptance"):
        copy[field] = {name: 3}
    copy["options"] = {name: name}
    return copy


def test_the_page_needs_nothing_and_runs_nothing(doc: dict[str, Any]) -> None:
    text = page(with_names(doc, "worker-1"))
    read = Reader(text)
    assert read.links == []
    assert not {"script", "iframe", "img", "object", "embed", "form", "link", "foreignobject"} & set(read.tags)
    assert "http:" not in text and "https:" not in text and "url(" not in text and "@import" not in text
    assert "default-src 'none'" in text
    assert read.tags.count("path") > 8


def test_hostile_names_are_text(doc: dict[str, Any]) -> None:
    plain, hostile = (Reader(page(with_names(doc, name))) for name in ("name", HOSTILE))
    assert hostile.tags == plain.tags
    assert hostile.text.count(HOSTILE) == plain.text.count("name") > 15


def test_a_failed_check_is_told(doc: dict[str, Any]) -> None:
    assert "every acknowledged proposal was answered" in Reader(page(doc)).text
    failed = json.loads(json.dumps(doc))
    failed["check"] |= {"passed": False, "unanswered": 3, "conflicting": 2}
    assert "3 unanswered, 2 with conflicting answers" in Reader(page(failed)).text


def test_a_run_without_a_single_figure_has_a_page(doc: dict[str, Any]) -> None:
    empty = json.loads(json.dumps(doc))
    for field in ("outcomes", "reasons", "wishes", "deferral_streaks", "plans_to_acceptance", "latency_ms", "options"):
        empty[field] = {}
    empty["samples"], empty["ramp"] = [], None
    Reader(page(empty))


def test_the_report_holds_no_content_and_no_ids_of_spans(doc: dict[str, Any]) -> None:
    bus = MemoryBus()
    text = json.dumps(told := report(run(bus), {})) + page(told)
    spans = {span["span_id"] for value in bus.values for span in json.loads(value).get("spans", ())}
    assert len(spans) > 50
    assert not [span_id for span_id in spans if f'"{span_id}"' in text or f">{span_id}<" in text]
    assert "....." not in text  # what the rationales are made of


def test_notes_are_read_and_bad_ones_left_out(tmp_path: Path) -> None:
    good = [{"at": 5.0, "action": "worker added"}, {"at": 6, "containers": {"kafka": {"cpu_cores": 0.5}}}]
    bad = ["", "{", "[]", "3", '{"at": "x", "action": "y"}', '{"at": 1, "action": 2}', '{"at": 1, "containers": [1]}']
    bad += ['{"at": 1, "containers": {"a": {"b": "c"}}}', '{"at": 1}']
    file = tmp_path / "notes.jsonl"
    file.write_text("\n".join([*bad, *map(json.dumps, good)]))
    assert read_notes(file) == good
    assert read_notes(tmp_path / "none") == read_notes(None) == []
