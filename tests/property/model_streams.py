"""Random streams of events that look at the model's state, so that most of what they say is nearly valid.

An operation is a line with two extras that keep it meaningful while a stream is shrunk: `source` (None: unsigned) and
`delta` (a plan's distance from the live generation, None: not a plan).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from random import Random

from model import Model
from model_evidence import random_observation, random_policy, random_stages
from model_plans import random_plan
from model_spans import FEATURES, random_span, retell
from model_window import Json, Window


@dataclass
class Operation:
    value: Json
    source: str | None = None
    delta: int | None = None

    def line(self, model: Model) -> str:
        value = self.value
        if self.delta is not None and "window_generation" not in value:
            window = model.windows.get(value["window_id"])
            value = value | {"window_generation": max(0, (window.generation if window else 0) + self.delta)}
        return json.dumps(value if self.source is None else {"value": value, "source": self.source})


def lines_of(operations: list[Operation], policy: Json) -> tuple[list[str], Model]:
    """The stream as replay reads it, and the model after it."""
    model, lines = Model(policy), []
    for operation in operations:
        lines.append(operation.line(model))
        model.feed(lines[-1])
    return lines, model


class Stream:
    """Grows one random stream over one or two windows."""

    def __init__(self, rng: Random, policy: Json, length: int) -> None:
        self.rng, self.policy = rng, policy
        self.model = Model(policy)
        self.operations: list[Operation] = []
        self.names = 0
        self.sequence: dict[str, int] | None = {} if rng.random() < 0.2 else None
        self.event_ids = rng.random() < 0.2
        self.much = {name: rng.choice((0.3, 1, 1, 3)) for name in FEATURES}
        windows = ["w1"] if rng.random() < 0.7 else ["w1", "w2"]
        if rng.random() < 0.5:
            self.add(Operation({"type": "window_opened", "window_id": "w1", "budget_units": rng.randint(20, 120)}))
        while len(self.operations) < length:
            self.step(rng.choice(windows))

    def add(self, operation: Operation) -> None:
        rng, window_id = self.rng, operation.value["window_id"]
        if self.sequence is not None and rng.random() < 0.9:
            self.sequence[window_id] = self.sequence.get(window_id, 0) + rng.choices((1, 0, 2), (30, 1, 1))[0]
            operation.value["sequence"] = self.sequence[window_id]
        if self.event_ids and rng.random() < 0.5:
            operation.value["event_id"] = f"e{rng.randint(1, 40)}"
        self.operations.append(operation)
        self.model.feed(operation.line(self.model))

    def fresh(self) -> str:
        self.names += 1
        return self.rng.choice(("a", "a", "B", "é")) + str(self.names)

    def some_id(self, window: Window) -> str:
        known = sorted(window.live) * 3 + sorted(window.left) + ["never1", "never2"]
        return self.rng.choice(known)

    def step(self, window_id: str) -> None:
        rng = self.rng
        window = self.model.windows.get(window_id) or Window(policy=self.model.policy)
        if window.pending and rng.random() < 0.3:
            kind = rng.choice(("plan_committed", "plan_committed", "plan_commit_failed"))
            plan_id = window.pending["plan"]["plan_id"] if rng.random() < 0.9 else "elsewhere"
            return self.add(Operation({"type": kind, "window_id": window_id, "plan_id": plan_id}))
        sorts = {
            self.append: 36 if len(window.live) < 8 else 8,
            self.plan: 32 if window.live else 3,
            self.budget: 6,
            self.edit: 4,
            self.remove: 3,
            self.use: 3,
            self.authority: 7,
            self.diagnosis: 5,
            self.again: 2,
            self.resend: 3,
            self.resync: 6 if window.gap else 2,
            self.rare: 1,
        }
        sort = rng.choices(list(sorts), list(sorts.values()))[0]
        return sort(window_id, window)

    def source(self, share: float = 0.25) -> str | None:
        if self.rng.random() < share:
            return self.rng.choice(("policy_store", "operator_console"))
        return "tool_output" if self.rng.random() < 0.05 else None

    def append(self, window_id: str, window: Window) -> None:
        rng, spans = self.rng, []
        for _ in range(rng.choice((1, 1, 2, 3))):
            span_id = self.fresh() if rng.random() < 0.96 or not spans else self.some_id(window)
            if rng.random() < 0.03:
                span_id = self.some_id(window)
            if window.pending and window.pending["trial"].replacements and rng.random() < 0.15:
                span_id = window.pending["trial"].replacements[0]["span_id"]
            if window.waiting and rng.random() < 0.2:
                span_id = rng.choice(sorted(window.waiting))
            spans.append(random_span(rng, window, self.much, span_id))
            if len(spans) > 1 and rng.random() < 0.3:
                field = rng.choice(("depends_on", "pairs_with", "required_by", "derived_from"))
                spans[-1][field] = [spans[0]["span_id"]]
        value = {"type": "span_appended", "window_id": window_id, "spans": spans}
        if rng.random() < 0.15:
            value["turn"] = rng.randint(0, 6)
        self.add(Operation(value, self.source()))

    def plan(self, window_id: str, window: Window) -> None:
        rng = self.rng
        decided = [plan_id for plan_id, _, _ in window.memory]
        plan_id = rng.choice(decided) if decided and rng.random() < 0.06 else f"p{len(self.operations)}"
        if rng.random() < 0.01:
            plan_id = "p1"
        value = {"type": "plan_proposed", "window_id": window_id, "plan_id": plan_id}
        value |= random_plan(rng, window, self.fresh)
        delta = 0 if rng.random() < 0.88 else rng.choice((-3, -1, 1))
        self.add(Operation(value, self.source(0.05), delta))
        if window.row and rng.random() < 0.4:
            self.add(Operation(value | {"plan_id": plan_id + "x"}, None, delta))

    def budget(self, window_id: str, window: Window) -> None:
        rng, cost = self.rng, window.cost()
        wanted = rng.choice((cost, cost + 5, rng.randint(0, cost + 1), rng.randint(0, cost // 3 + 1), cost * 3 // 4))
        value = {"type": "budget_requested", "window_id": window_id, "request_id": f"b{len(self.operations)}"}
        value["budget_units"] = wanted if rng.random() < 0.95 else rng.choice((-1, True))
        if rng.random() < 0.6:
            value["planner"] = rng.choice(("strict-priority/1", "dependency-closed/1"))
        if rng.random() < 0.4:
            value["commit"] = True
        self.add(Operation(value))
        if rng.random() < 0.1:
            self.add(Operation(dict(value)))

    def edit(self, window_id: str, window: Window) -> None:
        span = random_span(self.rng, window, self.much, self.some_id(window))
        span.pop("pinned", None)
        self.add(Operation({"type": "span_edited", "window_id": window_id, "span": span}, self.source(0.4)))

    def remove(self, window_id: str, window: Window) -> None:
        ids = [self.some_id(window) for _ in range(self.rng.randint(1, 2))]
        self.add(Operation({"type": "spans_removed", "window_id": window_id, "span_ids": ids}, self.source(0.3)))

    def use(self, window_id: str, window: Window) -> None:
        ids = [self.some_id(window) for _ in range(self.rng.randint(1, 3))]
        value: Json = {"type": "spans_used", "window_id": window_id, "span_ids": ids}
        if self.rng.random() < 0.4:
            value["order"] = self.rng.randint(0, 30)
        self.add(Operation(value))

    def resync(self, window_id: str, window: Window) -> None:
        rng = self.rng
        kept = [s for s in sorted(window.live, key=lambda s: window.live[s].place) if rng.random() < 0.85]
        kept += [s for s in sorted(window.left) if rng.random() < 0.15]
        if rng.random() < 0.3:
            kept.append(self.fresh())
        if rng.random() < 0.3:
            rng.shuffle(kept)
        if kept and rng.random() < 0.03:
            kept.append(kept[0])
        spans = [random_span(rng, window, self.much, span_id) for span_id in kept]
        value: Json = {"type": "window_resynced", "window_id": window_id, "spans": spans}
        if rng.random() < 0.2:
            value["turn"] = rng.randint(0, 6)
        self.add(Operation(value, self.source(0.4)))

    def authority(self, window_id: str, window: Window) -> None:
        rng, span_id = self.rng, self.some_id(window)
        value: Json = {"window_id": window_id, "span_id": span_id}
        sort = rng.choices(("pin", "unpin", "approve", "policy"), (5, 3, 5, 2))[0]
        if sort == "pin":
            if rng.random() < 0.2:
                value["span_id"] = f"a{self.names + rng.randint(1, 3)}"
            value |= {"type": "span_pinned", "pin_owner": "ops", "pin_reason": "rule"}
        elif sort == "unpin":
            pinned = [s for s in sorted(window.live) if window.live[s].pinned] + sorted(window.waiting)
            value |= {"type": "span_unpinned", "reason": "rule"}
            value["span_id"] = rng.choice(pinned or [span_id])
        elif sort == "approve":
            pinned = [s for s in sorted(window.live) if window.live[s].pinned]
            value |= {"type": "compression_approved", "reviewer": "ops", "reason": "rule"}
            value |= {"span_id": rng.choice(pinned or [span_id]), "replacement_id": self.fresh(), "cost_units": 2}
        else:
            version = f"v{len(self.operations)}"
            value = {"window_id": window_id, "type": "policy_set", "policy": random_policy(rng, version)}
        self.add(Operation(value, self.source(0.92)))

    def diagnosis(self, window_id: str, window: Window) -> None:
        rng = self.rng
        case = f"c{len(self.operations)}"
        value: Json = {"window_id": window_id, "case_id": case}
        sort = rng.choice(("pipeline", "pipeline", "planner", "cost", "cost"))
        if sort == "pipeline":
            value |= {"type": "pipeline_observed", "expected_id": "x"} | random_stages(rng)
        elif sort == "planner":
            value |= {"type": "planner_observed"} | random_observation(rng)
        else:
            value = {"window_id": window_id, "type": "cost_reported", "artifact_id": rng.choice(("r1", "r2"))}
            value |= {"component": rng.choice(("x", "y", "z")), "method": rng.choice(("m1", "m1", "m1", "m2"))}
            value |= {"input_version": "1", "scope": rng.choice(("all", "all", "text")), "units": "tokens"}
            value["value"] = rng.choice((10, 10, 11))
        self.add(Operation(value))

    def again(self, window_id: str, window: Window) -> None:
        """An earlier line once more, as a producer that retries sends it."""
        earlier = self.rng.choice(self.operations) if self.operations else None
        if earlier is not None:
            self.operations.append(earlier)
            self.model.feed(earlier.line(self.model))

    def resend(self, window_id: str, window: Window) -> None:
        """An earlier append under a new cover: the same spans, or one of them said a little otherwise."""
        rng = self.rng
        appends = [
            o for o in self.operations if o.value["type"] == "span_appended" and o.value["window_id"] == window_id
        ]
        if not appends:
            return
        spans = [dict(span) for span in rng.choice(appends).value["spans"]]
        if rng.random() < 0.4:
            spans.append(random_span(rng, window, self.much, self.fresh()))
        if spans and rng.random() < 0.8:
            retell(rng, spans[0])
        self.add(Operation({"type": "span_appended", "window_id": window_id, "spans": spans}, self.source()))

    def rare(self, window_id: str, window: Window) -> None:
        rng = self.rng
        sort = rng.choice(("window_closed", "window_opened", "unheard_of", "span_appended"))
        value: Json = {"type": sort, "window_id": window_id}
        if sort == "window_opened" and rng.random() < 0.5:
            value["budget_units"] = rng.randint(20, 120)
        if sort == "span_appended":
            bad = rng.choice(({"cost_units": 0}, {"cost_units": True}, {"span_id": ""}, {"depends_on": "s"}))
            value["spans"] = [{"span_id": self.fresh(), "cost_units": 3} | bad]
        self.add(Operation(value))
