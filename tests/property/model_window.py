"""Naive model of one window's state (contract sections 2 and 3): plain sets, everything scanned afresh.

An independent reading of the contract for the property test. It shares no code with the package, keeps no index, and
recomputes each edge from the declarations every time it is asked.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import model_readings

Json = dict[str, Any]

DEFAULT_POLICY: Json = {
    "policy_version": "model-default",
    "commit": "on_accept",
    "generation_counts": "every_change",
    "scorers": ["declared-provenance/1", "additive-support/1"],
    "keep_threshold": 0.5,
    "amend_plans": False,
    "compressed_evidence": "standing",
    "budget_units": None,
    "planner": "strict-priority/1",
    "decisions_remembered": 64,
    "proposals_per_generation": 1024,
    "starvation_after": 5,
}


@dataclass
class Span:
    """A live span; `sent` is the declaration it came with (None: a replacement, which no host declared)."""

    span_id: str
    place: int
    cost: int
    priority: int
    used: int
    kind: str
    depends: set[str]
    verbatim: set[str]
    pairs: set[str]
    prefix: bool = False
    open: bool = False
    pinned: bool = False
    method: str | None = None
    sent: Json | None = None


@dataclass
class Window:
    """All that one window remembers."""

    policy: Json
    opened: bool = False
    closed: bool = False
    gap: bool = False
    generation: int = 0
    running: int = 0
    turn: int = 0
    sequence: int | None = None
    budget: int | None = None
    live: dict[str, Span] = field(default_factory=dict)
    left: set[str] = field(default_factory=set)
    demands: set[tuple[str, str]] = field(default_factory=set)  # (declarer, dependant) of required_by
    unsigned: set[str] = field(default_factory=set)
    lineage: dict[str, set[str]] = field(default_factory=dict)
    waiting: set[str] = field(default_factory=set)
    approvals: set[tuple[str, str, int]] = field(default_factory=set)
    event_ids: dict[bool, set[str]] = field(default_factory=lambda: {True: set(), False: set()})
    mixed: bool = False
    methods: set[str] = field(default_factory=set)
    history: list[Json] = field(default_factory=list)
    memory: list[tuple[str, int, Json]] = field(default_factory=list)  # (plan_id, generation, decision), oldest first
    proposals: int = 0
    row: int = 0  # generation_changed answers in a row
    pending: Any = None
    reports: dict[str, dict[str, Json]] = field(default_factory=dict)
    left_by: dict[str, str] = field(default_factory=dict)  # the plan, else the event, that took a span away
    escalations: dict[str, int] = field(default_factory=dict)  # refused plan: the turn that answers it

    def cost(self) -> int:
        return sum(span.cost for span in self.live.values())

    def budget_units(self) -> int | None:
        return self.budget if self.budget is not None else self.policy["budget_units"]

    def verbatim(self, span_id: str) -> set[str]:
        """Ids that this span needs uncompressed, its own declarations and others' required_by."""
        return self.live[span_id].verbatim | {x for x, dependant in self.demands if dependant == span_id}

    def depends(self, span_id: str) -> set[str]:
        return (self.live[span_id].depends | self.verbatim(span_id)) - {span_id}

    def partners(self, span_id: str) -> set[str]:
        """Live partners and partners this span declared itself, whichever side declared the pair."""
        declared_by_others = {other.span_id for other in self.live.values() if span_id in other.pairs}
        return (self.live[span_id].pairs | declared_by_others) - {span_id}

    def tainted(self, span_id: str) -> bool:
        """Does any ancestor count as unsigned? (contract section 3, Pins)"""
        todo, met = set(self.lineage.get(span_id, ())), set()
        while todo:
            ancestor = todo.pop()
            met.add(ancestor)
            if ancestor in self.unsigned or (ancestor not in self.live and ancestor not in self.left):
                return True
            todo |= self.lineage.get(ancestor, set()) - met
        return False

    def trim(self) -> None:
        """Forget decisions that are neither among the last ones nor of the current generation (step 1).

        Done as each decision is recorded: until the next one comes, nothing is forgotten.
        """
        recent = len(self.memory) - self.policy["decisions_remembered"]
        self.memory = [m for n, m in enumerate(self.memory) if n >= recent or m[1] == self.generation]


def declared(span: Json) -> Json:
    """The fields that make two declarations the same, defaults filled in, lists as sets (contract section 3)."""
    return {
        "kind": span.get("kind", "other"),
        "cost_units": span["cost_units"],
        "priority": span.get("priority", 0),
        "last_used_order": span.get("last_used_order", "absent"),
        "flags": tuple(bool(span.get(name, False)) for name in ("needs_prefix", "open", "pinned")),
        **{
            name: frozenset(span.get(name, ()))
            for name in ("depends_on", "needs_verbatim", "required_by", "pairs_with", "closes", "derived_from")
        },
    }


def new_span(window: Window, span: Json) -> Span:
    window.running += 1
    return Span(
        span_id=span["span_id"],
        place=window.running,
        used=span.get("last_used_order", window.running),
        **described(span),
    )


def described(span: Json) -> Json:
    """What an edit replaces of a span."""
    return {
        "cost": span["cost_units"],
        "priority": span.get("priority", 0),
        "kind": span.get("kind", "other"),
        "depends": set(span.get("depends_on", ())) | set(span.get("needs_verbatim", ())),
        "verbatim": set(span.get("needs_verbatim", ())) - {span["span_id"]},
        "pairs": set(span.get("pairs_with", ())),
        "prefix": span.get("needs_prefix", False),
        "open": span.get("open", False),
        "method": (span.get("accounting") or {}).get("method"),
        "sent": declared(span),
    }


