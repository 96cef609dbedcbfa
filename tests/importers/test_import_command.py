"""`plangate import` as a user calls it."""

import gzip
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from plangate.cli.import_ import import_command
from plangate.importers import events, parse

TWO = json.dumps(
    [{"traj": [{"role": "user", "content": "q"}]}, {"traj": [{"role": "tool", "tool_call_id": "x", "content": "r"}]}]
)


def run(*args: str, input: bytes | None = None):
    return CliRunner().invoke(import_command, list(args), input=input)


def windows(output: str) -> list[str]:
    return [json.loads(line)["window_id"] for line in output.splitlines()]


@pytest.mark.parametrize("packed", [False, True])
def test_a_file_gives_the_events_of_the_library(packed, tmp_path: Path):
    path = tmp_path / f"my talk.json{'.gz' if packed else ''}"
    path.write_bytes(gzip.compress(TWO.encode()) if packed else TWO.encode())
    result = run("openai-chat", str(path))
    expected = list(events(parse("openai-chat", TWO.encode()), "my_talk"))
    assert result.exit_code == 0 and list(map(json.loads, result.stdout.splitlines())) == expected
    assert list(map(json.loads, result.stderr.splitlines())) == [
        {"problem": "result_without_call", "conversation": "1", "message": 0, "id": "x"}
    ]


def test_standard_input_window_conversation_and_output(tmp_path: Path):
    assert windows(run("openai-chat", "-", "--window", "w9", input=TWO.encode()).stdout) == ["w9", "w9", "w9/1", "w9/1"]
    result = run("openai-chat", "-", "--window", "w9", "--conversation", "1", input=gzip.compress(TWO.encode()))
    assert windows(result.stdout) == ["w9", "w9"]
    path = tmp_path / "events.jsonl"
    assert run("openai-chat", "-", "--conversation", "0", "-o", str(path), input=TWO.encode()).output == ""
    assert len(windows(path.read_text())) == 2


@pytest.mark.parametrize(
    "args, raw, code, says",
    [
        (["openai-chat", "-"], b"{", 1, '{"problem":"not_json"}'),
        (["claude-code", "-"], b"{", 1, '{"problem":"not_json_lines"}'),
        (["claude-code", "-"], b"", 0, ""),
        (["claude-code", "-"], b"\x1f\x8bno", 1, '{"problem":"not_gzip"}'),
        (["openai-chat", "-", "--conversation", "2"], TWO.encode(), 2, "2 conversation(s)"),
        (["openai-chat", "-", "--window", "two words"], TWO.encode(), 2, "--window"),
        (["openai-chat", "no-such-file"], b"", 2, "no-such-file"),
        (["word", "-"], b"", 2, "claude-code"),
    ],
)
def test_status_and_message(args, raw, code, says):
    result = run(*args, input=raw)
    assert (result.exit_code, says in result.stderr) == (code, True)
    assert code == 0 or result.stdout == ""
