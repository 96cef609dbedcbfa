"""Samples of each version's state and records, kept for the versions that follow: what was written then is read now."""

from __future__ import annotations

import base64
import copy
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
import state_sample
from state_sample import DATA, TOPIC, UPTO, coded, run, written_out

from plangate.core import state
from plangate.core.policy import Policy
from plangate.core.records import CONTRACT_VERSION
from plangate.core.window import Window
from plangate.shell.changelog_reader import ChangelogReader, assemble_with
from plangate.wire.engine import Record
from plangate.wire.state import _TYPES, VERSION
from plangate.wire.topics import ROUTES

VERSIONS = sorted(int(folder.name[1:]) for folder in DATA.glob("v*"))


def rows(version: int, name: str) -> list[Any]:
    return [json.loads(line) for line in (DATA / f"v{version}" / name).read_text().splitlines()]


def decoded(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


def records(version: int) -> list[Record]:
    return [
        Record(TOPIC, 0, offset, decoded(key), decoded(value), [(name, decoded(text) or b"") for name, text in headers])
        for offset, (key, value, headers) in enumerate(rows(version, "events.jsonl"))
    ]


def recovered(version: int) -> dict[str, Window]:
    reader = ChangelogReader(assemble_with(Policy()))
    for key, value in rows(version, "changelog.jsonl"):
        reader.feed(decoded(key), decoded(value))
    return {found.window_id: found.window for found in reader.windows() if found.window is not None}


def offset_of(row: dict[str, Any]) -> int:
    return int(row["headers"]["ce_id"].split("/")[2])


def test_there_is_a_sample_of_each_version() -> None:
    """`python tests/wire/state_sample.py` after the version was raised; older samples stay as they are."""
    assert VERSIONS == list(range(1, VERSION + 1))


@pytest.mark.parametrize("version", VERSIONS)
def test_state_of_each_version_answers_as_it_did(version: int) -> None:
    windows = recovered(version)
    answers = [json.loads(written_out(out)) for out in run(records(version)[UPTO:], windows)]
    wanted = [row for row in rows(version, "records.jsonl") if offset_of(row) >= UPTO]
    assert len(wanted) > 80
    assert answers == wanted


@pytest.mark.parametrize("version", VERSIONS)
def test_records_of_each_version_are_made_again_byte_for_byte(version: int) -> None:
    """The same inputs, the same bytes: else a duplicate that crosses an upgrade would be another answer."""
    made = [json.loads(written_out(out)) for out in run(records(version), {})]
    assert made == rows(version, "records.jsonl")


@pytest.mark.parametrize("version", VERSIONS)
def test_each_record_type_is_in_the_sample_and_names_its_version(version: int) -> None:
    seen = set()
    for row in rows(version, "records.jsonl"):
        value = json.loads(row["value"])
        seen.add(value["type"])
        assert value["contract_version"] == CONTRACT_VERSION == 1
        assert value["policy_version"]
        kind = "plan_decision" if row["headers"]["ce_type"] == "plangate.plan_decision.v1" else value["type"]
        assert row["headers"]["ce_type"] == f"plangate.{kind}.v{CONTRACT_VERSION}"
    assert seen == set(ROUTES)


def unchanged(kind: Any, things: list[Any]) -> set[str]:
    """Fields of a state record that no sample gives another value than the default."""
    wanted = {field.name: field.default for field in msgspec.structs.fields(kind)}
    return {name for name, default in wanted.items() if all(getattr(thing, name) == default for thing in things)}


def test_the_newest_sample_has_something_in_every_part_of_the_state() -> None:
    windows = list(recovered(VERSION).values())
    pending = [window.head.pending for window in windows if window.head.pending]
    parts = {
        state.Head: [window.head for window in windows],
        state.Pending: pending,
        state.Swap: [swap for acceptance in pending for swap in acceptance.swaps],
    }
    for name, kind in _TYPES.items():
        held = [value for window in windows for value in getattr(window, name).values()]
        assert held, name
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            parts[kind] = held
    assert {kind.__name__: missing for kind, things in parts.items() if (missing := unchanged(kind, things))} == {}


def test_the_newest_sample_has_everything_that_a_changelog_may_have() -> None:
    log = rows(VERSION, "changelog.jsonl")
    patches = [msgspec.msgpack.decode((decoded(value) or b"")[15:]) for _, value in log if value]
    assert {patch[1] for patch in patches} == {True, False}, "snapshots and deltas"
    assert any(patch[4] for patch in patches), "removals"
    assert any(value is None for _, value in log), "tombstones"
    owners = {(decoded(key) or b"")[-15:-7] for key, _ in log}
    assert len(owners) == 2


def test_a_state_that_lost_a_part_is_seen() -> None:
    """Each map of each window emptied in turn: there is nothing that no answer rests on."""
    wanted = [row for row in rows(VERSION, "records.jsonl") if offset_of(row) >= UPTO]
    later, whole = records(VERSION)[UPTO:], recovered(VERSION)
    unseen = set()
    for name in _TYPES:
        windows = copy.deepcopy(whole)
        for window in windows.values():
            getattr(window, name).clear()
            window.rebuild()
        try:
            answers = [json.loads(written_out(out)) for out in run(later, windows)]
        except KeyError:  # a state that contradicts itself
            continue
        if answers == wanted:
            unseen.add(name)
    assert unseen == set()


def test_the_samples_are_the_story() -> None:
    """The files of this version can be made again; if this fails, the format changed without a new version."""
    log = [[coded(change.key), coded(change.value)] for change in state_sample.changelog(records(VERSION)[:UPTO])]
    assert rows(VERSION, "changelog.jsonl") == log
    assert records(VERSION) == list(state_sample.inputs())


def test_nobody_writes_over_a_sample(tmp_path: Path) -> None:
    state_sample.write(tmp_path / "v9")
    assert sorted(file.name for file in (tmp_path / "v9").iterdir()) == [
        "changelog.jsonl",
        "events.jsonl",
        "records.jsonl",
    ]
    with pytest.raises(FileExistsError):
        state_sample.write(tmp_path / "v9")
