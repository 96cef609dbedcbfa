"""From core records to what goes on a topic: topic, key, canonical bytes, CloudEvents headers (contract section 1)."""

from __future__ import annotations

from typing import NamedTuple

from ..core.policy import Policy
from ..core.records import DeadLetter, Record, Repeated, canonical, fit
from .redact import redact
from .topics import REDACTED, ROUTES

Headers = list[tuple[str, bytes]]


class Out(NamedTuple):
    """One output record; ``topic`` is the base name, without prefix."""

    topic: str
    key: bytes
    value: bytes
    headers: Headers


def encode(
    record: Record | Repeated, policy: Policy, redaction_key: bytes, coordinates: str, trace: Headers, number: int
) -> list[Out]:
    """A refusal goes out twice: with all decisions, and to those who escalate. ``number``: for the CloudEvents id."""
    if isinstance(record, Repeated):
        tag = "plan_refused" if record.refused else "plan_decision"
        headers = [*_headers(tag, coordinates, number), ("plangate-duplicate", b"1"), *trace]
        topics = ["plan-decisions", "plan-refusals"] if record.refused else ["plan-decisions"]
        return [Out(topic, record.window_id.encode(), record.value, headers) for topic in topics]
    tag = record.__struct_config__.tag
    topic = ROUTES[tag]
    if topic in REDACTED and policy.id_redaction == "hmac":
        record = redact(record, redaction_key)
    _, value = fit(record, policy.limits.record_bytes)
    headers = [*_headers(tag, coordinates, number), *trace]
    key = record.window_id.encode()
    outs = [Out(topic, key, value, headers)]
    if tag == "plan_refused":
        outs.append(Out("plan-refusals", key, value, headers))
    return outs


def encode_dead_letter(letter: DeadLetter, trace: Headers) -> Out:
    coordinates = f"{letter.topic}/{letter.partition}/{letter.offset}"
    return Out(
        "dead-letters", coordinates.encode(), canonical(letter), [*_headers("dead_letter", coordinates, 0), *trace]
    )


def _headers(tag: str, coordinates: str, number: int) -> Headers:
    """CloudEvents 1.0 binary mode. The id is a function of the input, so a repeat carries the same one."""
    return [
        ("ce_specversion", b"1.0"),
        ("ce_id", f"{coordinates}/{number}".encode()),
        ("ce_source", b"/plangate"),
        ("ce_type", f"plangate.{tag}.v1".encode()),
        ("content-type", b"application/json"),
    ]
