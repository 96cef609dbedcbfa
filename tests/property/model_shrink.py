"""Make a failing stream small: drop operations, then list items and optional fields, while it still fails."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from model_streams import Operation
from model_window import Json

Fails = Callable[[list[Operation], Json], bool]
OPTIONAL = set(
    "sequence event_id turn order planner commit replacements scorer keep_threshold commit_order amendable "
    "kind priority last_used_order depends_on needs_verbatim required_by pairs_with needs_prefix open closes "
    "derived_from pinned pin_owner pin_reason accounting disposition cited_dependencies support rationale "
    "in_place".split()
)


def shrink(operations: list[Operation], policy: Json, fails: Fails, tries: int = 3000) -> tuple[list[Operation], Json]:
    """The smallest failing stream that greedy removal finds within that many tries."""
    budget = [tries]

    def still(rules: Json, candidate: list[Operation]) -> bool:
        budget[0] -= 1
        return budget[0] > 0 and fails(candidate, rules)

    progress = True
    while progress and budget[0] > 0:
        before = repr((operations, policy))
        operations = fewer(operations, partial(still, policy))
        operations = thinner(operations, partial(still, policy))
        for name in list(policy):
            rules = {key: value for key, value in policy.items() if key != name}
            if name != "policy_version" and still(rules, operations):
                policy = rules
        progress = before != repr((operations, policy))
    return operations, policy


def fewer(operations: list[Operation], still: Callable[[list[Operation]], bool]) -> list[Operation]:
    size = max(1, len(operations) // 2)
    while size:
        start = 0
        while start < len(operations):
            candidate = operations[:start] + operations[start + size :]
            if candidate and still(candidate):
                operations = candidate
            else:
                start += size
        size //= 2
    return operations


def thinner(operations: list[Operation], still: Callable[[list[Operation]], bool]) -> list[Operation]:
    for index in range(len(operations)):
        progress = True
        while progress:
            progress = False
            for value in list(without_one(operations[index].value)):
                changed = copy.copy(operations[index])
                changed.value = value
                candidate = [*operations[:index], changed, *operations[index + 1 :]]
                if still(candidate):
                    operations, progress = candidate, True
                    break
    return operations


def without_one(value: Any) -> Iterator[Any]:
    """Every copy of a JSON value with one list item or one optional field less, at any depth."""
    if isinstance(value, dict):
        for name, item in value.items():
            if name in OPTIONAL:
                yield {key: other for key, other in value.items() if key != name}
            for less in without_one(item) if name != "accounting" else ():
                yield value | {name: less}
    elif isinstance(value, list):
        for index in range(len(value)):
            yield value[:index] + value[index + 1 :]
            for less in without_one(value[index]):
                yield [*value[:index], less, *value[index + 1 :]]
