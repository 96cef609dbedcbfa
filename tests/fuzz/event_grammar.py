"""Valid events with every field, and lawful or nearly lawful values of each, made from the types of the decoder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from msgspec import inspect

from plangate.core.events import AnyEvent

Json = dict[str, Any]
TYPES = {kind.__struct_config__.tag: inspect.type_info(kind) for kind in AnyEvent.__args__}
#: what texts of a field must be for the event to mean something; any other id is one of the spans
FIXED: dict[str, Any] = {
    "window_id": "w", "scorer": "additive-support/1", "planner": "strict-priority/1", "sequence": 1,
    "policy": {"policy_version": "v2", "commit": "on_confirm", "limits": {"id_bytes": 200}}, "status": "fits",
    "event_id": "e-1", "plan_id": "p-1", "window_generation": 1, "budget_units": 40, "commit_order": "atomic",
}  # fmt: skip
#: declared nowhere, for they are content or read by nobody; still lawful (contract section 2)
CONTENT: dict[str, Json] = {
    "plan_proposed": {"proposer": "content-proposer"},
    "spans_removed": {"reason": "content-reason"},
    "pipeline_observed": {"policy_version": "content-version"},
}
SPANS = ("ä-1", "b-2", "c-3")


class Maker:
    """Values for types. ``dice`` None: the same rich event every time."""

    def __init__(self, dice: Random | None = None, text: Callable[[Random], str] | None = None) -> None:
        self.dice, self.text, self.count = dice, text, 0

    def event(self, tag: str) -> Json:
        made: Json = {"type": tag, **self.struct(TYPES[tag]), **CONTENT.get(tag, {})}
        for entry in made.get("entries", ()):
            if "relevance" in entry:
                entry["rationale"] = "content-rationale"
        return {name: value for name, value in made.items() if value is not None}

    def struct(self, kind: Any) -> Json:
        made = {}
        for field in kind.fields:
            rare = field.encode_name in ("sequence", "event_id")  # they make most events no-ops
            if self.dice and not field.required and self.dice.random() < (0.95 if rare else 0.5):
                continue
            fixed = field.encode_name in FIXED and (not self.dice or self.dice.random() < 0.8)
            made[field.encode_name] = FIXED[field.encode_name] if fixed else self.value(field.type, field.encode_name)
        return made

    def remade(self, kind: Any, node: Any, name: str = "") -> Any:
        """The node with one thing in it, at any depth, made anew as its type allows."""
        dice = self.dice
        assert dice is not None
        match kind:
            case inspect.UnionType(types=types):
                wanted = {dict: inspect.StructType, list: inspect.ListType}.get(type(node), object)
                fitting = [t for t in types if isinstance(t, wanted) and not isinstance(t, inspect.NoneType)]
                return self.remade(dice.choice(fitting), node, name) if fitting else self.value(kind, name)
            case inspect.ListType(item_type=item) if isinstance(node, list) and node and dice.random() < 0.8:
                at = dice.randrange(len(node))
                if dice.random() < 0.3:
                    node.insert(at, self.value(item, name))
                else:
                    node[at] = self.remade(item, node[at], name)
                return node
            case inspect.StructType(fields=declared) if isinstance(node, dict):
                field = dice.choice(declared)
                name, known = field.encode_name, node.get(field.encode_name)
                deeper = isinstance(known, dict | list) and dice.random() < 0.8
                node[name] = self.remade(field.type, known, name) if deeper else self.value(field.type, name)
                return node
        return self.value(kind, name)

    def value(self, kind: Any, name: str) -> Any:
        match kind:
            case inspect.UnionType(types=types):
                some = [t for t in types if not isinstance(t, inspect.NoneType)]
                return self.value(self.dice.choice(some) if self.dice else some[-1], name)
            case inspect.ListType(item_type=item):
                return [self.value(item, name) for _ in range(self.dice.randint(0, 4) if self.dice else 2)]
            case inspect.StructType():
                return self.struct(kind)
            case inspect.LiteralType(values=values):
                return self.dice.choice(values) if self.dice else values[0]
            case inspect.BoolType():
                return self.dice.random() < 0.5 if self.dice else True
            case inspect.IntType(ge=low):
                return self.dice.choice((low or 0, 1, 7, 2**53)) if self.dice else 2
            case inspect.FloatType():
                return self.dice.choice((0, 0.25, 1.0)) if self.dice else 0.5
            case inspect.StrType():
                return self._text(name)
            case inspect.AnyType():
                return self.dice.choice((3, 0, -1, "x", [], None)) if self.dice else 5
        raise AssertionError(f"no value for {type(kind).__name__}")

    def _text(self, name: str) -> str:
        if name in ("pin_owner", "pin_reason", "reason", "reviewer"):
            return f"content-{name}"
        if self.dice:
            return self.text(self.dice) if self.text and self.dice.random() < 0.2 else self.dice.choice(SPANS)
        self.count += 1
        return SPANS[self.count % len(SPANS)]


def fields(kind: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Paths of every declared field, through lists and unions; ``*`` is each item."""
    match kind:
        case inspect.UnionType(types=types):
            for one in types:
                yield from fields(one, path)
        case inspect.ListType(item_type=item):
            yield from fields(item, (*path, "*"))
        case inspect.StructType(fields=declared):
            for field in declared:
                yield (*path, field.encode_name)
                yield from fields(field.type, (*path, field.encode_name))


def rich_events() -> list[Json]:
    """One valid event of each type, every declared field given."""
    return [Maker().event(tag) for tag in TYPES]
