"""Topics by their base names (contract section 1); a prefix, if any, is the shell's business."""

from __future__ import annotations

from typing import NamedTuple


class Topic(NamedTuple):
    """``cleanup`` is Kafka's policy; ``partitioned_like_input`` where the key is a window."""

    cleanup: str
    keyed_by_window: bool = True


INPUT = "window-events"
TOPICS: dict[str, Topic] = {
    INPUT: Topic("delete"),
    "plan-decisions": Topic("delete"),
    "plan-refusals": Topic("delete"),
    "eviction-plans": Topic("delete"),
    "window-diagnostics": Topic("delete"),
    "window-alerts": Topic("delete"),
    "window-status": Topic("compact"),
    "audit-log": Topic("delete"),
    "dead-letters": Topic("delete", keyed_by_window=False),
}
#: which topic a record goes to, by its ``type``
ROUTES = {
    "plan_accepted": "plan-decisions",
    "plan_deferred": "plan-decisions",
    "plan_refused": "plan-decisions",
    "eviction_planned": "eviction-plans",
    "shadow_compared": "eviction-plans",
    "gate_diagnosed": "window-diagnostics",
    "planner_diagnosed": "window-diagnostics",
    "loss_located": "window-diagnostics",
    "accounting_compared": "window-diagnostics",
    "window_alert": "window-alerts",
    "window_status": "window-status",
    "audit_record": "audit-log",
    "dead_letter": "dead-letters",
}
#: whose ids a policy with ``id_redaction: hmac`` hides (contract section 7)
REDACTED = frozenset({"window-diagnostics", "window-alerts", "window-status"})
