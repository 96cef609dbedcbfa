"""`plangate audit verify FILE` as users run it: its lines, its statuses, and no Kafka library."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from audit_sample import INPUTS, links, sample
from click.testing import CliRunner, Result

from plangate.cli import audit
from plangate.cli.main import cli

SAMPLE, LINKS = b"\n".join(sample()) + b"\n", b"\n".join(links()) + b"\n"


class Desk:
    """A folder with a log, its inputs, and the command."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log, self.inputs = self.file("log.jsonl", SAMPLE), self.file("events.jsonl", b"\n".join(INPUTS))

    def file(self, name: str, text: bytes) -> str:
        path = self.folder / name
        path.write_bytes(text)
        return str(path)

    def verify(self, *arguments: str, stdin: bytes | None = None) -> Result:
        result = CliRunner().invoke(cli, ["audit", "verify", *arguments], input=stdin)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def report(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_a_whole_log(desk: Desk) -> None:
    result = desk.verify(desk.log)
    assert result.exit_code == 0, result.output
    assert report(result) == [
        {
            "summary": {
                "whole": True, "findings": 0, "checked": ["chain", "decisions"], "windows": 3, "audit_records": 30,
                "decisions": 17, "refusals": 7, "unchained_decisions": 3, "repeats": 4, "other_records": 0,
                "undecided_inputs": None,
            }
        }
    ]  # fmt: skip


def test_what_replay_prints_is_whole_under_its_inputs(desk: Desk) -> None:
    printed = CliRunner().invoke(cli, ["replay", desk.inputs]).stdout_bytes
    for arguments in ([desk.file("all.jsonl", printed)], ["-"]):
        result = desk.verify(*arguments, "--inputs", desk.inputs, stdin=printed)
        assert result.exit_code == 0, result.output
        (summary,) = (fact["summary"] for fact in report(result))
        assert summary["checked"] == ["chain", "decisions", "inputs"] and summary["other_records"] > 30


def test_findings_are_lines_and_a_status(desk: Desk) -> None:
    forged = SAMPLE.replace(b'"kind":"authority"', b'"kind":"host_rewrite"', 1)
    result = desk.verify(desk.file("forged.jsonl", forged))
    assert result.exit_code == 1
    finding, last = report(result)
    assert (finding["finding"], finding["topic"]) == ("hash_mismatch", "audit-log")
    assert finding["line"] == 1 + next(n for n, line in enumerate(SAMPLE.splitlines()) if b'"authority"' in line)
    assert len(finding["expected"]) == len(finding["found"]) == 64
    assert last["summary"]["findings"] == 1 and not last["summary"]["whole"]
    text = desk.verify(desk.file("forged.jsonl", forged), "--format", "text").stdout.splitlines()
    assert text[0].startswith("hash_mismatch topic=") and text[-1].startswith("summary whole=false findings=1 ")


def test_other_inputs_or_another_policy_are_findings(desk: Desk) -> None:
    other = desk.file("other.jsonl", b"\n".join(INPUTS[:20] + INPUTS[21:]))
    assert desk.verify(desk.log, "--inputs", other).exit_code == 1
    policy = desk.file("policy.json", b'{"policy_version":"other/1"}')
    assert desk.verify(desk.log, "--inputs", desk.inputs, "--policy", policy).exit_code == 1
    replayed = CliRunner().invoke(cli, ["replay", desk.inputs, "--policy", policy]).stdout_bytes
    log = desk.file("with-policy.jsonl", replayed)
    assert desk.verify(log, "--inputs", desk.inputs, "--policy", policy).exit_code == 0


def test_heads_are_saved_of_whole_logs_and_asked_later(desk: Desk) -> None:
    heads = desk.folder / "heads.jsonl"
    lines = LINKS.splitlines(keepends=True)
    broken = desk.file("broken.jsonl", b"".join(lines[:5] + lines[6:]))
    assert desk.verify(broken, "--chain-only", "--save-heads", str(heads)).exit_code == 1
    assert not heads.exists()
    chain = desk.file("chain.jsonl", LINKS)
    assert desk.verify(chain, "--chain-only", "--save-heads", str(heads)).exit_code == 0
    assert len(heads.read_bytes().splitlines()) == 3
    assert desk.verify(chain, "--chain-only", "--heads", str(heads)).exit_code == 0
    short = desk.file("short.jsonl", b"".join(lines[:-1]))
    assert desk.verify(short, "--chain-only").exit_code == 0
    assert desk.verify(short, "--chain-only", "--heads", str(heads)).exit_code == 1


def test_repeats_are_an_option(desk: Desk) -> None:
    again = desk.file("again.jsonl", SAMPLE + SAMPLE[-len(SAMPLE.splitlines()[-1]) - 1 :])
    assert desk.verify(again).exit_code == 1
    assert desk.verify(again, "--allow-repeats").exit_code == 0


def test_what_cannot_be_verified_is_neither(desk: Desk) -> None:
    bad = desk.file("bad.json", b'{"policy_version":"c4n4ry","commit":"c4n4ry"}')
    missing, other = str(desk.folder / "missing"), desk.file("other", b'{"topic":"window-status","key":"w","value":{}}')
    cases = [
        [], [desk.log, "--topic"], [desk.log, "--recompute"], [desk.log, "--bootstrap", "x"],
        [desk.log, "--prefix", ""], ["--topic", "--inputs", desk.log],
        [missing], [desk.log, "--inputs", missing], [desk.log, "--heads", desk.log],
        [desk.file("empty", b"")], [other], [desk.log, "--inputs", desk.inputs, "--policy", bad],
        [desk.log, "--save-heads", f"{missing}/heads"],
        ["--topic", "--config", desk.file("settings.toml", b"broker = 7")],
    ]  # fmt: skip
    for arguments in cases:
        result = desk.verify(*arguments)
        assert result.exit_code == 2, (arguments, result.output)
        assert "c4n4ry" not in result.output


def test_a_line_of_any_length_is_one_finding(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "LINE_BYTES", 4096)
    lines = SAMPLE.splitlines(keepends=True)
    result = desk.verify(desk.file("long.jsonl", b"".join([*lines[:4], b"[" * 100_000 + b"\n", *lines[4:]])))
    findings = report(result)[:-1]
    assert [(fact["finding"], fact["line"]) for fact in findings] == [("unreadable", 5)]


def test_random_bytes_are_findings(desk: Desk) -> None:
    for junk in (bytes(range(256)) * 20, b"\n" * 50 + b"\x00", SAMPLE[::-1], b"\xef\xbb\xbf" + SAMPLE):
        assert desk.verify(desk.file("junk", junk)).exit_code == 1


def test_a_broker_that_does_not_answer_is_no_finding() -> None:
    command = [sys.executable, "-m", "plangate.cli", "audit", "verify", "--topic", "--bootstrap", "127.0.0.1:1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert "KafkaConnectionError" in done.stderr and "Traceback" not in done.stderr
