"""Leaks on purpose, as somebody might write them, are seen by test_canaries' watch; and the searcher's own test."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from canarykit import Canaries, encodings_in, event_types, forms, gzipped
from test_canaries import Watch

from plangate.core.state import Decided
from plangate.wire.encode import Out


def _told(watch: Watch, change: Callable[[bytes, Any], list[Any] | None]) -> Callable[..., list[Any]]:
    """`Bench.feed`, and what `change` does or adds, given the value and the headers."""
    feed = watch.bench.feed

    def mutant(value: bytes, headers: Any = (), key: bytes | None = b"w") -> list[Any]:
        outs = feed(value, headers, key)
        return outs + (change(value, headers) or [])

    return mutant


def _log_error_text(watch: Watch, value: bytes, headers: Any) -> None:
    try:
        msgspec.json.decode(value, type=int | event_types()[0])  # type: ignore[call-overload]
    except msgspec.MsgspecError as error:
        logging.getLogger("plangate").warning("bad record: %s", str(error))  # as text: of errors our logs give the name


def _keep_rationale(watch: Watch, value: bytes, headers: Any) -> None:
    for window in watch.bench.windows.values():
        for entry in json.loads(value).get("entries") or [{}]:
            window.head.method = entry.get("rationale") or window.head.method


def _keep_packed(watch: Watch, value: bytes, headers: Any) -> None:
    for window in watch.bench.windows.values():
        window.decisions["p"] = Decided(0, 0, False, gzipped(value))


def _output(topic: str, value: bytes) -> list[Any]:
    return [Out(topic, b"w", value, [])]


#: a leak as somebody might write it -> what it does after each record
MUTANTS: dict[str, Callable[[Watch, bytes, Any], list[Any] | None]] = {
    "the decoder's error text is logged": _log_error_text,
    "the rationale is kept in the state": _keep_rationale,
    "a key id is named in an alert": lambda w, v, h: _output("window-alerts", dict(h).get("plangate-key-id", b"")),
    "a header is passed on": lambda w, v, h: [Out("window-status", b"w", b"{}", list(h))],
    "a dead letter has the first bytes, as hex": lambda w, v, h: _output("dead-letters", v[:64].hex().encode()),
    "the record is kept in the state, packed": _keep_packed,
}  # fmt: skip


@pytest.mark.parametrize("name", MUTANTS)
def test_a_leak_is_seen(name: str) -> None:
    canaries = Canaries()
    watch = Watch(canaries)
    watch.feed({"type": "window_opened", "window_id": "w"})
    watch.bench.feed = _told(watch, lambda v, h: MUTANTS[name](watch, v, h))  # type: ignore[method-assign]
    entry = {"span_id": "s", "relevance": 0.5, "rationale": canaries.new("rationale")}
    plan = {"type": "plan_proposed", "window_id": "w", "plan_id": "p", "window_generation": 0, "entries": [entry]}
    with pytest.raises(AssertionError, match="leak from"):
        watch.feed(plan, more=[("plangate-key-id", canaries.new("key id").encode())])
        watch.feed({"type": canaries.new("type"), "window_id": "w"})


def test_each_encoding_is_found_wherever_it_stands() -> None:
    canaries = Canaries()
    for name, form in forms(canaries.new("here")).items():
        for before in (b"", b"a", b"ab", b"abc", b"\xff\x00"):
            assert encodings_in(before + form + b"z"), name
    assert "here" in canaries.leaks(forms(canaries.new("there"))["raw"].replace(b"00001", b"00000"))
    assert not encodings_in(b"nothing of it " + bytes(range(256)) * 9)
