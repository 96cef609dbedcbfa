"""Hostile ids through decoder, replay, import and file names: one line stays one line, and nothing is written."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from wirekit import Bench

from plangate.cli.main import cli
from plangate.core.policy import FORBIDDEN
from plangate.shell.logs import configure_logs, logger

PARTS = [
    "\0", "\n", "\r\n", "\t", "\x1b[2J", "\x1b]0;x\x07", "\x7f", "\x85", "\x9b31m", "\u2028",
    "\u2029", "\u202e", "\u2066",
    "\u200f", "\ufeff", "\ud800", "\udfff", "\U0001f600", "\U0001f468\u200d\U0001f469", "e\u0301",
    "\u0130", "ß", "\uffff",
    "../../etc/passwd", "..\\..\\x", "/etc/passwd", "C:\\con", "CON", "NUL", "~root", "-rf",
    "--help", "%s%n%x", "%00",
    "{0.__class__}", "{{7*7}}", "${jndi:ldap://x}", "$(id)", "`id`", "<%= 7 %>",
    "<script>alert(1)</script>", "' OR 1=1 --",
    '"', "\\", "'", "__proto__", "constructor", "null", "true", "NaN", "=cmd|' /C calc'!A0",
    "x" * 256, "x" * 257, "é" * 129,
]  # fmt: skip
#: each alone, before, behind and around a harmless text
IDS = [form.replace("@", part) for part in PARTS for form in ("@", "@a", "a@", "a@b@c")]


def lawful(text: str) -> bool:
    return not FORBIDDEN.search(text) and 1 <= len(text.encode("utf-8", "surrogatepass")) <= 256


def events(text: str) -> list[str]:
    """An append, and a plan that names the id everywhere; escaped, as JSON writers do, and as it is."""
    append = {"type": "span_appended", "window_id": text, "spans": [{"span_id": text, "cost_units": 1}, {"span_id": "z",
              "cost_units": 1, "depends_on": [text]}]}  # fmt: skip
    entry = {"span_id": text, "relevance": 0, "cited_dependencies": [text]}
    plan = {"type": "plan_proposed", "window_id": text, "plan_id": text, "window_generation": 1, "entries": [entry]}
    return [json.dumps(append), json.dumps(plan)]


def test_there_are_enough() -> None:
    assert len(set(IDS)) >= 200 and 50 < sum(map(lawful, IDS)) < len(IDS) - 50


@pytest.mark.parametrize("text", IDS, ids=range(len(IDS)))
def test_an_id_through_replay(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x").mkdir()
    monkeypatch.chdir(tmp_path / "x")
    done = CliRunner().invoke(cli, ["replay", "-"], input="\n".join(events(text)).encode())
    assert done.exit_code == 0 and done.exception is None
    lines = done.stdout_bytes.split(b"\n")
    assert lines.pop() == b""
    records = [json.loads(line) for line in lines]
    assert all(not FORBIDDEN.search(line.decode()) for line in lines), "no control or bidi character, raw"
    letters = [record for record in records if record["topic"] == "dead-letters"]
    if lawful(text):
        (refused,) = [r["value"] for r in records if r["topic"] == "plan-decisions"]
        assert not letters and refused["plan_id"] == refused["window_id"] == text
        assert [orphan["span_id"] for orphan in refused["orphans"]] == ["z"]
    else:
        assert len(letters) == len(records) == 2
        assert all(
            re.fullmatch(r"window_id|plan_id|(spans|entries)\[0\]\.span_id", r["value"]["path"]) for r in letters
        )
    assert list(tmp_path.rglob("*")) == [tmp_path / "x"]


@pytest.mark.parametrize("text", IDS, ids=range(len(IDS)))
def test_an_id_in_a_log_stays_one_line(text: str) -> None:
    stream = io.StringIO()
    configure_logs("info", "json", stream)
    logger.error("said", name=text.encode("utf-8", "replace").decode())
    assert stream.getvalue().count("\n") == 1 and len(stream.getvalue().splitlines()) == 1
    assert json.loads(stream.getvalue())["event"] == "said"


#: what a system can hand to a command: no NUL, no lone surrogate
ARGUMENTS = [text for text in IDS if not re.search("[\0\ud800-\udfff]", text)]


@pytest.mark.parametrize("text", ARGUMENTS, ids=range(len(ARGUMENTS)))
def test_an_id_as_a_window_and_as_a_file(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x").mkdir()
    monkeypatch.chdir(tmp_path / "x")
    good = json.dumps([{"role": "user", "content": "hello"}]).encode()
    for arguments in (
        ["import", "openai-chat", "-", "--window", text],
        ["replay", text],
        ["replay", "--policy", text, "-"],
    ):
        done = CliRunner().invoke(cli, arguments, input=good)
        assert done.exception is None or isinstance(done.exception, SystemExit), arguments
        assert "Traceback" not in done.output
    assert list(tmp_path.rglob("*")) == [tmp_path / "x"]


@pytest.mark.parametrize("text", [text for text in IDS if not lawful(text)], ids=range(sum(not lawful(t) for t in IDS)))
def test_an_unlawful_id_opens_nothing(text: str) -> None:
    bench = Bench()
    for line in events(text):
        (letter,) = bench.feed(line.encode(), key=text.encode("utf-8", "surrogatepass"))
        assert letter.topic == "dead-letters"
    assert not bench.windows
