"""Events for tests over the fakes, and what the engine makes of them."""

import json
from typing import Any

from aiokafka import TopicPartition
from shell_fakes import SOURCE, Bus

from plangate.wire.engine import Engine, Out, Record


def event(window_id: str, **fields: Any) -> tuple[bytes, bytes]:
    """Key and value of an input event; its type is span_appended if none is given."""
    return window_id.encode(), json.dumps({"type": "span_appended", "window_id": window_id, **fields}).encode()


def span(span_id: str, **fields: Any) -> dict[str, Any]:
    return {"span_id": span_id, "kind": "user", "cost_units": 5, **fields}


def story(bus: Bus, count: int = 30) -> None:
    """Events of three windows, with plans that are accepted, deferred and refused, dead letters, and a null value."""
    place = TopicPartition(SOURCE, 0)
    for number in range(count):
        window_id = f"w{number % 3}"
        match number % 10:
            case 6:
                entry = {"span_id": f"s{number - 6}", "relevance": 0.1}
                plan = {"plan_id": f"p{number}", "window_generation": number // 3, "entries": [entry]}
                key, value = event(window_id, type="plan_proposed", **plan)
            case 7:
                key, value = window_id.encode(), b"{no json"
            case 8:
                key, value = b"another key", event(window_id, spans=[span(f"s{number}")])[1]
            case 9:
                bus.append(place, window_id.encode(), None)
                continue
            case _:
                key, value = event(window_id, spans=[span(f"s{number}")])
        bus.append(place, key, value)


def expected(bus: Bus) -> list[Out]:
    """What the engine makes of the input log, in the order of `Bus.outputs`."""
    windows: dict = {}
    outs: list[Out] = []
    engine = Engine()
    for entry in bus.visible(TopicPartition(SOURCE, 0)):
        outs += engine.process(windows, Record(SOURCE, 0, entry.offset, entry.key, entry.value, entry.headers))
    return [out for topic in sorted({out.topic for out in outs}) for out in outs if out.topic == topic]
