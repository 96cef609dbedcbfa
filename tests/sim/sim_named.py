"""The named situations: each must come up in at least ten seeds of a run, else the run proves nothing about it."""

from __future__ import annotations

import json

from model_wire import TYPES
from sim_broker import CHANGELOG, INPUT
from sim_faults import SENDING, STEPS, TAKE_OVER
from sim_world import World

from plangate.core.reasons import REASONS

LEAST = 10
POISON = (
    "null value", "cut off", "no JSON", "no UTF-8", "unknown type", "another key", "no key", "wrong field",
    "deep nesting",
)  # fmt: skip
RECOVERIES = (
    "empty changelog", "compacted changelog", "snapshot alone", "snapshot and deltas", "a second snapshot in one epoch",
    "a change of several records", "two owners' chains", "tombstones", "state ahead of the committed offset",
    "windows kept from the assignment before", "kept windows were not the newest",
)  # fmt: skip
OTHERS = (
    "agents: aborted record", "agents: control record", "agents: record doubled by a retry",
    "broker: aborts a transaction that took too long", "broker: record doubled by a retry",
    "changelog compacted", "clock jumped", "fetch dropped on its way", "group drops a silent member",
    "offset refused: the group moved on", "process stopped (SIGSTOP)", "process woken (SIGCONT)",
    "rebalance: a worker joins", "rebalance: a worker leaves", "slow processor: a batch is cut by time",
    "take-over aborts an open transaction", "take-over waits for a transaction that is being ended",
    "truncated fetch of the changelog", "truncated fetch of the input", "zombie fenced by its epoch",
    "zombie wrote without being fenced", "redelivered and skipped", "redelivered and answered again",
    "crash at an await point", "partition ends in a control record", "seek back after a dropped fetch",
)  # fmt: skip


def named() -> list[str]:
    """All of them."""
    found = [f"answer: {reason}" for reason in ("accepted committed", "accepted awaiting_confirmation", *REASONS)]
    found += [f"event: {sort}" for sort in TYPES] + ["event: wrong signature"]
    found += [f"poison: {sort}" for sort in POISON]
    for guarantee, steps in STEPS.items():
        found += [f"{what} at {guarantee}: {step}" for what in ("crash", "pause", "rebalance") for step in steps]
    found += [f"{what} in take-over: {request}" for what in ("crash", "rebalance") for request in TAKE_OVER]
    found.append("crash when: revoked")
    fates = ("answer lost", "request lost", "refused", "doubled")
    found += [f"{fate}: {what}" for fate in fates for what in sorted({*sum(SENDING.values(), ())})]
    found += ["slow: changes", "slow: outputs", "slow: changelog fetch", "refused: changelog fetch"]
    found += [f"recovery: {path}" for path in RECOVERIES]
    return found + list(OTHERS)


def situations(world: World) -> set[str]:
    """Those that came up in a seed that has run."""
    found = set(world.notes)
    for partition in world.places:
        log = world.broker.logs[INPUT, partition]
        if log.entries and log.entries[-1].control:
            found.add("partition ends in a control record")
        for _, made in world.input(partition):
            sort, _, wrong = made.sort.partition(" with ")
            found.add(f"event: {sort}" if sort in TYPES else f"poison: {made.sort}")
            if wrong:
                found.add("event: wrong signature")
    for place, log in world.broker.logs.items():
        if place.topic == "plan-decisions":
            for entry in log.visible():
                value = json.loads(entry.value or b"{}")
                if value["type"] == "plan_accepted":
                    found.add(f"answer: accepted {value['commit']}")
                else:
                    found |= {f"answer: {reason}" for reason in value.get("reasons", [value.get("reason")])}
        if place.topic not in (INPUT, CHANGELOG):
            ids = [(entry.writer, dict(entry.headers)["ce_id"]) for entry in log.visible()]
            if len({ce_id for _, ce_id in ids}) < len({*ids}):
                found.add("redelivered and answered again")
    return found
