"""Transcripts as scripts: the input events of contract section 2, ready to be sent to any window."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ..importers import FORMATS, FormatError, parse, turn_events

_ENCODE = msgspec.json.Encoder().encode
_GZIP = b"\x1f\x8b"


class ScriptError(ValueError):
    """A path holds no transcript that can be played; the text names paths and problem kinds, never content."""


class Fact(NamedTuple):
    """What a planner knows of a live span."""

    cost_units: int
    kind: str
    partners: tuple[str, ...] = ()
    needs_prefix: bool = False


class Step(NamedTuple):
    """One event. `tail` is its JSON after the window's id; the rest says what it does to the live spans."""

    tail: bytes
    appended: tuple[tuple[str, Fact, bool], ...] = ()  # span id, facts, whether it has an open obligation
    closes: tuple[str, ...] = ()
    edited: tuple[str, Fact, bool] | None = None
    removed: tuple[str, ...] = ()
    ends_turn: bool = False

    def value(self, window_id: str) -> bytes:
        """The record's value for one window."""
        return b'{"window_id":' + _ENCODE(window_id) + self.tail


Script = tuple[Step, ...]


def read_scripts(paths: Iterable[Path]) -> list[list[Script]]:
    """Scripts of each transcript file, one for each of its conversations; files in order of path.

    A file's format is the name of the folder it is in; of a folder, all files below it in folders of such names are
    read. Raises ScriptError if a file is not of its format, or if there is none.
    """
    found = []
    for file in sorted({file for path in paths for file in _files(path)}):
        try:
            raw = file.read_bytes()
            data = gzip.decompress(raw) if raw.startswith(_GZIP) else raw
            transcript = parse(file.parent.name, data)
        except (FormatError, OSError, EOFError, zlib.error) as error:
            raise ScriptError(f"{file}: not readable as {file.parent.name} ({type(error).__name__})") from None
        scripts = [
            tuple(step for turn in conversation.turns for step in _steps(turn_events(transcript, turn, "")))
            for conversation in transcript.conversations
        ]
        found.append([script for script in scripts if script])
    if not any(found):
        raise ScriptError(f"no transcript in folders named {', '.join(sorted(FORMATS))}")
    return [scripts for scripts in found if scripts]


def _files(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield from (file for file in path.rglob("*") if file.is_file() and file.parent.name in FORMATS)
    elif path.parent.name in FORMATS:
        yield path
    else:
        raise ScriptError(f"{path}: its folder must be named for its format: {', '.join(sorted(FORMATS))}")


def _steps(events: Iterable[dict[str, Any]]) -> Iterator[Step]:
    waiting: Step | None = None
    for event in events:
        if waiting:
            yield waiting
        waiting = _step(event)
    if waiting:
        yield waiting._replace(ends_turn=True)


def _step(event: dict[str, Any]) -> Step:
    tail = b"," + _ENCODE({name: value for name, value in event.items() if name != "window_id"})[1:]
    spans = event.get("spans", ())
    return Step(
        tail,
        appended=tuple(map(_known, spans)),
        closes=tuple(closed for span in spans for closed in span.get("closes", ())),
        edited=_known(event["span"]) if "span" in event else None,
        removed=tuple(event.get("span_ids", ())),
    )


def _known(span: dict[str, Any]) -> tuple[str, Fact, bool]:
    partners = tuple(dict.fromkeys([*span.get("pairs_with", ()), *span.get("depends_on", ())]))
    fact = Fact(span["cost_units"], span["kind"], partners, span.get("needs_prefix", False))
    return span["span_id"], fact, span.get("open", False)
