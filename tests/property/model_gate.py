"""Naive model of the gate (contract section 4): one proposal in, one decision out, steps in the contract's order."""

from __future__ import annotations

from typing import Any

from model_trial import SCORERS, Trial, commit, in_bytes, means, mend, orphans, preexisting, rescored
from model_window import Json, Window


class Gate:
    """Decides the proposals of all windows; `emit` takes (window_id, record)."""

    def __init__(self, emit: Any, worker: Json) -> None:
        self.emit, self.worker = emit, worker

    def propose(self, window_id: str, window: Window, plan: Json, offset: int, malformed: bool) -> None:
        """Steps 1 to 4, and the memory around all steps."""
        if malformed:
            plan = {"plan_id": plan["plan_id"], "scorer": None}  # what scorer a malformed plan has is left open
        if not window.opened:
            self.emit(window_id, self.deferred(window, plan, offset, "unknown_window") | {"live_generation": None})
            return
        for plan_id, _, record in window.memory:
            if plan_id == plan["plan_id"]:
                self.emit(window_id, record)
                return
        window.proposals += 1
        row, trial = 0, None
        if window.proposals > window.policy["proposals_per_generation"]:
            record = self.refused(window, plan, offset, ["too_many_proposals"])
        elif window.closed:
            record = self.refused(window, plan, offset, ["window_closed"])
        elif window.gap:
            record = self.deferred(window, plan, offset, "window_gap")
        elif malformed:
            record = self.refused(window, plan, offset, ["invalid_plan"])
        elif (entries := merged(window, plan)) is None or plan.get("commit_order") == "entry_order":
            record = self.refused(window, plan, offset, ["entry_order_commit"])
        elif plan["window_generation"] != window.generation:
            row = window.row + 1
            record = self.stale(window, plan, offset, row)
        elif window.pending:
            window.pending["answers"] += 1
            record = self.deferred(window, plan, offset, "commit_pending")
        else:
            record, trial = self.judge(window, plan, offset, entries)
        self.decide(window_id, window, plan, record, row)
        if trial is not None:
            self.accept(window_id, window, plan, offset, trial)
        elif window.pending and window.pending["answers"] >= window.policy["starvation_after"]:
            self.lapse(window_id, window)

    def decide(self, window_id: str, window: Window, plan: Json, record: Json, row: int) -> None:
        window.memory.append((plan["plan_id"], window.generation, record))
        window.trim()
        self.emit(window_id, record)
        window.row = row
        if record["type"] == "plan_refused":
            window.escalations[plan["plan_id"]] = record["escalate_to_turn"]
        elif record["type"] == "plan_accepted":
            window.escalations = {}
        if row == window.policy["starvation_after"]:
            self.emit(window_id, {"kind": "alert", "alert": "plans_starving"})

    def accept(self, window_id: str, window: Window, plan: Json, offset: int, trial: Trial) -> None:
        if window.policy["commit"] == "on_accept":
            commit(trial)
            self.grow(window_id, window, "commit", trial.going)
        else:
            window.pending = {"plan": trial.plan, "offset": offset, "trial": trial, "answers": 0}

    def confirm(self, window_id: str, window: Window) -> None:
        trial, window.pending = window.pending["trial"], None
        commit(trial)
        self.grow(window_id, window, "commit", trial.going)

    def lapse(self, window_id: str, window: Window) -> None:
        """The pending acceptance is over; its deferral is the recorded decision from now on."""
        plan, offset, window.pending = window.pending["plan"], window.pending["offset"], None
        record = self.deferred(window, plan, offset, "acceptance_lapsed")
        window.memory = [m for m in window.memory if m[0] != plan["plan_id"]]
        window.memory.append((plan["plan_id"], window.generation, record))
        window.trim()
        self.emit(window_id, {"kind": "alert", "alert": "acceptance_lapsed", "plan_id": plan["plan_id"]})
        self.emit(window_id, record)

    def grow(self, window_id: str, window: Window, event: str, span_ids: Any) -> None:
        window.generation += 1
        window.proposals = 0
        window.history.append({"generation": window.generation, "event": event, "span_ids": in_bytes(span_ids)})
        if window.pending:
            self.lapse(window_id, window)

    def judge(self, window: Window, plan: Json, offset: int, entries: dict[str, Json]) -> tuple[Json, Trial | None]:
        """Steps 5 to 7 for a plan on the live generation."""
        scorer = plan.get("scorer", window.policy["scorers"][0])
        plan = plan | {"scorer": scorer}
        live = {s: e for s, e in entries.items() if s in window.live}
        trial = Trial(
            window=window,
            plan=plan,
            entries=entries,
            evicted=frozenset(s for s, e in live.items() if e["disposition"] == "evict"),
            compressed=frozenset(s for s, e in live.items() if e["disposition"] == "compress"),
            replacements=tuple(plan.get("replacements", ())),
        )
        if scorer not in window.policy["scorers"] or scorer not in SCORERS:
            unscored: list[str] | None = []
        else:
            unscored = [s for s in trial.keeps() if unscorable(entries[s]["cites"], scorer)] or None
        if unscored is not None:
            record = self.deferred(window, plan, offset, "rescore_closure_unavailable")
            return record | {"span_ids": in_bytes(unscored)}, None
        pending = [s for s in trial.going if window.live[s].open and not trial.in_place(s)]
        if pending:
            return self.deferred(window, plan, offset, "open_obligation") | {"span_ids": in_bytes(pending)}, None
        return self.weigh(window, plan, offset, trial)

    def weigh(self, window: Window, plan: Json, offset: int, trial: Trial) -> tuple[Json, Trial | None]:
        unknown = in_bytes(s for s in trial.entries if s not in window.live)
        pinned = in_bytes(s for s in trial.going if window.live[s].pinned and not approved(trial, s))
        hard = {
            "unknown_span": bool(unknown),
            "pin_violation": bool(pinned),
            "invalid_replacement": invalid_replacement(trial),
        }
        listed, _ = orphans(trial)
        soft = {
            "orphans": bool(listed),
            "over_budget": "budget_units" in plan and plan["budget_units"] < trial.cost(),
            "no_effect": trial.cost() >= window.cost() and not unknown,
        }
        resolution = None
        if listed:
            last, healed = mend(trial)
            sound = healed and not last.splits() and last.cost() < window.cost()
            sound = sound and ("budget_units" not in plan or last.cost() <= plan["budget_units"])
            resolution = {
                "retain": in_bytes(trial.going - last.going),
                "retained_cost_units": last.cost(),
                "fits_budget": last.fits(),
                "complete": sound and not any(hard.values()),
            }
            keeps_budget = "budget_units" in plan or not trial.fits() or bool(last.fits())
            amendable = plan.get("amendable", window.policy["amend_plans"]) and not any(hard.values())
            if amendable and sound and keeps_budget:
                return self.accepted(window, plan, offset, trial, last), last
        reasons = sorted(name for name, applies in (hard | soft).items() if applies)
        if not reasons:
            return self.accepted(window, plan, offset, trial, trial), trial
        record = self.refused(window, plan, offset, reasons)
        return record | {
            "orphans": listed,
            "pinned_ids": pinned,
            "unknown_ids": unknown,
            "resolution": resolution,
        }, None

    def accepted(self, window: Window, plan: Json, offset: int, submitted: Trial, final: Trial) -> Json:
        before, after = means(final)
        compressed = [{"replacement_id": r["span_id"], "covers": in_bytes(r["covers"])} for r in final.replacements]
        at_once = window.policy["commit"] == "on_accept"
        return self.common(window, plan, offset, "plan_accepted") | {
            "window_generation": plan["window_generation"],
            "new_generation": window.generation + 1,
            "evicted_ids": in_bytes(final.evicted),
            "commit_order": {"going": in_bytes(final.going), "needs": needs(final)},
            "compressed": sorted(compressed, key=lambda c: c["replacement_id"].encode()),
            "amended_retained_ids": in_bytes(submitted.going - final.going),
            "rescored": rescored(final),
            "preexisting_orphans": preexisting(final),
            "retained_cost_units": final.cost(),
            "fits_budget": final.fits(),
            "mean_relevance_before": before,
            "mean_relevance_after": after,
            "commit": "committed" if at_once else "awaiting_confirmation",
        }

    def stale(self, window: Window, plan: Json, offset: int, row: int) -> Json:
        asked = plan["window_generation"]
        return self.deferred(window, plan, offset, "generation_changed") | {
            "plan_generation": asked,
            "relation": "behind" if asked < window.generation else "ahead",
            "changed_since": [change for change in window.history if change["generation"] > asked],
            "consecutive_deferrals": row,
        }

    def deferred(self, window: Window, plan: Json, offset: int, reason: str) -> Json:
        return self.common(window, plan, offset, "plan_deferred") | {
            "reason": reason,
            "live_generation": window.generation,
        }

    def refused(self, window: Window, plan: Json, offset: int, reasons: list[str]) -> Json:
        return self.common(window, plan, offset, "plan_refused") | {
            "reasons": reasons,
            "orphans": [],
            "pinned_ids": [],
            "unknown_ids": [],
            "invalid_paths": reasons == ["invalid_plan"],
            "resolution": None,
            "live_generation": window.generation,
            "window_unchanged": True,
            "escalate_to_turn": window.turn + 1,
        }

    def common(self, window: Window, plan: Json, offset: int, outcome: str) -> Json:
        policy = window.policy if window.opened else self.worker
        return {
            "kind": "decision",
            "type": outcome,
            "plan_id": plan["plan_id"],
            "contract_version": "1",
            "policy_version": policy["policy_version"],
            "scorer": plan.get("scorer", policy["scorers"][0]),
            "source": {"partition": 0, "offset": offset},
        }


