"""Input events (contract section 2), as decoded.

Every optional field may be null, which is as if it were absent. Unknown fields are dropped by the decoder, and so is
every field that may hold content (a rationale, say): what is not declared here never enters the program.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

INTEGER_BOUND = 2**53
#: Hard ceilings of the decoder; a policy's limits may only be lower (contract section 7).
MAX_ID, MAX_SPANS, MAX_ENTRIES, MAX_DEPENDENCIES = 256, 1_000, 20_000, 64
MAX_IDS = 200_000  # ids in the evidence lists of diagnosis events: as many as a window may hold

Id = Annotated[str, Meta(min_length=1, max_length=MAX_ID)]
Text = Annotated[str, Meta(max_length=MAX_ID)]
Int = Annotated[int, Meta(ge=-INTEGER_BOUND, le=INTEGER_BOUND)]
Count = Annotated[int, Meta(ge=0, le=INTEGER_BOUND)]
Cost = Annotated[int, Meta(ge=1, le=INTEGER_BOUND)]
Unit = Annotated[float, Meta(ge=0, le=1)]
Edges = Annotated[list[Id], Meta(max_length=MAX_DEPENDENCIES)]
Kind = Literal[
    "system", "user", "assistant", "tool_call", "tool_result", "reasoning", "document", "diff", "summary", "memory",
    "other",
]  # fmt: skip


class Accounting(Struct, gc=False):
    """How a cost was counted: the method and the version of what it was applied to."""

    method: Id | None = None
    input_version: Text | None = None


class Span(Struct, gc=False):
    """One addressable piece of a window, as the runtime declares it. ``cost_units`` in the runtime's own unit."""

    span_id: Id
    cost_units: Cost
    kind: Kind | None = None
    priority: Int | None = None
    last_used_order: Int | None = None
    depends_on: Edges | None = None
    needs_verbatim: Edges | None = None
    required_by: Edges | None = None
    pairs_with: Edges | None = None
    needs_prefix: bool | None = None
    open: bool | None = None
    closes: Edges | None = None
    derived_from: Annotated[list[Id], Meta(max_length=MAX_SPANS)] | None = None
    pinned: bool | None = None
    pin_owner: str | None = None
    pin_reason: str | None = None
    accounting: Accounting | None = None


class Event(Struct, tag_field="type", kw_only=True):
    """What all events share. ``sequence``, ``event_id`` and ``authority_seq`` make redelivery harmless."""

    window_id: Id
    sequence: Int | None = None
    event_id: Id | None = None
    authority_seq: Int | None = None


Spans = Annotated[list[Span], Meta(max_length=MAX_SPANS)]
Ids = Annotated[list[Id], Meta(max_length=MAX_ENTRIES)]


class WindowOpened(Event, tag="window_opened"):
    budget_units: Count | None = None


class SpanAppended(Event, tag="span_appended"):
    spans: Spans
    turn: Int | None = None


class SpanEdited(Event, tag="span_edited"):
    span: Span


class SpansRemoved(Event, tag="spans_removed"):
    span_ids: Ids


class WindowResynced(Event, tag="window_resynced"):
    spans: Spans
    turn: Int | None = None


class SpansUsed(Event, tag="spans_used"):
    span_ids: Ids
    order: Int | None = None


class Citation(Struct, frozen=True, gc=False):
    """A span that a score rests on; ``support`` is the share of the score it carries, 0..1."""

    span_id: Id
    support: Unit | None = None


class PlanEntry(Struct, gc=False):
    span_id: Id
    relevance: Unit
    disposition: Literal["keep", "compress", "evict"] | None = None
    cited_dependencies: Annotated[list[Id | Citation], Meta(max_length=MAX_DEPENDENCIES)] | None = None


class Replacement(Struct, gc=False):
    span_id: Id
    covers: Ids
    cost_units: Cost
    priority: Int | None = None
    in_place: bool | None = None


