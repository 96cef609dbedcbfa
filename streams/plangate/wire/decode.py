"""Decoding is total: any bytes give an event or a rejection, never an exception (contract sections 1, 2 and 7).

The fast path is one typed decode. Only when it fails is the record read again, loosely, to say where it is wrong, to
accept what is lawful but rare (a lone surrogate in a field we drop), and to attribute a malformed plan to its window.
No message of a decoder is passed on: they repeat the sender's bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from ..core.events import (
    FREE_TEXTS,
    MAX_ENTRIES,
    AnyEvent,
    Event,
    MalformedPlan,
    PlanEntry,
    PlanProposed,
    Replacement,
)
from ..core.policy import FORBIDDEN

_DECODER = msgspec.json.Decoder(AnyEvent)
_TYPES = {kind.__struct_config__.tag: kind for kind in AnyEvent.__args__}
_PATH = re.compile(r"at `\$\.?([^`]*)`")
#: fields that are read but never copied anywhere, so what they hold need not be a lawful id
_FREE = FREE_TEXTS | {"policy", "budget_units"}


#: what admits an event, and is read of a malformed plan too (contract sections 1 and 2)
_COUNTED = ("sequence", "event_id", "authority_seq")


class Rejected(NamedTuple):
    """A record that is no event: the reason, and the path of the field at fault where there is one."""

    reason: str
    path: str | None = None


def decode(value: bytes, limit: int) -> Event | Rejected:
    """One record's value; ``limit`` in bytes."""
    if len(value) > limit:
        return Rejected("too_large")
    try:
        event: Event = _DECODER.decode(value)
    except (msgspec.MsgspecError, RecursionError, UnicodeError, ValueError):
        return _explain(value)
    if not value.isascii() or b"\\" in value or b"\x7f" in value:
        if (bad := next(_bad_texts(event, ""), None)) is not None:
            return _attributed(_loose(value), [bad])
    return event


def _bad_texts(node: Any, path: str) -> Iterator[str]:
    """Paths of texts that no id may be, in an event's own fields."""
    if isinstance(node, str):
        if FORBIDDEN.search(node) or len(node.encode("utf-8", "replace")) > 256:
            yield path
    elif isinstance(node, msgspec.Struct):
        for name in node.__struct_fields__:
            if name not in _FREE:
                yield from _bad_texts(getattr(node, name), f"{path}.{name}" if path else name)
    elif isinstance(node, list):
        for i, item in enumerate(node):
            yield from _bad_texts(item, f"{path}[{i}]")


class _Huge:
    """Stands for a number that is none: NaN, an infinity, an integer of thousands of digits. No schema takes it."""


_HUGE = _Huge()


def _integer(text: str) -> Any:
    return int(text) if len(text) < 20 else _HUGE


def _real(text: str) -> Any:
    number = float(text)
    return _HUGE if number in (float("inf"), float("-inf")) else number


def _loose(value: bytes) -> Any:
    """JSON as generous programs write it; Rejected where even that fails."""
    try:
        text = value.decode("utf-8")
        return json.loads(text, parse_int=_integer, parse_float=_real, parse_constant=lambda _: _HUGE)
    except RecursionError:
        return Rejected("too_deep")
    except UnicodeError:
        return Rejected("invalid_utf8")
    except ValueError:
        return Rejected("invalid_json")


def _explain(value: bytes) -> Event | Rejected:
    document = _loose(value)
    if isinstance(document, Rejected):
        return document
    if not isinstance(document, dict):
        return Rejected("not_an_object")
    name = document.get("type")
    kind = _TYPES.get(name) if isinstance(name, str) else None
    if kind is None:
        return Rejected("unknown_type", "type")
    try:
        event = msgspec.convert(document, kind)
    except (msgspec.ValidationError, RecursionError, UnicodeError) as error:
        return _attributed(document, _paths(document, error) if kind is PlanProposed else [_path(error)])
    bad = next(_bad_texts(event, ""), None)
    return event if bad is None else _attributed(document, [bad])


def _path(error: Exception, prefix: str = "") -> str:
    """The field path from a validation error, whose only part we may show; of a missing field, its name."""
    text = str(error)
    found = _PATH.search(text)
    path = found.group(1) if found else ""
    missing = re.match(r"Object missing required field `(\w+)`", text)
    parts = [p for p in (prefix, path.replace("[...]", "")) if p]
    joined = "".join(p if i == 0 or p.startswith("[") else f".{p}" for i, p in enumerate(parts))
    if missing:
        joined = f"{joined}.{missing.group(1)}" if joined else missing.group(1)
    return joined or "type"


def _paths(document: dict[str, Any], error: Exception) -> list[str]:
    """Every path at which a plan is malformed, item by item in its two lists."""
    found: list[str] = []
    for name, kind in (("entries", PlanEntry), ("replacements", Replacement)):
        items = document.get(name)
        # Of a list that is too long only that is told: an answer must not cost more than its record may hold.
        for i, item in enumerate(items if isinstance(items, list) and len(items) <= MAX_ENTRIES else ()):
            try:
                msgspec.convert(item, kind)
            except (msgspec.ValidationError, RecursionError, UnicodeError) as bad:
                found.append(_path(bad, f"{name}[{i}]"))
    rest = {
        k: ([] if k in ("entries", "replacements") and isinstance(v, list) and len(v) <= MAX_ENTRIES else v)
        for k, v in document.items()
    }
    stand_ins = {"entries": [], "window_generation": 0}  # lawful values of what may not be null
    for _ in PlanProposed.__struct_fields__:
        try:
            msgspec.convert(rest, PlanProposed)
            break
        except (msgspec.ValidationError, RecursionError, UnicodeError) as bad:
            path = _path(bad)
            found.append(path)
            top = path.split(".")[0].split("[")[0]
            if top not in rest and top not in stand_ins:
                break
            rest[top] = stand_ins.get(top)
    return sorted(set(found)) or [_path(error)]


def _attributed(document: Any, paths: list[str]) -> Event | Rejected:
    """A malformed plan that names its window and itself is answered; all else is a dead letter."""
    if isinstance(document, dict) and document.get("type") == "plan_proposed":
        fields = {name: document.get(name) for name in ("window_id", "plan_id", *_COUNTED)}
        for attempt in (fields, {**fields, **dict.fromkeys(_COUNTED)}):
            try:
                plan = msgspec.convert({**attempt, "paths": [], "type": "plan_proposed"}, MalformedPlan)
            except (msgspec.ValidationError, UnicodeError):
                continue
            if next(_bad_texts(plan, ""), None) is None:
                plan.paths = paths
                return plan
    return Rejected("invalid_field", paths[0])
