"""Output records of `plangate replay` beside the model's: the first difference, and counts of what occurred.

Left out of the comparison, because the contract leaves them free: decision_id, wording (waits_for, reason of a rejected
budget), the form of field paths, the order inside one unit of the dependency-closed planner, and in changed_since the
names of a commit's and the span ids of a commit's and a resync's change.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

import model_readings
from model_window import Json

DIAGNOSES = {"loss_located": "loss", "accounting_compared": "accounting", "shadow_compared": "shadow"}
ALERTS = (
    "sequence_gap untrusted_authority id_conflict id_reused orphan_at_birth orphaned_by_host unowned_pin tainted_pin "
    "untrusted_pin pinned_span_changed mixed_accounting plans_starving acceptance_lapsed method_drift scope_drift "
    "value_drift"
).split()
DRIFTS = ("method_drift", "scope_drift", "value_drift")
UNSAID = ("sequence_gap", "untrusted_authority", "mixed_accounting", "plans_starving", *DRIFTS)  # only the name
NAMED_CHANGES = ("span_appended", "span_edited", "spans_removed", "span_pinned", "span_unpinned", "policy_set")


def of_product(records: Iterable[Json]) -> list[Json]:
    """Replay's records in the model's form; topics that the model does not tell are dropped."""
    out = []
    for record in records:
        topic, value = record["topic"], record["value"]
        kind = None
        if topic == "plan-decisions":
            kind = "decision"
        elif topic in ("eviction-plans", "window-diagnostics"):
            kind = "plan" if value["type"] == "eviction_planned" else DIAGNOSES.get(value["type"])
        elif topic == "window-alerts" and value["alert"] in ALERTS:
            kind = "alert"
        elif topic == "dead-letters":
            out.append({"kind": "dead", "window": None, "offset": value["offset"]})
        if kind is not None:
            out.append({**value, "kind": kind, "window": value["window_id"]})
    return out


def alert_key(record: Json) -> str:
    missing = sorted((m["span_id"], m["state"], m.get("by")) for m in record.get("missing", ()))
    fields = [] if record["alert"] in UNSAID else [record.get("span_id"), record.get("plan_id")]
    return repr((record["window"], record["alert"], fields, missing))


def difference(model: list[Json], product: list[Json]) -> str | None:
    """Words for the first difference, decisions first; None if the two tell the same."""
    for kind in ("decision", "plan", "loss", "shadow", "dead"):
        ours = [r for r in model if r["kind"] == kind]
        theirs = [r for r in product if r["kind"] == kind]
        for want, have in zip(ours, theirs, strict=False):
            unlike = [name for name in want if not same(kind, name, want, have)]
            if unlike:
                return f"{kind}: fields {unlike} differ\n  model:   {want}\n  product: {have}"
        if len(ours) != len(theirs):
            longer, who = (ours, "model") if len(ours) > len(theirs) else (theirs, "product")
            return f"{kind}: only the {who} has\n  {longer[min(len(ours), len(theirs))]}"
    for kind, key in (("alert", alert_key), ("accounting", accounting_key)):
        ours_n = Counter(key(r) for r in model if r["kind"] == kind)
        theirs_n = Counter(key(r) for r in product if r["kind"] == kind)
        if ours_n != theirs_n:
            return f"{kind}: only model {dict(ours_n - theirs_n)}\n  only product {dict(theirs_n - ours_n)}"
    return None


def accounting_key(record: Json) -> str:
    return repr((record["window"], record["artifact_id"], record["outcome"]))


def same(kind: str, name: str, want: Json, have: Json) -> bool:
    ours, theirs = want[name], have.get(name)
    if name in ("commit_order", "changed_since", "rescored") and theirs is None:
        return False
    if name == "contract_version":
        return str(theirs) == ours
    if name == "invalid_paths":
        return bool(theirs) == ours
    if name == "scorer" and ours is None:
        return True
    if name == "generation" and ours is None or name == "used_cost_units" and ours is None:
        return True
    if name == "resolution" and "invalid_replacement" in want["reasons"] and ours and theirs:
        if not model_readings.RESOLUTION_OF_INVALID_REPLACEMENTS_IS_COMPARED:
            return bool(ours["complete"] == theirs["complete"])
    if name == "units":
        return ordered_units(ours, have["evicted_ids"])
    if name == "commit_order":
        return ordered_commit(ours, theirs, want["evicted_ids"])
    if name == "changed_since":
        return [change_key(c) for c in ours] == [change_key(c) for c in theirs or ()]
    if name.startswith("mean_relevance"):
        return close(ours, theirs)
    if name == "rescored":
        return len(ours) == len(theirs) and all(
            a["span_id"] == b["span_id"] and close(a["before"], b["before"]) and close(a["after"], b["after"])
            for a, b in zip(ours, theirs, strict=True)
        )
    return bool(ours == theirs)


def statuses(raw: Iterable[Json]) -> dict[str, Json]:
    """What the newest window-status of each window says, in the model's form."""
    out = {}
    for record in raw:
        if record["topic"] == "window-status":
            value = record["value"]
            told = {name: value[name] for name in ("generation", "live_spans", "cost_units")}
            told["open_escalations"] = {e["plan_id"]: e["escalate_to_turn"] for e in value["open_escalations"]}
            out[value["window_id"]] = told | {"pending": value["pending"] is not None, "closed": value["closed"]}
    return {window_id: told for window_id, told in out.items() if not told.pop("closed")}


