"""What the worker counts, in the Prometheus text format. Labels are words from closed tables, never ids or content."""

from collections.abc import Sequence

import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

from plangate.core.reasons import REASONS
from plangate.wire.engine import Out

_LAG_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
_STREAK_BUCKETS = (1, 2, 3, 5, 10, 20, 50, 100)
_SIZE_BUCKETS = (1, 5, 10, 50, 100, 500, 1000, 2000, 5000, 10_000)


# Every value of a label is there from the start, at 0: a series that begins with its first event has no increase, and
# an alert on it would miss that one.
OUTCOMES = ("accepted", "deferred", "refused")
DEAD_LETTERS = (
    "too_large", "too_deep", "invalid_utf8", "invalid_json", "not_an_object", "unknown_type", "invalid_field",
    "over_limit", "null_key", "key_mismatch",
)  # fmt: skip
ALERTS = (
    "acceptance_lapsed", "authority_replayed", "authority_seq_missing", "bad_signature", "event_after_close",
    "id_conflict", "id_reused", "limit_exceeded", "method_drift", "mixed_accounting", "orphan_at_birth",
    "orphaned_by_host", "pinned_span_changed", "plans_starving", "policy_rejected", "scope_drift", "sequence_gap",
    "tainted_pin", "unexpected_confirmation", "unowned_pin", "untrusted_authority", "untrusted_pin", "value_drift",
)  # fmt: skip


class _Output(msgspec.Struct):
    """As much of an output as is counted."""

    type: str = ""
    reason: str | None = None
    reasons: list[str] = []
    alert: str = ""
    consecutive_deferrals: int | None = None


class Metrics:
    """One worker's metrics, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)  # processor time and memory; nothing where there is no /proc
        self._decoder = msgspec.json.Decoder(_Output)
        self.events = Counter("plangate_events", "Input records taken.", registry=registry)
        self.decisions = Counter("plangate_decisions", "New decisions by outcome.", ["outcome"], registry=registry)
        self.reasons = Counter(
            "plangate_decision_reasons",
            "Reasons of deferrals and refusals; one may have several.",
            ["reason"],
            registry=registry,
        )
        self.dead_letters = Counter(
            "plangate_dead_letters", "Input records that are no event.", ["reason"], registry=registry
        )
        self.alerts = Counter("plangate_alerts", "Alerts by name.", ["alert"], registry=registry)
        self.duplicates = Counter(
            "plangate_duplicate_proposals",
            "Proposals of a plan already decided; the decision was given again.",
            registry=registry,
        )
        self.repeats = Counter(
            "plangate_redelivered",
            "Input records that came again after they were decided, and were skipped.",
            registry=registry,
        )
        self.batches = Histogram(
            "plangate_batch_records", "Records decided in one step.", registry=registry, buckets=_SIZE_BUCKETS
        )
        self.lag = Histogram(
            "plangate_decision_lag_seconds",
            "From a proposal's timestamp to its published decision.",
            registry=registry,
            buckets=_LAG_BUCKETS,
        )
        self.streaks = Histogram(
            "plangate_deferral_streak",
            "How many times in a row a window's plans were deferred for its generation, at each such deferral.",
            registry=registry,
            buckets=_STREAK_BUCKETS,
        )
        self.lost = Counter(
            "plangate_input_lost_offsets",
            "Input offsets that retention deleted before they were decided.",
            registry=registry,
        )
        self.windows = Gauge("plangate_windows", "Windows in memory.", registry=registry)
        self.partitions = Gauge("plangate_partitions", "Input partitions owned and ready.", registry=registry)
        self.backlog = Gauge(
            "plangate_backlog_records", "Input records fetched and not yet decided.", registry=registry
        )
        self.behind = Gauge(
            "plangate_lag_records", "Input records in the topic and not yet decided.", registry=registry
        )
        self.stalled = Gauge(
            "plangate_stalled_partitions", "Partitions without progress for stall_seconds.", registry=registry
        )
        self.recovery = Gauge(
            "plangate_recovery_seconds", "How long the last take-over of a partition took.", registry=registry
        )
        self.recovered = Counter(
            "plangate_recovered_records", "Changelog records read at take-overs.", registry=registry
        )
        self.rebalances = Counter(
            "plangate_rebalances", "Times that the partitions were dealt out anew.", registry=registry
        )

        for counter, words in (
            (self.decisions, OUTCOMES),
            (self.reasons, REASONS),
            (self.dead_letters, DEAD_LETTERS),
            (self.alerts, ALERTS),
        ):
            for word in words:
                counter.labels(word)

    def count(self, outputs: Sequence[Out]) -> int:
        """Count a batch's outputs; the number of decisions among them."""
        decided = 0
        for out in outputs:
            if out.topic == "plan-decisions":
                decided += 1
                if any(name == "plangate-duplicate" for name, _ in out.headers):
                    self.duplicates.inc()
                    continue
                read = self._decoder.decode(out.value)
                if read.consecutive_deferrals:
                    self.streaks.observe(read.consecutive_deferrals)
                self.decisions.labels(read.type.removeprefix("plan_")).inc()
                for reason in [read.reason] if read.reason else read.reasons:
                    self.reasons.labels(reason).inc()
            elif out.topic == "dead-letters":
                self.dead_letters.labels(self._decoder.decode(out.value).reason or "").inc()
            elif out.topic == "window-alerts":
                self.alerts.labels(self._decoder.decode(out.value).alert).inc()
        return decided

    def text(self) -> bytes:
        """The page `/metrics`."""
        return generate_latest(self.registry)
