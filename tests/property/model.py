"""Naive reference model of the whole gate: JSON lines in, simplified records out (contract sections 2 to 6, 8, 9).

Slow and simple on purpose. `run(lines, policy)` gives a list of records, each a dict with `kind` (decision, plan,
loss, accounting, shadow, alert, dead) and `window`, and only the fields that the contract names.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

import model_planner
import model_readings
import model_window
from model_gate import Gate
from model_window import DEFAULT_POLICY, Json, Window
from model_wire import AUTHORITY, classify, without_nulls

TRUSTED = ("policy_store", "operator_console")


class Model:
    """State of all windows; `feed` takes one line, `records` holds what came out."""

    def __init__(self, policy: Json | None = None) -> None:
        self.policy = DEFAULT_POLICY | without_nulls(policy or {})
        self.windows: dict[str, Window] = {}
        self.records: list[Json] = []
        self.gate = Gate(self.emit, self.policy)
        self.offset = -1

    def emit(self, window_id: str, record: Json) -> None:
        self.records.append(record | {"window": window_id})

    def feed(self, line: str | bytes) -> None:
        self.offset += 1
        top = json.loads(line)
        wrapped = "type" not in top
        signed = wrapped and top.get("source") in TRUSTED
        event = without_nulls(top.get("value") if wrapped else top)
        sort = classify(event)
        if sort == "dead":
            self.records.append({"kind": "dead", "window": None, "offset": self.offset})
            return
        window_id = event["window_id"]
        window = self.windows.setdefault(window_id, Window(policy=self.policy))
        if self.admitted(window_id, window, event, signed):
            self.apply(window_id, window, event, signed, sort == "malformed")
        if not window.mixed and model_window.mixed(window):
            window.mixed = True
            self.alerts(window_id, [{"alert": "mixed_accounting"}])

    def admitted(self, window_id: str, window: Window, event: Json, signed: bool) -> bool:
        """Sequence, event_id and authority, in this order (contract section 2)."""
        if "sequence" in event and not signed:
            if window.sequence is not None:
                if event["sequence"] <= window.sequence:
                    return False
                if event["sequence"] > window.sequence + 1:
                    window.gap = True
                    self.alerts(window_id, [{"alert": "sequence_gap"}])
            window.sequence = event["sequence"]
        if event.get("event_id") in window.event_ids[signed]:
            return False
        if event["type"] in AUTHORITY and not signed:
            self.alerts(window_id, [{"alert": "untrusted_authority"}])
            return False
        ignored = window.closed and hasattr(self, event["type"]) and event["type"] != "budget"
        if "event_id" in event and (model_readings.CLOSED_WINDOW_REMEMBERS_EVENT_IDS or not ignored):
            window.event_ids[signed].add(event["event_id"])
        return True

    def apply(self, window_id: str, window: Window, event: Json, signed: bool, malformed: bool) -> None:
        kind = event["type"]
        if kind == "plan_proposed":
            self.gate.propose(window_id, window, event, self.offset, malformed)
        elif kind == "budget_requested":
            self.budget(window_id, window, event)
        elif kind == "planner_observed":
            self.emit(window_id, model_planner.shadow(event))
        elif kind == "pipeline_observed":
            stage = model_planner.loss_stage(event)
            named = {"case_id": event["case_id"], "expected_id": event["expected_id"]}
            self.emit(window_id, {"kind": "loss", "stage": stage} | named)
        elif kind == "cost_reported":
            for record in model_planner.accounting(window, event):
                self.emit(window_id, record)
        elif not window.closed:
            getattr(self, kind)(window_id, window, event, signed)

    def alerts(self, window_id: str, alerts: list[Json]) -> None:
        for alert in alerts:
            self.emit(window_id, {"kind": "alert"} | alert)

    def budget(self, window_id: str, window: Window, event: Json) -> None:
        plan = model_planner.run_planner(window, event)
        policy = window.policy if window.opened else self.policy
        self.emit(window_id, plan | {"policy_version": policy["policy_version"]})
        gone = [span_id for unit in plan["units"] for span_id in unit]
        if event.get("commit", False) and gone:
            entries = [{"span_id": g, "relevance": 0.0, "disposition": "evict"} for g in gone]
            proposal = {
                "plan_id": event["request_id"],
                "window_generation": window.generation,
                "entries": entries,
                "budget_units": event["budget_units"],
            }
            self.gate.propose(window_id, window, proposal, self.offset, False)

    def window_opened(self, window_id: str, window: Window, event: Json, signed: bool) -> None:
        window.opened = True
        if window.budget is None:
            window.budget = event.get("budget_units")

    def span_appended(self, window_id: str, window: Window, event: Json, signed: bool) -> None:
        if alert := model_window.offence(window, event["spans"], restated=False):
            return self.alerts(window_id, [alert])
        window.opened = True
        added, alerts = model_window.append(window, event["spans"], signed)
        self.alerts(window_id, alerts)
        if not added:
            return None
        turn = event.get("turn", 0)
        window.turn = max(window.turn, turn)
        window.escalations = {plan_id: due for plan_id, due in window.escalations.items() if due > turn}
        if window.policy["generation_counts"] == "every_change":
            self.gate.grow(window_id, window, "span_appended", [span["span_id"] for span in added])
        elif window.pending and touches(window, added):
            self.gate.lapse(window_id, window)
        return None

    def window_resynced(self, window_id: str, window: Window, event: Json, signed: bool) -> None:
        if alert := model_window.offence(window, event["spans"], restated=True):
            return self.alerts(window_id, [alert])
        window.opened = True
        self.alerts(window_id, model_window.restate(window, event["spans"], signed))
        window.gap = False
        if signed or "sequence" not in event:
            window.sequence = None
        window.turn = max(window.turn, event.get("turn", 0))
        return self.gate.grow(window_id, window, "window_resynced", window.live)

    def span_edited(self, window_id: str, window: Window, event: Json, signed: bool) -> None:
        if event["span"]["span_id"] in window.live:
            self.alerts(window_id, model_window.edit(window, event["span"], signed))
            self.gate.grow(window_id, window, "span_edited", [event["span"]["span_id"]])

    def spans_removed(self, window_id: str, window: Window, event: Json, signed: bool) -> None:
        gone = set(event["span_ids"]) & set(window.live)
        if gone:
            self.alerts(window_id, model_window.remove(window, gone, signed))
            self.gate.grow(window_id, window, "spans_removed", gone)

    def spans_used(self, window_id: str, window: Window, event: Json, signed: bool) -> None:
        for span_id in event["span_ids"]:
            if span_id in window.live:
                if "order" not in event:
                    window.running += 1
                window.live[span_id].used = event.get("order", window.running)

    def plan_committed(self, window_id: str, window: Window, event: Json, signed: bool) -> None:
        if window.pending and window.pending["plan"]["plan_id"] == event["plan_id"]:
            self.gate.confirm(window_id, window)

    def plan_commit_failed(self, window_id: str, window: Window, event: Json, signed: bool) -> None:
        if window.pending and window.pending["plan"]["plan_id"] == event["plan_id"]:
            self.gate.lapse(window_id, window)

    def window_closed(self, window_id: str, window: Window, event: Json, signed: bool) -> None:
        if window.opened:
            window.closed = True
            if window.pending:
                self.gate.lapse(window_id, window)

    def span_pinned(self, window_id: str, window: Window, event: Json, signed: bool) -> None:
        window.opened = True
        span_id = event["span_id"]
        if span_id in window.left:
            return
        if span_id in window.live:
            window.live[span_id].pinned = True
        else:
            window.waiting.add(span_id)
        self.gate.grow(window_id, window, "span_pinned", [span_id])

    def span_unpinned(self, window_id: str, window: Window, event: Json, signed: bool) -> None:
        span_id = event["span_id"]
        if span_id in window.live or span_id in window.waiting:
            if span_id in window.live:
                window.live[span_id].pinned = False
            window.waiting.discard(span_id)
            self.gate.grow(window_id, window, "span_unpinned", [span_id])

    def policy_set(self, window_id: str, window: Window, event: Json, signed: bool) -> None:
        window.opened = True
        window.policy = self.policy | event["policy"]
        self.gate.grow(window_id, window, "policy_set", [])

    def compression_approved(self, window_id: str, window: Window, event: Json, signed: bool) -> None:
        if window.opened:
            window.approvals.add((event["span_id"], event["replacement_id"], event["cost_units"]))


def statuses(model: Model) -> dict[str, Json]:
    """What window-status must say in the end of every open window; what a closed one still shows is left open."""
    return {
        window_id: {
            "generation": window.generation,
            "live_spans": len(window.live),
            "cost_units": window.cost(),
            "open_escalations": window.escalations,
            "pending": window.pending is not None,
        }
        for window_id, window in model.windows.items()
        if window.opened and not window.closed
    }


def touches(window: Window, added: list[Json]) -> bool:
    """Does an append end a pending acceptance although generations do not count it? (contract section 4, Commit)"""
    trial = window.pending["trial"]
    for span in added:
        edges = ("depends_on", "needs_verbatim", "pairs_with", "required_by")
        names = {named for edge in edges for named in span.get(edge, ())}
        if names & trial.going or span.get("needs_prefix", False):
            return True
        if span["span_id"] in {r["span_id"] for r in trial.replacements}:
            return True
    return False


def run(lines: Iterable[str | bytes], policy: Json | None = None) -> list[Json]:
    model = Model(policy)
    for line in lines:
        model.feed(line)
    return model.records