def demand_and_close(window: Window, spans: list[Json]) -> None:
    """required_by and closes of declared spans, once all spans of the event are there."""
    for span in spans:
        for dependant in span.get("required_by", ()):
            if dependant in window.live and dependant != span["span_id"]:
                window.demands.add((span["span_id"], dependant))
        for ended in span.get("closes", ()):
            if ended in window.live:
                window.live[ended].open = False


def pin_alerts(window: Window, spans: list[Json], signed: bool) -> list[Json]:
    """Honour or refuse the pins that newly declared spans ask for, then let waiting pins meet theirs."""
    alerts = []
    for span in spans:
        span_id = span["span_id"]
        asked = span.get("pinned", False)
        if asked and (model_readings.RESTATED_PINS_ARE_JUDGED or not window.live[span_id].pinned):
            if not signed:
                alerts.append({"alert": "untrusted_pin", "span_id": span_id})
            elif not span.get("pin_owner") or not span.get("pin_reason"):
                alerts.append({"alert": "unowned_pin", "span_id": span_id})
            elif window.tainted(span_id):
                alerts.append({"alert": "tainted_pin", "span_id": span_id})
            else:
                window.live[span_id].pinned = True
        if span_id in window.waiting:
            window.waiting.discard(span_id)
            window.live[span_id].pinned = True
    return alerts


def birth_alerts(window: Window, spans: list[Json]) -> list[Json]:
    alerts = []
    for span in spans:
        span_id = span["span_id"]
        own = window.live[span_id]
        missing = sorted((own.depends | own.pairs) - set(window.live) - {span_id}, key=str.encode)
        if missing:
            left = [{"span_id": m, "state": "left", "by": window.left_by[m]} for m in missing if m in window.left]
            never = [{"span_id": m, "state": "never_seen"} for m in missing if m not in window.left]
            alerts.append({"alert": "orphan_at_birth", "span_id": span_id, "missing": left + never})
    return alerts


def offence(window: Window, spans: list[Json], restated: bool) -> Json | None:
    """The first reason in list order to reject the whole event, as its alert."""
    met: set[str] = set()
    for span in spans:
        span_id = span["span_id"]
        conflict = span_id in met
        if not restated and span_id in window.live:
            conflict |= window.live[span_id].sent != declared(span)
        if conflict:
            return {"alert": "id_conflict", "span_id": span_id}
        if not restated and span_id in window.left:
            return {"alert": "id_reused", "span_id": span_id}
        met.add(span_id)
    return None


def append(window: Window, spans: list[Json], signed: bool) -> tuple[list[Json], list[Json]]:
    """Add what is new; gives (spans added, alerts)."""
    added = [span for span in spans if span["span_id"] not in window.live]
    for span in added:
        window.live[span["span_id"]] = new_span(window, span)
        window.lineage[span["span_id"]] = set(span.get("derived_from", ()))
        if not signed:
            window.unsigned.add(span["span_id"])
    demand_and_close(window, added)
    return added, pin_alerts(window, added, signed) + birth_alerts(window, added)


def restate(window: Window, spans: list[Json], signed: bool) -> list[Json]:
    """window_resynced: the whole live set anew; only pins of restated spans survive. Gives alerts."""
    pinned = {span.span_id for span in window.live.values() if span.pinned}
    alerts = [] if signed else [{"alert": "pinned_span_changed", "span_id": p} for p in sorted(pinned)]
    leave(window, set(window.live), "window_resynced")
    window.left -= {span["span_id"] for span in spans}
    window.live, window.demands = {}, set()
    for span in spans:
        live = window.live[span["span_id"]] = new_span(window, span)
        live.pinned = span["span_id"] in pinned
        window.lineage[span["span_id"]] = set(span.get("derived_from", ()))
        if not signed:
            window.unsigned.add(span["span_id"])
    demand_and_close(window, spans)
    return alerts + pin_alerts(window, spans, signed) + birth_alerts(window, spans)


def edit(window: Window, span: Json, signed: bool) -> list[Json]:
    live = window.live[span["span_id"]]
    for name, value in described(span).items():
        setattr(live, name, value)
    live.used = span.get("last_used_order", live.used)
    window.lineage[live.span_id] = set(span.get("derived_from", ()))
    window.demands = {(x, dependant) for x, dependant in window.demands if x != live.span_id}
    demand_and_close(window, [span])
    if not signed:
        window.unsigned.add(live.span_id)
    return [{"alert": "pinned_span_changed", "span_id": live.span_id}] if live.pinned and not signed else []


def remove(window: Window, gone: set[str], signed: bool) -> list[Json]:
    """spans_removed by the host: who is left behind is alerted, nobody is stopped."""
    alerts = [{"alert": "pinned_span_changed", "span_id": g} for g in gone if window.live[g].pinned and not signed]
    for span_id in set(window.live) - gone:
        if (window.depends(span_id) | window.partners(span_id)) & gone:
            alerts.append({"alert": "orphaned_by_host", "span_id": span_id})
    leave(window, gone, "spans_removed")
    return alerts


def leave(window: Window, gone: set[str], by: str) -> None:
    window.left |= gone
    window.left_by |= dict.fromkeys(gone, by)
    window.live = {span_id: span for span_id, span in window.live.items() if span_id not in gone}
    window.demands = {(x, dependant) for x, dependant in window.demands if dependant not in gone}


def mixed(window: Window) -> bool:
    methods = {span.method for span in window.live.values() if span.method is not None}
    if model_readings.MIXED_ACCOUNTING_OVER_TIME:
        methods = window.methods = window.methods | methods
    return len(methods) > 1
