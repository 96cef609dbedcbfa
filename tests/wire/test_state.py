"""Changelog state: patches laid over one another give the window that wrote them, to the byte."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from wirekit import KEYS, RING, SAMPLES, TOPIC, Bench, Json, raw

from plangate.core.policy import Policy
from plangate.core.window import Window
from plangate.wire.engine import Engine
from plangate.wire.keyring import sign
from plangate.wire.state import VERSION, StateVersionError, apply_patch, take_patch

SAMPLE = Path(__file__).parent / "data" / "state-v1.bin"
PROBES = Path(__file__).parent / "data" / "state-v1-outputs.jsonl"


class Stream:
    """A seeded stream over one window that reads the live state, so that most events do something."""

    def __init__(self, rng: Random, window: Any) -> None:
        self.rng, self.window, self.names, self.authority = rng, window, 0, 0

    def next(self) -> tuple[Json, bool]:
        rng, window = self.rng, self.window()
        live = sorted(window.spans) if window else []
        some = [*live, *sorted(window.left if window else [])[:3], "never"]
        self.names += 1
        pick = rng.choices(range(12), (8, 3, 2, 2, 6, 2, 2, 2, 1, 1, 1, 1))[0]
        body: Json = {"window_id": "w"}
        if rng.random() < 0.3:
            body["event_id"] = f"e{rng.randrange(30)}"
        edges = lambda: rng.sample(some, min(len(some), rng.randrange(3)))  # noqa: E731
        span = {
            "span_id": f"s{self.names}", "cost_units": rng.randint(1, 9), "priority": rng.randrange(3),
            "depends_on": edges(), "pairs_with": edges() if rng.random() < 0.2 else [], "required_by": edges(),
            "needs_prefix": rng.random() < 0.1, "open": rng.random() < 0.1, "derived_from": edges(), "closes": edges(),
            "pinned": rng.random() < 0.1, "pin_owner": "o", "pin_reason": "r",
        }  # fmt: skip
        if pick == 0:
            body |= {"type": "span_appended", "spans": [span], "turn": self.names // 5}
        elif pick == 1:
            body |= {"type": "spans_used", "span_ids": edges()}
        elif pick == 2:
            body |= {"type": "span_edited", "span": span | {"span_id": rng.choice(some)}}
        elif pick == 3:
            body |= {"type": "spans_removed", "span_ids": edges()}
        elif pick == 4:
            gone = rng.sample(live, min(len(live), rng.randint(1, 2)))
            entries = [{"span_id": k, "relevance": 0.1, "cited_dependencies": []} for k in gone]
            swap = []
            if gone and rng.random() < 0.4:
                entries[0]["disposition"] = "compress"
                swap = [{"span_id": f"r{self.names}", "covers": [gone[0]], "cost_units": 1,
                         "in_place": rng.random() < 0.5}]  # fmt: skip
            generation = window.head.generation if window else 0
            body |= {
                "type": "plan_proposed", "plan_id": f"p{rng.randrange(self.names + 1)}", "entries": entries,
                "window_generation": generation - (rng.random() < 0.2 and generation > 0), "replacements": swap,
                "amendable": rng.random() < 0.3,
            }  # fmt: skip
        elif pick == 5:
            kind = "plan_committed" if rng.random() < 0.6 else "plan_commit_failed"
            pending = window.head.pending if window else None
            body |= {"type": kind, "plan_id": pending.plan_id if pending else "p0"}
        elif pick == 6:
            body |= {"type": "budget_requested", "request_id": f"q{self.names}", "budget_units": rng.randrange(20),
                     "commit": rng.random() < 0.3}  # fmt: skip
        elif pick == 7:
            body |= {"type": "cost_reported", "artifact_id": rng.choice("xy"), "component": rng.choice("abc"),
                     "method": "m", "input_version": "1", "scope": "s", "units": "u",
                     "value": rng.randrange(3)}  # fmt: skip
        elif pick == 8:
            body |= {
                "type": "policy_set",
                "policy": {
                    "policy_version": f"v{self.names}",
                    "commit": rng.choice(("on_accept", "on_confirm")),
                    "decisions_remembered": rng.randint(1, 4),
                    "limits": {"event_ids_remembered": rng.randint(0, 5)},
                },
            }
        elif pick == 9:
            body |= {"type": "span_pinned", "span_id": rng.choice([*some, f"s{self.names + 1}"]), "pin_owner": "o",
                     "pin_reason": "r"}  # fmt: skip
        elif pick == 10:
            body |= {"type": "compression_approved", "span_id": rng.choice(some),
                     "replacement_id": f"r{self.names + 1}", "cost_units": 1,
                     "reviewer": "v", "reason": "r"}  # fmt: skip
        else:
            body |= {"type": "span_unpinned", "span_id": rng.choice(some), "reason": "r"}
        signed = pick >= 8 or rng.random() < 0.2
        self.authority += signed
        return body | ({"authority_seq": self.authority} if signed else {}), signed


def normal(patch: bytes) -> bytes:
    """A full patch with its unordered maps sorted; those whose order means something stay as they are."""
    version, full, head, items, removed = msgspec.msgpack.decode(patch)
    ordered = ("decisions", "event_ids", "signed_event_ids", "escalations", "reports")
    rows = {name: rows if name in ordered else sorted(rows, key=lambda r: r[0]) for name, rows in items.items()}
    return msgspec.msgpack.encode([version, full, head, sorted(rows.items()), removed])


def feed(bench: Bench, line: Json, signed: bool) -> list[Any]:
    text = raw(line)
    return bench.feed(text, sign(KEYS["ps"], "ps", TOPIC, text) if signed else ())


@pytest.mark.parametrize("seed", range(40))
def test_recovered_window_answers_as_the_original(seed: int) -> None:
    rng = Random(seed)
    bench = Bench()
    stream = Stream(rng, lambda: bench.windows.get("w"))
    copy: Window | None = None
    for step in range(120):
        line, signed = stream.next()
        feed(bench, line, signed)
        window = bench.windows.get("w")
        if window is None or rng.random() < 0.3:
            continue
        patch = take_patch(window, full=copy is None or rng.random() < 0.05)
        copy = apply_patch(copy, patch, Policy(), rebuild=rng.random() < 0.5)
        if step % 30 == 29:
            copy.rebuild()
            assert normal(take_patch(copy, full=True)) == normal(take_patch(window, full=True))
            other = Bench(Engine(keyring=RING))
            other.windows["w"], other.offset = copy, bench.offset
            for _ in range(10):
                line, signed = stream.next()
                assert feed(other, line, signed) == feed(bench, line, signed)
            assert normal(take_patch(copy, full=True)) == normal(take_patch(window, full=True))


def test_a_delta_is_small_and_an_unchanged_window_gives_an_empty_one() -> None:
    bench = Bench()
    for i in range(50):
        bench.send({"type": "span_appended", "window_id": "w", "spans": [{"span_id": f"s{i}", "cost_units": 1}]})
    whole = take_patch(bench.windows["w"])
    bench.send({"type": "spans_used", "window_id": "w", "span_ids": ["s1"]})
    items = msgspec.msgpack.decode(take_patch(bench.windows["w"]))[3]
    assert [row[0] for row in items["spans"]] == ["s1"] and set(items) == {"spans"}
    assert msgspec.msgpack.decode(take_patch(bench.windows["w"]))[3:] == [{}, {}]
    assert len(msgspec.msgpack.decode(whole)[3]["spans"]) == 50


@pytest.mark.parametrize("version", [VERSION + 1, 99])
def test_newer_version_is_an_error_and_touches_nothing(version: int) -> None:
    bench = Bench()
    bench.send({"type": "span_appended", "window_id": "w", "spans": [{"span_id": "a", "cost_units": 1}]})
    window = bench.windows["w"]
    before = take_patch(window, full=True)
    for patch in ([version, *msgspec.msgpack.decode(before)[1:]], [version], [version, "anything", {"at": "all"}]):
        with pytest.raises(StateVersionError) as caught:
            apply_patch(window, msgspec.msgpack.encode(patch))
        assert str(version) in str(caught.value)
    assert take_patch(window, full=True) == before


def sample_stream(bench: Bench) -> None:
    for line in SAMPLES[:-1]:
        feed(bench, line, "authority_seq" in line)


def probes(bench: Bench) -> list[Json]:
    """What a recovered window says next: an old and a new plan, a planner, a used event_id, a replayed number."""
    look = {"type": "budget_requested", "window_id": "w", "request_id": "look", "budget_units": 0}
    plan = {"type": "plan_proposed", "window_id": "w", "plan_id": "p9", "window_generation": 0, "entries": []}
    pin = SAMPLES[4]
    lines = [SAMPLES[8], look, plan, SAMPLES[0] | {"sequence": 2}, SAMPLES[12] | {"component": "d", "value": 4}, pin]
    return [json.loads(out.value) for line in lines for out in feed(bench, line, line is pin)]


def test_state_of_version_1_is_still_read() -> None:
    """The files were written by version 1 and must never be written again: a reader of today has to take them."""
    bench = Bench()
    bench.windows["w"] = apply_patch(None, SAMPLE.read_bytes())
    bench.offset = 100
    assert probes(bench) == [json.loads(line) for line in PROBES.read_text().splitlines()]
