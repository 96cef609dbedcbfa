"""What must hold of the logs when all is decided. Each finding has the name of its checker and words."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from model import Model
from model_compare import difference, of_product
from model_window import Json
from sim_accepts import wrong_accept, wrong_answer
from sim_broker import CHANGELOG, INPUT
from sim_events import CANARY, Made
from sim_log import Entry
from sim_recovered import State, state_of
from sim_world import World

from plangate.core.window import Window
from plangate.wire.engine import Engine, Out, Record

CHECKS = (
    "lost", "conflicting", "double accept", "fabricated", "stale accept", "orphan accept", "pin violated",
    "accepted in doubt", "forged authority",
    "generations out of order", "torn window", "unlogged event", "leak", "stuck", "unlike the engine",
    "unlike the model", "repeated",
)  # fmt: skip


class Finding(NamedTuple):
    check: str
    words: str


class Told(NamedTuple):
    """An output record as published; `cause` is (input partition, input offset, number), read from its id."""

    topic: str
    entry: Entry
    cause: tuple[int, int, int]
    value: Json

    @property
    def name(self) -> tuple[str, tuple[int, int, int]]:
        return self.topic, self.cause

    @property
    def repeats_a_decision(self) -> bool:
        return ("plangate-duplicate", b"1") in self.entry.headers


def check(world: World) -> Iterator[Finding]:
    """All findings of a seed that has run."""
    if world.stuck:
        yield Finding("stuck", world.stuck)
    told = _told(world)
    yield from _leaks(world)
    firsts: dict[tuple[str, tuple[int, int, int]], Told] = {}
    for one in told:
        first = firsts.setdefault(one.name, one)
        if (first.entry.key, first.entry.value, first.entry.headers) != (
            one.entry.key,
            one.entry.value,
            one.entry.headers,
        ):
            yield Finding("conflicting", f"{one.name}: two answers\n  {first.entry.value!r}\n  {one.entry.value!r}")
        if first is not one and world.plan.guarantee == "transactions":
            yield Finding("repeated", f"{one.name} is there twice in spite of transactions")
    outputs = sorted(firsts.values(), key=lambda one: (one.cause, one.topic))
    yield from _one_answer(outputs)
    yield from _accepts(outputs)
    yield from _order(world, told)
    for partition in world.places:
        of_partition = [one for one in outputs if one.cause[0] == partition]
        yield from _against_model(world, partition, of_partition)
        yield from _against_engine(world, partition, {one.name: one for one in of_partition})


def _told(world: World) -> list[Told]:
    found = []
    for place, log in sorted(world.broker.logs.items()):
        if place.topic not in (INPUT, CHANGELOG):
            for entry in log.visible():
                parts = dict(entry.headers)["ce_id"].decode().split("/")
                cause = int(parts[1]), int(parts[2]), int(parts[3])
                found.append(Told(place.topic, entry, cause, json.loads(entry.value or b"null")))
    return found


def _leaks(world: World) -> Iterator[Finding]:
    """Aborted records count too: they are in the log's files."""
    canary = CANARY.encode()
    for place, log in world.broker.logs.items():
        if place.topic != INPUT:
            for entry in log.entries:
                held = (entry.key, entry.value, *(part for _, part in entry.headers))
                if any(canary in part for part in held if part):
                    yield Finding("leak", f"content in {place.topic} at offset {entry.offset}")
    for line in world.logged:
        if CANARY in line:
            yield Finding("leak", f"content in a log line: {line}")


def _one_answer(outputs: list[Told]) -> Iterator[Finding]:
    """All decisions with one decision_id have the same bytes, wherever they stand."""
    answers: dict[str, bytes | None] = {}
    for one in outputs:
        if one.topic in ("plan-decisions", "plan-refusals"):
            decision_id = one.value["decision_id"]
            if answers.setdefault(decision_id, one.entry.value) != one.entry.value:
                yield Finding("conflicting", f"{decision_id}: two decisions under one id")


def _accepts(outputs: list[Told]) -> Iterator[Finding]:
    """At most one acceptance stands for each generation of a window: another may follow one that lapsed."""
    standing: dict[tuple[str, int], Json] = {}
    for one in outputs:
        if one.topic != "plan-decisions" or one.repeats_a_decision:
            continue
        value = one.value
        window_id = (one.entry.key or b"").decode()
        if value["type"] == "plan_accepted":
            place = window_id, value["window_generation"]
            other = standing.setdefault(place, value)
            if other["decision_id"] != value["decision_id"]:
                yield Finding("double accept", f"{place}: {other['plan_id']} and {value['plan_id']}")
        elif value.get("reason") == "acceptance_lapsed":
            for place in [p for p, v in standing.items() if p[0] == window_id and v["plan_id"] == value["plan_id"]]:
                if standing[place]["source"] == value["source"]:
                    del standing[place]


def _order(world: World, told: list[Told]) -> Iterator[Finding]:
    """A window's generation never goes back: for all readers with transactions, else in what one process wrote."""
    newest: dict[tuple[str, bytes | None, str], int] = {}
    seen: set[tuple[str, tuple[str, tuple[int, int, int]]]] = set()
    for one in told:
        if one.topic != "window-status":
            continue
        writer = "" if world.plan.guarantee == "transactions" else one.entry.writer
        if (writer, one.name) in seen:
            continue
        seen.add((writer, one.name))
        generation, place = one.value["generation"], (one.topic, one.entry.key, writer)
        if generation < newest.get(place, 0):
            yield Finding("generations out of order", f"{one.name}: {generation} after {newest[place]}")
        newest[place] = max(generation, newest.get(place, 0))


