"""The bus in forms that other languages read: JSON Schemas and an AsyncAPI document (contract sections 1 to 8).

All of it is generated from the structs that encode and decode, so it can't say anything else than the program does.
What a schema can't say (no control characters in an id, ids that are bytes and not characters long) is in the contract.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import msgspec

from ..core.events import AnyEvent
from ..core.policy import Policy
from ..core.records import CONTRACT_VERSION, DeadLetter, Record
from .topics import INPUT, ROUTES, TOPICS, Topic

Json = dict[str, Any]
DIALECT = "https://json-schema.org/draft/2020-12/schema"
EVENTS: dict[str, type] = {kind.__struct_config__.tag: kind for kind in AnyEvent.__args__}


def _leaves(kind: type) -> Iterable[type]:
    for sub in kind.__subclasses__():
        yield from _leaves(sub) if sub.__subclasses__() else [sub]


RECORDS: dict[str, type] = {kind.__struct_config__.tag: kind for kind in (*_leaves(Record), DeadLetter)}


def schema_of(kind: type) -> Json:
    """One self-contained JSON Schema. Unknown fields are allowed: readers ignore them (contract section 1)."""
    (_,), parts = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    own = parts.pop(kind.__name__)
    return {"$schema": DIALECT, **own, **({"$defs": parts} if parts else {})}


def topics_of(tag: str) -> list[str]:
    """The topics on which a record of this type appears; a refusal goes to two."""
    return [ROUTES[tag], *(["plan-refusals"] if tag == "plan_refused" else [])]


def asyncapi() -> Json:
    """An AsyncAPI 3.0 document: a channel for each topic, and from which messages are received or sent there."""
    on_topic: dict[str, list[str]] = {name: [] for name in TOPICS}
    on_topic[INPUT] = list(EVENTS)
    for tag in RECORDS:
        for topic in topics_of(tag):
            on_topic[topic].append(tag)
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Plangate",
            "version": f"{CONTRACT_VERSION}.0.0",
            "description": "Topics by their base names; a deployment may put a prefix that ends in a dot before them.",
        },
        "defaultContentType": "application/json",
        "channels": {name: _channel(name, topic, on_topic[name]) for name, topic in TOPICS.items()},
        "operations": {name: _operation(name, on_topic[name]) for name in TOPICS},
        "components": {
            "messages": {
                **{tag: _message(tag, f"./events/{tag}.json") for tag in EVENTS},
                **{tag: _message(tag, f"./records/{tag}.json") for tag in RECORDS},
            }
        },
    }


def _channel(name: str, topic: Topic, tags: list[str]) -> Json:
    return {
        "address": name,
        "description": "Key: window_id." if topic.keyed_by_window else "Key: topic/partition/offset of the source.",
        "messages": {tag: {"$ref": f"#/components/messages/{tag}"} for tag in tags},
        "bindings": {"kafka": {"topicConfiguration": {"cleanup.policy": topic.cleanup.split(",")}}},
    }


def _operation(name: str, tags: list[str]) -> Json:
    return {
        "action": "receive" if name == INPUT else "send",
        "channel": {"$ref": f"#/channels/{name}"},
        "messages": [{"$ref": f"#/channels/{name}/messages/{tag}"} for tag in tags],
    }


def _message(tag: str, path: str) -> Json:
    return {"name": tag, "contentType": "application/json", "payload": {"$ref": path}}


def all_files() -> dict[str, str]:
    """Every generated file by its path below the schemas folder."""
    documents = {
        **{f"events/{tag}.json": schema_of(kind) for tag, kind in EVENTS.items()},
        **{f"records/{tag}.json": schema_of(kind) for tag, kind in RECORDS.items()},
        "policy.json": schema_of(Policy),
        "asyncapi.json": asyncapi(),
    }
    return {path: json.dumps(document, indent=2, ensure_ascii=False) + "\n" for path, document in documents.items()}
