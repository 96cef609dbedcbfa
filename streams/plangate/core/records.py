"""Output records, their canonical bytes, and how long lists are cut (contract sections 1, 4 to 7).

Field order is the order on the wire. Optional facts of a reason are absent where they do not apply.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

CONTRACT_VERSION = 1
#: room that headers, key and the batch frame need beside the largest value
FRAME_BYTES = 32_768
_RETAIN = "resolution.retain"
_ENCODER = msgspec.json.Encoder()


def canonical(record: Struct) -> bytes:
    """The one byte form of a record: compact JSON, fields in declared order."""
    return _ENCODER.encode(record)


class Source(Struct):
    """Where the event that caused a record lies in the input topic."""

    partition: int
    offset: int


class Cut(Struct):
    """What was cut from a list to fit a record: how many it had, and the SHA-256 of its canonical JSON."""

    count: int
    sha256: str


class Record(Struct, tag_field="type", kw_only=True):
    window_id: str
    contract_version: int = CONTRACT_VERSION
    policy_version: str
    source: Source
    cut: dict[str, Cut] | UnsetType = UNSET


class Broken(Struct, order=True):
    span_id: str
    via: str
    state: str


class Orphan(Struct):
    span_id: str
    broken: list[Broken]


class Resolution(Struct):
    retain: list[str]
    retained_cost_units: int
    fits_budget: bool | None
    complete: bool


class Rescored(Struct):
    span_id: str
    before: float
    after: float | None


class Compressed(Struct):
    replacement_id: str
    covers: list[str]


class Decision(Record, kw_only=True):
    decision_id: str
    plan_id: str
    scorer: str


class PlanAccepted(Decision, tag="plan_accepted", kw_only=True):
    window_generation: int
    new_generation: int
    evicted_ids: list[str]
    commit_order: list[str]
    compressed: list[Compressed]
    amended_retained_ids: list[str]
    rescored: list[Rescored]
    preexisting_orphans: list[str]
    retained_cost_units: int
    fits_budget: bool | None
    mean_relevance_before: float | None
    mean_relevance_after: float | None
    commit: str


class PlanDeferred(Decision, tag="plan_deferred", kw_only=True):
    reason: str
    waits_for: str
    live_generation: int | None
    plan_generation: int | UnsetType = UNSET
    relation: str | UnsetType = UNSET
    changed_since: list[dict[str, Any]] | UnsetType = UNSET
    changed_since_cut: int | UnsetType = UNSET
    consecutive_deferrals: int | UnsetType = UNSET
    span_ids: list[str] | UnsetType = UNSET
    pending_plan_id: str | UnsetType = UNSET
    lapsed_at: Source | UnsetType = UNSET


class PlanRefused(Decision, tag="plan_refused", kw_only=True):
    reasons: list[str]
    orphans: list[Orphan] = []
    pinned_ids: list[str] = []
    unknown_ids: list[str] = []
    invalid_paths: list[str] = []
    resolution: Resolution | None = None
    live_generation: int
    window_unchanged: bool = True
    escalate_to_turn: int


class EvictionPlanned(Record, tag="eviction_planned", kw_only=True):
    request_id: str
    planner: str
    generation: int | None
    status: str
    retained_ids: list[str]
    evicted_ids: list[str]
    used_cost_units: int
    reason: str | None
    pinned_units: int | UnsetType = UNSET
    shortfall_units: int | UnsetType = UNSET


class ShadowCompared(Record, tag="shadow_compared", kw_only=True):
    case_id: str
    planner_old: str
    planner_new: str
    agree: bool
    status_old: str
    status_new: str
    differences: list[dict[str, str | None]]
    broken_invariants: list[str]


class GateDiagnosed(Record, tag="gate_diagnosed", kw_only=True):
    decision_id: str
    plan_id: str
    outcome: str
    reasons: list[str]
    generation: int | None
    scorer: str
    entries: int
    evicted: int
    compressed: int
    orphans: int
    orphan_ids: list[str]
    input_cost_units: int
    retained_cost_units: int | None
    mean_relevance_before: float | None
    mean_relevance_after: float | None


class PlannerDiagnosed(Record, tag="planner_diagnosed", kw_only=True):
    case_id: str
    planner: str
    budget: int | None
    input_cost_units: int
    candidate_order: list[dict[str, Any]]
    evicted_ids: list[str]
    retained_ids: list[str]
    retained_cost_units: int
    status: str
    reason: str | None
    accounting: str | None


class LossLocated(Record, tag="loss_located", kw_only=True):
    case_id: str
    expected_id: str
    stage: str
    last_seen: str | None | UnsetType = UNSET
    first_absent: str | None | UnsetType = UNSET


class AccountingCompared(Record, tag="accounting_compared", kw_only=True):
    artifact_id: str
    outcome: str
    reports: list[dict[str, Any]]


class WindowAlert(Record, tag="window_alert", kw_only=True):
    alert: str
    generation: int | None
    span_id: str | UnsetType = UNSET
    plan_id: str | UnsetType = UNSET
    missing: list[dict[str, str]] | UnsetType = UNSET
    event: str | UnsetType = UNSET
    limit: str | UnsetType = UNSET
    paths: list[str] | UnsetType = UNSET
    artifact_id: str | UnsetType = UNSET
    expected_sequence: int | UnsetType = UNSET
    seen_sequence: int | UnsetType = UNSET
    consecutive_deferrals: int | UnsetType = UNSET


class WindowStatus(Record, tag="window_status", kw_only=True):
    """Newest state of a window. ``live_spans`` is a count; the newest ``open_escalations`` are listed."""

    generation: int
    live_spans: int
    cost_units: int
    budget_units: int | None
    closed: bool
    gap: bool
    pending: str | None
    open_escalations: list[dict[str, Any]]
    open_escalation_count: int


class AuditRecord(Record, tag="audit_record", kw_only=True):
    """One link of a window's chain; ``hash`` is the SHA-256 of the record's bytes with ``hash`` empty.

    ``digest`` is that of a decision's bytes, else that of what the event says (docs/audit.md).
    """

    number: int
    kind: str
    event: str
    generation: int
    decision_id: str | None
    digest: str
    previous_hash: str
    hash: str = ""


class Repeated(Struct):
    """A recorded decision given again, byte for byte (contract section 4, step 1)."""

    value: bytes
    refused: bool
    window_id: str


class DeadLetter(Struct, tag_field="type", tag="dead_letter", kw_only=True):
    """A record that is no event of a window. Never its bytes, never a value of it."""

    contract_version: int = CONTRACT_VERSION
    policy_version: str
    topic: str
    partition: int
    offset: int
    reason: str
    path: str | None
    size_bytes: int


def fit(record: Record, record_bytes: int) -> tuple[Record, bytes]:
    """A record and its bytes, its longest lists cut until they fit ``record_bytes`` with key, headers and frame.

    ``cut`` has count and digest of each list that was cut (contract section 7).
    """
    limit = record_bytes - FRAME_BYTES
    while len(value := canonical(record)) > limit:
        lists = _lists(record)
        sizes = {name: len(_ENCODER.encode(items)) for name, items in lists.items()}
        if not sizes:
            raise ValueError("a record without lists exceeds its limit")
        name = max(sorted(sizes), key=sizes.__getitem__)
        whole = lists[name]
        excess = len(value) - limit + 256
        keep = max(0, min(len(whole) - 1, int(len(whole) * (sizes[name] - excess) / sizes[name])))
        cut = {} if record.cut is UNSET else dict(record.cut)
        cut.setdefault(name, Cut(len(whole), sha256(_ENCODER.encode(whole)).hexdigest()))
        record = msgspec.structs.replace(_with_list(record, name, whole[:keep]), cut=cut)
    return record, value


def _lists(record: Record) -> dict[str, list[Any]]:
    """The lists of a record that may be cut, by path; empty ones left out."""
    found = {name: getattr(record, name) for name in record.__struct_fields__}
    if isinstance(record, PlanRefused) and record.resolution is not None:
        found[_RETAIN] = record.resolution.retain
    return {name: value for name, value in found.items() if isinstance(value, list) and value}


def _with_list(record: Record, name: str, items: list[Any]) -> Record:
    if name == _RETAIN and isinstance(record, PlanRefused) and record.resolution is not None:
        name, items = "resolution", msgspec.structs.replace(record.resolution, retain=items)
    return msgspec.structs.replace(record, **{name: items})