def _against_model(world: World, partition: int, outputs: list[Told]) -> Iterator[Finding]:
    """Lost, fabricated, stale, orphan, pin, unlogged: each decision beside the naive model's, then all else."""
    accepts: defaultdict[int, list[Told]] = defaultdict(list)
    answers: defaultdict[int, list[Told]] = defaultdict(list)
    for one in outputs:
        if one.topic == "plan-decisions":
            answers[one.cause[1]].append(one)
            if one.value["type"] == "plan_accepted" and not one.repeats_a_decision:
                accepts[one.cause[1]].append(one)
    model, newest, given = Model(world.policy), {}, {}
    offsets = set()
    for entry, made in world.input(partition):
        offsets.add(entry.offset)
        for one in accepts[entry.offset]:
            if (wrong := wrong_accept(model, made, one.value)) is not None:
                yield Finding(wrong[0], f"partition {partition} offset {entry.offset}: {wrong[1]}")
        before = len(model.records)
        feed(model, newest, entry.offset, made)
        decided = [record for record in model.records[before:] if record["kind"] == "decision"]
        if decided and not answers[entry.offset]:
            yield Finding(
                "lost", f"partition {partition} offset {entry.offset}: no decision of {decided[0]['plan_id']}"
            )
        if not decided and answers[entry.offset]:
            yield Finding("fabricated", f"partition {partition} offset {entry.offset}: a decision nobody asked for")
        for record, one in zip(decided, answers[entry.offset], strict=False):
            key = record["window"], record["plan_id"], record["type"], record["source"]["offset"]
            if given.setdefault(key, one.entry.value) != one.entry.value:
                yield Finding("conflicting", f"{key}: another answer at partition {partition} offset {entry.offset}")
        for one in answers[entry.offset]:
            window = model.windows.get((one.entry.key or b"").decode())
            if (wrong := wrong_answer(window, one.value, one.repeats_a_decision)) is not None:
                yield Finding(wrong[0], f"partition {partition} offset {entry.offset}: {wrong[1]}")
    for offset in sorted(set(answers) - offsets):
        yield Finding("unlogged event", f"partition {partition} offset {offset}: a decision on a record not in the log")
    for record in model.records:
        if record["kind"] == "decision":
            record["source"]["partition"] = partition
    raw = [{"topic": one.topic, "value": one.value} for one in outputs]
    if (words := difference(model.records, of_product(raw))) is not None:
        yield Finding("unlike the model", words)


def feed(model: Model, newest: dict[tuple[str, str], int], offset: int, made: Made) -> None:
    """One record to the model; poison, and authority that comes a second time, is judged here."""
    if made.line is None:
        if made.value is not None:
            model.records.append({"kind": "dead", "window": None, "offset": offset})
        return
    if made.signed is not None:
        window_id, key_id, number = made.signed
        if number <= newest.get((window_id, key_id), 0):
            return
        newest[window_id, key_id] = number
    model.offset = offset - 1
    model.feed(made.line)


def _against_engine(
    world: World, partition: int, told: dict[tuple[str, tuple[int, int, int]], Told]
) -> Iterator[Finding]:
    """The outputs are those of one engine over the log, and every take-over found the state of a log prefix."""
    engine, windows = Engine(world.engine.policy, world.engine.keyring), {}
    states: dict[str, dict[int, State | None]] = defaultdict(dict)
    recovered = {(name, at) for one in world.recovered for name, (at, _) in one.windows.items()}
    wanted: dict[tuple[str, tuple[int, int, int]], Out] = {}
    for entry, _ in world.input(partition):
        record = Record(INPUT, partition, entry.offset, entry.key, entry.value, entry.headers)
        for out in engine.process(windows, record):
            number = int(dict(out.headers)["ce_id"].decode().rsplit("/", 1)[1])
            wanted[out.topic, (partition, entry.offset, number)] = out
        name = (entry.key or b"").decode(errors="replace")
        window: Window | None = windows.get(name)
        if window is not None and window.head.last_offset == entry.offset:
            found = (name, entry.offset) in recovered
            states[name][entry.offset] = state_of(window) if found else None
    for name in sorted(wanted.keys() - told.keys()):
        yield Finding("lost", f"{name} was never published: {wanted[name].value!r}")
    for name in sorted(told.keys() - wanted.keys()):
        yield Finding("fabricated", f"{name}: {told[name].entry.value!r}")
    for name in sorted(told.keys() & wanted.keys()):
        out, entry = wanted[name], told[name].entry
        if (out.key, out.value, list(out.headers)) != (entry.key, entry.value, list(entry.headers)):
            yield Finding("unlike the engine", f"{name}\n  log:    {entry.value!r}\n  engine: {out.value!r}")
    yield from _torn(world, partition, states)


def _torn(world: World, partition: int, states: dict[str, dict[int, State | None]]) -> Iterator[Finding]:
    for recovered in world.recovered:
        if recovered.partition != partition:
            continue
        for name, (offset, state) in recovered.windows.items():
            if states[name].get(offset) != state:
                yield Finding("torn window", f"{name} at {offset} is not the state of the log up to there")
        for name, by_offset in states.items():
            due = max((offset for offset in by_offset if offset < recovered.committed), default=-1)
            if recovered.windows.get(name, (-1, None))[0] < due:
                yield Finding("torn window", f"{name}: what the log says up to {due} is missing after a take-over")
