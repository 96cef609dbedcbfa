"""Bytes to JSON values, without ever repeating input in an error."""

import json
from collections.abc import Iterator

from plangate.importers.model import FormatError, Problem

_BOM = b"\xef\xbb\xbf"
# RecursionError: nesting deeper than the decoder's stack.
_UNREADABLE = (ValueError, RecursionError)


def read_document(data: bytes) -> object:
    """The file as one JSON value, or, if it is JSON Lines, a list of its values. Raises FormatError."""
    try:
        return json.loads(data.removeprefix(_BOM))
    except _UNREADABLE:
        problems: list[Problem] = []
        values = [value for _, value in read_lines(data, problems)]
        if problems or not values:
            raise FormatError("not_json") from None
        return values


def read_lines(data: bytes, problems: list[Problem]) -> Iterator[tuple[int, dict]]:
    """(line number from 1, object) of each readable line; the others are added to `problems`.

    A line with several values in a row was two writers at once: which one is whole can't be known, so both are skipped.
    """
    for number, line in enumerate(data.removeprefix(_BOM).split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except _UNREADABLE as error:
            glued = isinstance(error, json.JSONDecodeError) and error.msg == "Extra data"
            problems.append(Problem("glued_line" if glued else "broken_line", line=number))
            continue
        if isinstance(value, dict):
            yield number, value
        else:
            problems.append(Problem("not_a_record", line=number))
