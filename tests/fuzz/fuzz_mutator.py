"""Mutations of a fuzz input that keep most of its lines events: a tree of JSON is changed, not its bytes."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

from event_grammar import TYPES, Json, Maker

MARK = "c0ntent"  # never in an id that this module writes
LINES = 8
HOSTILE: list[Any] = [
    None, True, False, 0, -1, 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**64, 10**30, 0.5, 1.0, -0.0, 1e308, "", "x" * 256,
    "x" * 257, "é" * 128, "é" * 129, "\0", "\u202e", "\ud800", "\ufeff", "a\nb", "\u2028", "%s%n", "../x", "__proto__",
    [], {}, [[]], [None], {MARK: MARK}, [MARK], MARK + "\u202e", ["b-2"] * 65,
]  # fmt: skip


def places(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of everything below a node."""
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    found = []
    for key, item in items:
        found.append((*path, key))
        found += places(item, (*path, key))
    return found


def held(node: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        node = node[key]
    return node


def _text(dice: Random) -> str:
    return dice.choice([t for t in HOSTILE if isinstance(t, str) and MARK not in t])


def _mutated(event: Any, dice: Random) -> Any:
    """One change: mostly a lawful one; or a hostile value, a field more, fewer or twice, a value from elsewhere."""
    tag = event.get("type") if isinstance(event, dict) else None
    if isinstance(tag, str) and tag in TYPES and dice.random() < 0.75:
        return Maker(dice, _text).remade(TYPES[tag], event)
    found = places(event)
    if not found:
        return Maker(dice, _text).event(dice.choice(sorted(TYPES)))
    path = dice.choice(found)
    parent, key = held(event, path[:-1]), path[-1]
    match dice.randrange(6):
        case 0:
            parent[key] = dice.choice(HOSTILE)
        case 1:
            del parent[key]
        case 2 if isinstance(parent, list):
            parent.insert(key, json.loads(json.dumps(parent[key])))
        case 3:
            other = held(event, dice.choice(found))
            parent[key] = json.loads(json.dumps(other))
        case 4 if isinstance(parent[key], int) and not isinstance(parent[key], bool):
            parent[key] += dice.choice((-1, 1))
        case _:
            node = parent[key] if isinstance(parent[key], dict) else parent if isinstance(parent, dict) else None
            if node is not None:
                node[dice.choice(("rationale", "reason", "proposer", MARK))] = MARK
    return event


def mutate(data: bytes, size: int, seed: int, bytewise: Callable[[bytes, int], bytes]) -> bytes:
    """A neighbour of an input of at most ``size`` bytes; seldom its bytes are bent, else one of its events."""
    dice = Random(seed)
    if dice.random() < 0.1:
        return bytewise(data, size)
    lines = data.split(b"\n")[:LINES]
    at = dice.randrange(len(lines))
    try:
        document = json.loads(lines[at])
    except (ValueError, RecursionError):
        document = None
    roll = dice.random()
    if document is None or roll < 0.15:
        event: Any = Maker(dice, _text).event(dice.choice(sorted(TYPES)))
        wrapped: Json = {"value": event, "source": "policy_store"} if dice.random() < 0.3 else event
        lines.insert(at, json.dumps(wrapped).encode())
    elif roll < 0.25 and len(lines) > 1:
        del lines[at]
    else:
        wrapper = document if isinstance(document, dict) and "value" in document and "type" not in document else None
        for _ in range(dice.choice((1, 1, 1, 3))):
            try:
                if wrapper is None:
                    document = _mutated(document, dice)
                else:
                    wrapper["value"] = _mutated(wrapper["value"], dice)
            except (RecursionError, TypeError):
                break
        lines[at] = json.dumps(document).encode()
    made = b"\n".join(lines[:LINES])
    return made if len(made) <= size else data
