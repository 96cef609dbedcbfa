"""`plangate import`: a transcript's events as JSON lines on standard output, its problems on standard error."""

import gzip
import re
import zlib
from pathlib import Path
from typing import BinaryIO

import click
import msgspec

from plangate.importers import FORMATS, FormatError, Problem, Transcript, events, parse
from plangate.importers.model import usable_id

_GZIP = b"\x1f\x8b"


@click.command("import")
@click.argument("format", type=click.Choice(sorted(FORMATS)), metavar="FORMAT")
@click.argument("file", type=click.File("rb"))
@click.option("--window", metavar="ID", help="Window of the main conversation. Default: FILE's name without endings.")
@click.option(
    "--conversation", type=click.IntRange(min=0), metavar="N", help="Only the N-th conversation, from 0. Default: all."
)
@click.option(
    "-o", "--output", type=click.File("wb", lazy=True), default="-", metavar="FILE", help="Where the events go."
)
def import_command(format: str, file: BinaryIO, window: str | None, conversation: int | None, output: BinaryIO) -> None:
    """Turn a transcript FILE (may be gzipped; - is standard input) into events, one JSON object a line.

    FORMAT is openai-chat, anthropic-messages, claude-code or openhands-v0. Each conversation in FILE gets a window: the
    main one ID, the others ID/NAME. Events hold ids, sizes and edges, never content. What was skipped or looks wrong is
    told on standard error, one JSON object a line. The status is 0 if FILE could be read as that format.
    """
    if window is not None and not usable_id(window):
        raise click.BadParameter("1 to 200 printable ASCII characters without blanks, please.", param_hint="--window")
    transcript = _read(format, file)
    if conversation is not None and conversation >= len(transcript.conversations):
        count = len(transcript.conversations)
        raise click.BadParameter(
            f"the file holds {count} conversation(s), counted from 0.", param_hint="--conversation"
        )
    chosen = None if conversation is None else transcript.conversations[conversation].name
    for problem in transcript.problems:
        if conversation is None or problem.conversation in (chosen, None):
            _tell(problem)
    for event in events(transcript, window or _window_of(file), conversation):
        output.write(msgspec.json.encode(event) + b"\n")


def _read(format: str, file: BinaryIO) -> Transcript:
    data = file.read()
    try:
        return parse(format, gzip.decompress(data) if data.startswith(_GZIP) else data)
    except FormatError as error:
        _tell(Problem(str(error)))
    except (EOFError, OSError, zlib.error):
        _tell(Problem("not_gzip"))
    raise click.exceptions.Exit(1)


def _tell(problem: Problem) -> None:
    click.echo(msgspec.json.encode(problem), err=True)


def _window_of(file: BinaryIO) -> str:
    stem = Path(str(getattr(file, "name", ""))).name.split(".", 1)[0]
    return re.sub(r"[^A-Za-z0-9_-]", "_", stem).strip("_")[:200] or "window"
