"""The policy of a window (contract section 8) and its limits (contract section 7)."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from .events import INTEGER_BOUND, MAX_DEPENDENCIES, MAX_ENTRIES, MAX_ID, MAX_SPANS, Count, Id, Unit

#: what no id or name may hold: control, bidirectional and line separating characters, surrogates (contract section 7)
FORBIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")
Positive = Annotated[int, Meta(ge=1, le=INTEGER_BOUND)]


class Limits(Struct, frozen=True, forbid_unknown_fields=False):
    """Ceilings, each with its reason. A window's policy may lower what the worker allows, never raise it."""

    #: an id is copied into every output that names it, so its size is everybody's cost
    id_bytes: Annotated[int, Meta(ge=1, le=MAX_ID)] = MAX_ID
    #: an event is applied whole between two others; its size is the longest pause of its partition
    spans_per_event: Annotated[int, Meta(ge=1, le=MAX_SPANS)] = MAX_SPANS
    #: a decision is made whole between two events, and its answer must fit one record
    entries_per_plan: Annotated[int, Meta(ge=1, le=MAX_ENTRIES)] = MAX_ENTRIES
    #: the cost of a plan is its size and the edges of what leaves
    dependencies: Annotated[int, Meta(ge=1, le=MAX_DEPENDENCIES)] = MAX_DEPENDENCIES
    #: a window lives in the worker's memory
    live_spans: Annotated[int, Meta(ge=1, le=200_000)] = 200_000
    #: JSON readers in other languages hold integers as doubles
    integer: Annotated[int, Meta(ge=1, le=INTEGER_BOUND)] = INTEGER_BOUND
    #: one record must pass the broker, inputs and outputs alike
    record_bytes: Annotated[int, Meta(ge=65_536, le=8_388_608)] = 8_388_608
    #: all decisions of a generation are remembered whole; when they have so many bytes, further proposals are too many
    answer_bytes: Annotated[int, Meta(ge=65_536, le=1_073_741_824)] = 67_108_864
    #: repeated event_ids are recognised within this many; older ones are forgotten
    event_ids_remembered: Annotated[int, Meta(ge=0, le=65_536)] = 1_024
    #: artifacts of a window whose newest cost reports are kept for comparison
    artifacts_remembered: Annotated[int, Meta(ge=1, le=65_536)] = 1_024
    #: refusals that stay open in a window; the oldest are dropped first
    open_escalations: Annotated[int, Meta(ge=1, le=65_536)] = 1_024


class Policy(Struct, frozen=True):
    """One versioned document. Defaults are the contract's; a worker's own defaults come from its policy file."""

    policy_version: Id = "default/1"
    commit: Literal["on_accept", "on_confirm"] = "on_accept"
    generation_counts: Literal["every_change", "rewrites"] = "every_change"
    scorers: Annotated[tuple[Id, ...], Meta(min_length=1, max_length=64)] = (
        "declared-provenance/1",
        "additive-support/1",
    )
    keep_threshold: Unit = 0.5
    amend_plans: bool = False
    compressed_evidence: Literal["standing", "leaving"] = "standing"
    budget_units: Count | None = None
    planner: Id = "strict-priority/1"
    shadow_planner: Id | None = None
    id_redaction: Literal["none", "hmac"] = "none"
    decisions_remembered: Annotated[int, Meta(ge=1, le=65_536)] = 64
    proposals_per_generation: Annotated[int, Meta(ge=1, le=65_536)] = 1024
    starvation_after: Annotated[int, Meta(ge=1, le=INTEGER_BOUND)] = 5
    limits: Limits = Limits()


class PolicyError(ValueError):
    """A policy document was rejected whole. ``paths`` names the fields, never their values."""

    def __init__(self, paths: list[str]) -> None:
        super().__init__("policy rejected at " + ", ".join(paths))
        self.paths = paths


DEFAULT = Policy()


def parse_policy(document: Any, base: Policy = DEFAULT) -> Policy:
    """Lay a decoded document over ``base``; absent and null fields keep the base's value (contract section 8).

    Raises :class:`PolicyError` when a field does not parse or a limit is looser than the base's.
    """
    if not isinstance(document, dict):
        raise PolicyError(["policy"])
    paths: list[str] = []
    changes: dict[str, Any] = {}
    for name in Policy.__struct_fields__:
        value = document.get(name)
        if value is None:
            continue
        if name == "limits":
            changes[name] = _limits(value, base.limits, paths)
            continue
        try:
            changes[name] = parsed = _convert(Policy, name, value)
        except (msgspec.ValidationError, UnicodeError):
            paths.append(name)
            continue
        texts = parsed if isinstance(parsed, tuple) else (parsed,)
        if any(isinstance(t, str) and (FORBIDDEN.search(t) or len(t.encode()) > MAX_ID) for t in texts):
            paths.append(name)
    if paths:
        raise PolicyError(sorted(paths))
    return msgspec.structs.replace(base, **changes)


def _convert(kind: type, name: str, value: Any) -> Any:
    return getattr(msgspec.convert({name: value}, kind), name)


def _limits(document: Any, base: Limits, paths: list[str]) -> Limits:
    if not isinstance(document, dict):
        paths.append("limits")
        return base
    changes: dict[str, int] = {}
    for name in Limits.__struct_fields__:
        value = document.get(name)
        if value is None:
            continue
        try:
            number = _convert(Limits, name, value)
        except msgspec.ValidationError:
            number = None
        if number is None or number > getattr(base, name):
            paths.append(f"limits.{name}")
        else:
            changes[name] = number
    return msgspec.structs.replace(base, **changes)


def known_fields(document: dict[str, Any]) -> dict[str, Any]:
    """The parts of a parsed document that mean something; the rest may be content and is dropped."""
    kept = {name: document[name] for name in Policy.__struct_fields__ if document.get(name) is not None}
    if "limits" in kept:
        kept["limits"] = {name: kept["limits"].get(name) for name in Limits.__struct_fields__}
    return kept
