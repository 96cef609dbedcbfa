"""A longer transcript only adds events: what a live feed has published stays true (stable ids, no later edges)."""

import json

import pytest

from plangate.importers import events, parse


def by_window(format: str, raw: bytes) -> dict[str, list[dict]]:
    found: dict[str, list[dict]] = {}
    for event in events(parse(format, raw), "w"):
        found.setdefault(event["window_id"], []).append(event)
    return found


def pieces(format: str, raw: bytes) -> list:
    """The parts a transcript grows by."""
    if format == "claude-code":
        return raw.split(b"\n")
    document = json.loads(raw)
    if format == "openai-chat":
        return max((one["traj"] for one in document), key=len)
    return document["messages" if format == "anthropic-messages" else "trajectory"]


def joined(format: str, parts: list) -> bytes:
    if format == "claude-code":
        return b"\n".join(parts)
    if format == "openai-chat":
        return json.dumps([{"traj": parts}]).encode()
    return json.dumps({"messages" if format == "anthropic-messages" else "trajectory": parts}).encode()


@pytest.mark.parametrize(
    "name, cuts",
    [
        ("openai-chat/tau-bench-gpt4o-airline.json.gz", 20),
        ("anthropic-messages/anth-derived-long.json.gz", 30),
        ("claude-code/cc-microcompact.jsonl.gz", 15),
        ("claude-code/cc-subagents-missing-parents.jsonl.gz", 10),
        ("claude-code/cc-sidechain-task-v1.0.71.jsonl", 13),
        ("openhands-v0/oh-v0-297-events-condensation.json.gz", 15),
    ],
)
def test_a_part_gives_a_prefix_of_the_events(name, cuts, unpacked):
    format = name.split("/")[0]
    parts = pieces(format, unpacked(name))
    whole = by_window(format, joined(format, parts))
    sizes = []
    for cut in {len(parts) * number // cuts for number in range(1, cuts)}:
        part = by_window(format, joined(format, parts[:cut]))
        sizes.append(sum(map(len, part.values())))
        for window, got in part.items():
            assert got == whole[window][: len(got)], (cut, window)
    assert len(set(sizes)) > cuts // 2  # the cuts did cut


def test_lines_of_one_answer_may_be_cut_apart(unpacked):
    """Every single line of a file where answers are spread over lines, up to its first few batches."""
    lines = unpacked("claude-code/cc-image-in-tool-result.jsonl.gz").split(b"\n")[:120]
    whole = by_window("claude-code", b"\n".join(lines))
    for cut in range(1, len(lines)):
        for window, got in by_window("claude-code", b"\n".join(lines[:cut])).items():
            assert got == whole[window][: len(got)], (cut, window)
