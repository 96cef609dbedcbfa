"""Canaries in every place of a transcript that can hold content, and none in what comes out."""

import json

import pytest
from click.testing import CliRunner

from plangate.cli.import_ import import_command

CANARY = "kanarienvogel"
# Values that steer the importers. All other strings of a transcript are content to us, whatever they are to others.
STRUCTURE = frozenset(
    "type role id uuid parentUuid logicalParentUuid tool_use_id tool_call_id subtype agentId action observation source "
    "headUuid tailUuid compactedToolIds".split()
)


def tainted(value: object, key: str = "") -> object:
    """The value with a canary in each string, in the names of fields of tool inputs, and in fields nobody knows."""
    if isinstance(value, dict):
        inside = {
            (f"{CANARY}{name}" if key in ("input", "kwargs") else name): tainted(v, name) for name, v in value.items()
        }
        return inside | {CANARY: CANARY}
    if isinstance(value, list):
        return [tainted(item, key) for item in value]
    if isinstance(value, str) and key not in STRUCTURE:
        return f"{CANARY} {value}"
    return value


def run(format: str, raw: bytes) -> tuple[str, str, int]:
    result = CliRunner().invoke(import_command, [format, "-", "--window", "w"], input=raw)
    return result.stdout, result.stderr, result.exit_code


def test_no_word_of_a_real_transcript_comes_out(transcript_file, data):
    format = transcript_file.parent.name
    if format == "claude-code":
        parsed = []
        for line in data.split(b"\n"):
            try:
                parsed.append(json.dumps(tainted(json.loads(line))))
            except ValueError:
                parsed.append(line.decode().replace(":", f":{CANARY}"))
        raw = "\n".join(parsed).encode()
    else:
        raw = json.dumps(tainted(json.loads(data))).encode()
    assert raw.count(CANARY.encode()) > 50
    out, err, code = run(format, raw)
    assert code == 0 and out.count("\n") == run(format, data)[0].count("\n")
    assert CANARY not in out + err


C = f"{CANARY} text"
BLOCKS = [
    {"type": "text", "text": C, "citations": [{"cited_text": C}]},
    {"type": "image", "source": {"type": "base64", "media_type": C, "data": C}},
    {"type": "document", "title": C, "context": C, "source": {"type": "text", "data": C}},
    {"type": "thinking", "thinking": C, "signature": C},
    {"type": "redacted_thinking", "data": C},
    {"type": "tool_use", "id": C, "name": C, "input": {C: C}, "caller": C},
    {"type": "tool_result", "tool_use_id": C, "content": [{"type": "text", "text": C}], "is_error": C},
    {"type": "server_tool_use", "id": C, "name": C, "input": C},
    {"type": "web_search_tool_result", "tool_use_id": C, "content": C},
    {"type": "compaction", "content": C, "encrypted_content": C},
    {"type": C, C: C},
    C,
]
CHAT = {
    "role": "assistant", "name": C, "content": [{"type": "text", "text": C}, {"type": "input_audio", "data": C}],
    "refusal": C, "reasoning_content": C, "audio": {"id": C, "transcript": C},
    "function_call": {"name": C, "arguments": C},
    "tool_calls": [{"id": C, "type": "custom", "custom": {"name": C, "input": C}},
                   {"id": "c", "function": {"name": C, "arguments": C}, "extra_content": C}],
}  # fmt: skip
SAMPLES = {
    "openai-chat": json.dumps(
        [CHAT, {"role": "tool", "name": C, "tool_call_id": C, "content": C}, {"role": C, "content": C},
         {"role": "function", "name": C, "content": C}, {"role": "system", "content": C}, C]
    ),
    "anthropic-messages": json.dumps(
        {"system": C, "metadata": C, "tools": [C],
         "messages": [{"role": "user", "content": BLOCKS}, {"role": "assistant", "content": BLOCKS}, {"role": C}]}
    ),
    "claude-code": "\n".join(
        [json.dumps({"type": kind, "uuid": C, "parentUuid": C, "cwd": C, "gitBranch": C, "slug": C, "toolUseResult": C,
                     "content": C, "summary": C, "snapshot": C, "subtype": C, "agentId": C, "attachment": {"a": C},
                     "message": {"id": C, "role": C, "model": C, "content": BLOCKS}})
         for kind in ("user", "assistant", "system", "attachment", "summary", "queue-operation", C)]
        + [json.dumps({"type": "progress",
                       "data": {"type": "agent_progress", "agentId": C, "prompt": C,
                                "message": {"type": "user", "uuid": C, "message": {"content": C}}}}),
           json.dumps({"type": "system", "subtype": "compact_boundary",
                       "compactMetadata": {"preservedSegment": {"headUuid": C, "tailUuid": C}}}),
           json.dumps({"type": "system", "subtype": "microcompact_boundary",
                       "microcompactMetadata": {"compactedToolIds": [C]}}),
           f'{{"type": "user", "uuid": "{C}"', f'{{"a": "{C}"}}{{"b": "{C}"}}', f'"{C}"']
    ),
    "openhands-v0": json.dumps(
        [{"id": C}, {"id": 1, "source": C, "action": C, "args": {C: C}, "message": C, "tool_call_metadata": C},
         {"id": 2, "source": "agent", "action": "run", "args": {"thought": C}, "tool_call_metadata": {"a": C}},
         {"id": 3, "cause": C, "observation": C, "content": C, "extras": C, "tool_call_metadata": {"x": C}},
         {"id": 4, "cause": C, "observation": "recall", "content": C, "extras": {C: C}},
         {"id": 5, "action": "condensation", "args": {"summary": C, "forgotten_event_ids": [C]}}]
    ),
}  # fmt: skip


@pytest.mark.parametrize("format", SAMPLES)
def test_not_even_an_id_or_a_kind_that_is_content_comes_out(format):
    out, err, code = run(format, SAMPLES[format].encode())
    assert code == 0 and out.count("\n") > 3 and err.count("\n") > 0
    assert CANARY not in out + err


@pytest.mark.parametrize("format", SAMPLES)
@pytest.mark.parametrize("raw", [f'{{"{CANARY}": "{CANARY}', f'{{"messages": "{CANARY}"}}', f'"{CANARY}"', CANARY])
def test_a_file_that_is_refused_is_not_quoted(format, raw):
    out, err, code = run(format, raw.encode())
    assert CANARY not in out + err
    assert (code, out) == (1, "") or format == "claude-code"