def citations(raw: Any) -> Json | None:
    """Cited ids with their support (None: missing); a repeated id merges as entries do."""
    if raw is None:
        return None
    found: Json = {}
    for item in raw:
        cited, support = (item, None) if isinstance(item, str) else (item["span_id"], item.get("support"))
        found[cited] = larger(found[cited], support) if cited in found else support
    return found


def larger(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else max(one, other)


def merged(window: Window, plan: Json) -> dict[str, Json] | None:
    """Entries by span; None if a span has two dispositions (contract section 4, step 3)."""
    threshold = plan.get("keep_threshold", window.policy["keep_threshold"])
    out: dict[str, Json] = {}
    for raw in plan["entries"]:
        implied = "evict" if raw["relevance"] < threshold else "keep"
        entry = {
            "relevance": raw["relevance"],
            "disposition": raw.get("disposition", implied),
            "cites": citations(raw.get("cited_dependencies")),
        }
        other = out.setdefault(raw["span_id"], entry)
        if other["disposition"] != entry["disposition"]:
            return None
        if other is not entry:
            other["relevance"] = min(other["relevance"], entry["relevance"])
            if other["cites"] is None or entry["cites"] is None:
                other["cites"] = None
            else:
                for cited, support in entry["cites"].items():
                    old = other["cites"]
                    old[cited] = larger(old[cited], support) if cited in old else support
    return out


def unscorable(cites: Json | None, scorer: str) -> bool:
    return cites is None or (scorer == "additive-support/1" and None in cites.values())


def approved(trial: Trial, span_id: str) -> bool:
    return span_id in trial.compressed and any(
        (span_id, r["span_id"], r["cost_units"]) in trial.window.approvals
        for r in trial.replacements
        if span_id in r["covers"]
    )


def invalid_replacement(trial: Trial) -> bool:
    window = trial.window
    compressed = sorted(s for s, e in trial.entries.items() if e["disposition"] == "compress")
    ids = [r["span_id"] for r in trial.replacements]
    return (
        sorted(c for r in trial.replacements for c in r["covers"]) != compressed
        or len(set(ids)) != len(ids)
        or any(i in window.live or i in window.left for i in ids)
        or trial.splits()
    )


def needs(trial: Trial) -> dict[str, list[str]]:
    """Who of the going depends on whom of the going, for the check of commit_order."""
    return {g: in_bytes(trial.window.depends(g) & trial.going) for g in trial.going}
