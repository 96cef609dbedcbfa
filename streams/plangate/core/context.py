"""What one event's processing shares: the window, where the event lies, and the records it caused."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import Any

import msgspec

from .events import FREE_TEXTS, Event, PolicySet, event_name
from .policy import Policy, known_fields
from .records import AuditRecord, Decision, Record, Repeated, Source, WindowAlert, WindowStatus, canonical
from .state import Change
from .window import Window

CHANGES_KEPT, IDS_PER_CHANGE, ESCALATIONS_SHOWN = 64, 256, 64


class Context:
    """Collects the outputs of one event, in order."""

    def __init__(self, window: Window, event: Event, source: Source, *, signed: bool) -> None:
        self.window, self.event, self.source, self.signed = window, event, source, signed
        self.out: list[Record | Repeated] = []
        self.means: tuple[float | None, float | None] = (None, None)
        self.cost_before = window.cost
        self.after: Callable[[], None] | None = None

    @property
    def policy(self) -> Policy:
        return self.window.policy

    @property
    def common(self) -> dict[str, Any]:
        """Fields that every record carries."""
        return {
            "window_id": self.window.head.window_id,
            "policy_version": self.policy.policy_version,
            "source": self.source,
        }

    def emit(self, kind: type[Record], **fields: Any) -> None:
        self.out.append(kind(**{**self.common, **fields}))

    def alert(self, name: str, **fields: Any) -> None:
        head = self.window.head
        self.emit(WindowAlert, alert=name, generation=head.generation if head.seen else None, **fields)

    def audit(self, kind: str, decision: Decision | None = None, value: bytes = b"") -> None:
        """Append a link to the window's chain: decision, authority change or host rewrite (contract section 1).

        ``digest`` covers what was decided, ``value``, or else what the event says.
        """
        head = self.window.head
        record = AuditRecord(
            **self.common,
            number=head.audited,
            kind=kind,
            event=event_name(self.event),
            generation=head.generation,
            decision_id=decision.decision_id if decision else None,
            digest=sha256(value if decision else _facts(self.event)).hexdigest(),
            previous_hash=head.audit_hash,
        )
        record.hash = sha256(canonical(record)).hexdigest()
        head.audited, head.audit_hash = head.audited + 1, record.hash
        self.out.append(record)

    def changed(self, event: str, span_ids: list[str], *, append: bool = False) -> None:
        """Count a change of the window; under ``generation_counts: rewrites`` appends do not (contract section 3)."""
        if append and self.policy.generation_counts == "rewrites":
            return
        window, head = self.window, self.window.head
        head.generation += 1
        head.proposals = 0
        ids = sorted(span_ids)
        window.changes[str(head.changed)] = Change(head.generation, event, tuple(ids[:IDS_PER_CHANGE]), len(ids))
        if (oldest := str(head.changed - CHANGES_KEPT)) in window.changes:
            del window.changes[oldest]
        head.changed += 1

    def status_fields(self) -> tuple[Any, ...]:
        """What a status record is made of; a change of it calls for a new record."""
        window, head = self.window, self.window.head
        return (
            head.seen, head.generation, len(window.spans), window.cost, head.budget, head.closed, head.gap,
            head.pending and head.pending.plan_id, head.decided, len(window.escalations), self.policy.policy_version,
        )  # fmt: skip

    def status(self) -> None:
        window, head = self.window, self.window.head
        newest = list(window.escalations.items())[-ESCALATIONS_SHOWN:]
        self.emit(
            WindowStatus,
            generation=head.generation,
            live_spans=len(window.spans),
            cost_units=window.cost,
            budget_units=budget_of(window),
            closed=head.closed,
            gap=head.gap,
            pending=head.pending.plan_id if head.pending else None,
            open_escalations=[{"plan_id": plan, "escalate_to_turn": turn} for plan, turn in newest],
            open_escalation_count=len(window.escalations),
        )


def _facts(event: Event) -> bytes:
    """What an event says, as bytes to hash. Free texts are left out: one that is short could be guessed from its hash.

    Keys are sorted and nulls left out, so that a field which a later version adds changes nothing.
    """
    facts = msgspec.to_builtins(event)
    if isinstance(event, PolicySet):
        facts["policy"] = known_fields(event.policy)
    return msgspec.json.encode(_bare(facts), order="sorted")


def _bare(node: Any) -> Any:
    """Without nulls and free texts. No event is deeper than a policy's limits, so this may recurse."""
    if isinstance(node, dict):
        return {k: _bare(v) for k, v in node.items() if v is not None and k not in FREE_TEXTS}
    return [_bare(item) for item in node] if isinstance(node, list) else node


def budget_of(window: Window) -> int | None:
    """The window's budget: window_opened's first, else the policy's (contract section 4)."""
    return window.policy.budget_units if window.head.budget is None else window.head.budget


def decision_id(window_id: str, plan_id: str, source: Source, tag: str = "") -> str:
    """A function of window, plan and source; ``tag`` sets a lapse apart from the acceptance it takes back."""
    return sha256(msgspec.json.encode([window_id, plan_id, source.partition, source.offset, tag])).hexdigest()[:32]
