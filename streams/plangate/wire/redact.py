"""Keyed hashes in place of ids (contract section 7, ``id_redaction: hmac``). The window's own id stays: it is the key.

Works by an allow-list: what is not known to be no id is hashed.
"""

from __future__ import annotations

import hmac
from typing import Any

import msgspec

from ..core.records import Record

#: texts of our own vocabulary, numbers of ours, and names that operators gave to methods and planners
_PLAIN = frozenset(
    {
        "window_id", "contract_version", "policy_version", "source", "cut", "decision_id", "outcome", "reasons",
        "reason", "generation", "scorer", "alert", "event", "limit", "paths", "planner", "status", "stage", "last_seen",
        "first_absent", "accounting", "state", "component", "method", "input_version", "scope", "units",
    }
)  # fmt: skip


def redact(record: Record, key: bytes) -> Record:
    """The same record with every id hashed under ``key``."""
    changes = {
        name: _hidden(value, key)
        for name in record.__struct_fields__
        if name not in _PLAIN and (value := getattr(record, name)) is not msgspec.UNSET
    }
    return msgspec.structs.replace(record, **changes)


def hashed(text: str, key: bytes) -> str:
    return hmac.digest(key, text.encode("utf-8", "surrogatepass"), "sha256").hex()[:32]


def _hidden(value: Any, key: bytes) -> Any:
    if isinstance(value, str):
        return hashed(value, key)
    if isinstance(value, list):
        return [_hidden(item, key) for item in value]
    if isinstance(value, dict):
        return {name: item if name in _PLAIN else _hidden(item, key) for name, item in value.items()}
    return value