def close(ours: float | None, theirs: float | None) -> bool:
    if ours is None or theirs is None:
        return ours is theirs
    return math.isclose(ours, theirs, abs_tol=1e-9)


def change_key(change: Json) -> Any:
    if change["event"] in NAMED_CHANGES:
        return change["generation"], change["event"], tuple(change["span_ids"])
    return change["generation"]


def ordered_units(units: list[list[str]], evicted: list[str]) -> bool:
    flat = list(evicted)
    for unit in units:
        head, flat = flat[: len(unit)], flat[len(unit) :]
        if sorted(head, key=str.encode) != unit:
            return False
    return not flat


def ordered_commit(want: Json, order: list[str], evicted: list[str]) -> bool:
    """All that goes (or all that is evicted), each before what it depends on, cycles aside."""
    if sorted(order, key=str.encode) not in (want["going"], evicted):
        return False
    place = {span_id: n for n, span_id in enumerate(order)}
    needs = {span_id: [other for other in want["needs"][span_id] if other in place] for span_id in order}
    reach = {span_id: reachable(needs, span_id) for span_id in order}
    return all(
        place[one] < place[other] or one in reach[other] for one in order for other in reach[one] if other != one
    )


def reachable(needs: dict[str, list[str]], start: str) -> set[str]:
    met: set[str] = set()
    todo = list(needs[start])
    while todo:
        span_id = todo.pop()
        if span_id not in met:
            met.add(span_id)
            todo += needs[span_id]
    return met


def named(record: Json) -> Iterable[str]:
    """The names under which a record is counted."""
    if record["kind"] == "decision":
        yield from named_decision(record)
    elif record["kind"] == "plan":
        yield f"{record['planner']} {record['status']}"
    elif record["kind"] == "alert":
        yield f"alert {record['alert']}"
    elif record["kind"] == "loss":
        yield f"loss {record['stage']}"
    elif record["kind"] == "accounting":
        yield f"accounting {record['outcome']}"
    elif record["kind"] == "shadow":
        yield f"shadow {'agrees' if record['agree'] else 'differs'}"
    else:
        yield "dead letter"


def named_decision(record: Json) -> Iterable[str]:
    if record["type"] == "plan_deferred":
        yield f"deferred {record['reason']}"
    elif record["type"] == "plan_accepted":
        yield f"accepted {record['commit']}"
        for name in ("amended_retained_ids", "rescored", "preexisting_orphans", "compressed"):
            if record[name]:
                yield f"accepted {name}"
    else:
        for reason in record["reasons"]:
            yield f"refused {reason}"
        for orphan in record["orphans"]:
            for broken in orphan["broken"]:
                yield f"orphan {broken['via']}-{broken['state']}"
        if record["resolution"]:
            yield f"resolution {'complete' if record['resolution']['complete'] else 'incomplete'}"