class PlanProposed(Event, tag="plan_proposed"):
    plan_id: Id
    window_generation: Count
    entries: Annotated[list[PlanEntry], Meta(max_length=MAX_ENTRIES)]
    replacements: Annotated[list[Replacement], Meta(max_length=MAX_ENTRIES)] | None = None
    scorer: Id | None = None
    keep_threshold: Unit | None = None
    budget_units: Count | None = None
    commit_order: Literal["atomic", "reverse_dependency", "entry_order"] | None = None
    amendable: bool | None = None


class MalformedPlan(Event, tag="plan_proposed"):
    """A plan that names its window and itself but breaks its schema; ``paths`` says where, never with what."""

    plan_id: Id
    paths: list[str]


class BudgetRequested(Event, tag="budget_requested"):
    """``budget_units`` is judged by the planner: rejected unless a non-negative integer (contract section 5)."""

    request_id: Id
    budget_units: Any = None
    planner: Id | None = None
    commit: bool | None = None


class ObservedEntry(Struct):
    """An entry as another planner saw it. Ids and costs are judged by the oracle, not by the decoder."""

    id: Text
    priority: Int
    pinned: bool
    last_used_order: Int
    cost_units: Any = None


class PlannerObserved(Event, tag="planner_observed"):
    case_id: Id
    planner: Id
    entries: Annotated[list[ObservedEntry], Meta(max_length=MAX_IDS)]
    status: Id
    retained_ids: Annotated[list[Text], Meta(max_length=MAX_IDS)]
    evicted_ids: Annotated[list[Text], Meta(max_length=MAX_IDS)]
    budget_units: Any = None
    policy_version: Id | None = None
    accounting: Accounting | None = None


Evidence = Annotated[list[Id], Meta(max_length=MAX_IDS)]


class PipelineObserved(Event, tag="pipeline_observed"):
    """Which ids stood at each boundary of prompt building; None: that boundary was not captured."""

    case_id: Id
    expected_id: Id
    retrieved_ids: Evidence | None = None
    eligible_ids: Evidence | None = None
    retained_ids: Evidence | None = None
    evicted_ids: Evidence | None = None
    rendered_ids: Evidence | None = None


class CostReported(Event, tag="cost_reported"):
    artifact_id: Id
    component: Id
    method: Id
    input_version: Text
    scope: Text
    units: Text
    value: Int | Annotated[float, Meta(ge=-INTEGER_BOUND, le=INTEGER_BOUND)]


class PlanCommitted(Event, tag="plan_committed"):
    plan_id: Id


class PlanCommitFailed(Event, tag="plan_commit_failed"):
    plan_id: Id


class WindowClosed(Event, tag="window_closed"):
    pass


class SpanPinned(Event, tag="span_pinned"):
    span_id: Id
    pin_owner: Annotated[str, Meta(min_length=1)]
    pin_reason: Annotated[str, Meta(min_length=1)]


class SpanUnpinned(Event, tag="span_unpinned"):
    span_id: Id
    reason: Annotated[str, Meta(min_length=1)]


class PolicySet(Event, tag="policy_set"):
    """``policy`` is parsed by :mod:`plangate.core.policy`; a bad one is rejected whole (contract section 8)."""

    policy: Any


class CompressionApproved(Event, tag="compression_approved"):
    span_id: Id
    replacement_id: Id
    cost_units: Cost
    reviewer: Annotated[str, Meta(min_length=1)]
    reason: Annotated[str, Meta(min_length=1)]


#: fields that must be there, are read, and are copied nowhere, not even into a hash
FREE_TEXTS = frozenset({"pin_owner", "pin_reason", "reason", "reviewer"})
AUTHORITY_EVENTS = (SpanPinned, SpanUnpinned, PolicySet, CompressionApproved)

AnyEvent = (
    WindowOpened | SpanAppended | SpanEdited | SpansRemoved | WindowResynced | SpansUsed | PlanProposed
    | BudgetRequested | PlannerObserved | PipelineObserved | CostReported | PlanCommitted | PlanCommitFailed
    | WindowClosed | SpanPinned | SpanUnpinned | PolicySet | CompressionApproved
)  # fmt: skip


def event_name(event: Event) -> str:
    """The ``type`` of an event as on the wire."""
    return event.__struct_config__.tag
