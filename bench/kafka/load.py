"""The load of a fleet: 80 % appends, 15 % plans of 60 entries, 5 % others; the same for every peer."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from plangate.core.window import Window
from plangate.wire.engine import Engine

from ..inputs import Json, append, event, record, span_id, spans

ENTRIES, EVICTED, OPENING = 60, 10, 64
Item = tuple[bytes, bytes]  # key, value


def opening(windows: int, size: int = OPENING) -> Iterator[Item]:
    """Every window with its first spans, so that plans find something."""
    for number in range(windows):
        window_id = f"window-{number:06d}"
        for first in range(0, size, 1000):
            yield window_id.encode(), append(window_id, spans(min(1000, size - first), Random(number), first))


def mixed(count: int, windows: int, seed: int = 7) -> list[Item]:
    """The opening and then ``count`` events. An engine runs along, so that plans are of the generation they meet."""
    dice, engine, live = Random(seed), Engine(), dict[str, Window]()
    made = list(opening(windows))
    for offset, (key, value) in enumerate(made):
        engine.process(live, record(key.decode(), offset, value))
    for offset in range(len(made), len(made) + count):
        window = live[f"window-{dice.randrange(windows):06d}"]
        value = _event(dice, window, offset)
        made.append((window.head.window_id.encode(), value))
        engine.process(live, record(window.head.window_id, offset, value))
    return made


def _event(dice: Random, window: Window, number: int) -> bytes:
    window_id, what = window.head.window_id, dice.random()
    ids = list(window.spans)
    if what < 0.15 and len(ids) >= ENTRIES:
        return event("plan_proposed", window_id, plan_id=f"plan-{number}", **_plan(dice, window, ids))
    if what < 0.20:
        used = dice.sample(ids, 3) if len(ids) > 3 else ids
        return event("spans_used", window_id, span_ids=used)
    return append(window_id, _more(dice, ids, number))


def _more(dice: Random, ids: list[str], number: int) -> list[Json]:
    """One to four spans that rest on what is there, 1.5 edges each."""
    made: list[Json] = []
    for n in range(dice.randint(1, 4)):
        span: Json = {"span_id": span_id(number * 10 + n), "kind": "tool_result", "cost_units": dice.randint(300, 3000)}
        span["depends_on"] = [dice.choice(ids[-20:])]
        if n % 2 and made:
            span["pairs_with"] = [made[-1]["span_id"]]
        made.append(span)
    return made


def _plan(dice: Random, window: Window, ids: list[str]) -> Json:
    """Evicts spans together with what depends on or pairs with them; every fifth plan forgets that and is refused."""
    forgetful = dice.random() < 0.2
    gone: set[str] = set()
    for key in dice.sample(ids, len(ids)):
        if len(gone) >= EVICTED:
            break
        unit = {key} if forgetful else _unit(window, key)
        if len(unit) <= 4:
            gone |= unit
    kept = [key for key in ids if key not in gone][: ENTRIES - len(gone)]
    entries = [{"span_id": key, "relevance": 0.1, "cited_dependencies": []} for key in sorted(gone)]
    entries += [{"span_id": key, "relevance": 0.9, "cited_dependencies": dice.sample(kept, 2)} for key in kept]
    return {"window_generation": window.head.generation, "entries": entries}


def _unit(window: Window, key: str) -> set[str]:
    """The span and what would be orphaned without it; given up once it is more than a few."""
    unit, todo = {key}, [key]
    while todo and len(unit) <= 4:
        linked = {*window.dependents.of(todo[-1]), *window.partners(window.spans[todo.pop()])}
        todo += linked - unit
        unit |= linked
    return unit
