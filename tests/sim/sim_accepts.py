"""Acceptances judged anew by the tests' naive model, as of the offset that they cite."""

from __future__ import annotations

import json

from model import Model
from model_gate import approved, merged, unscorable
from model_trial import Trial, orphans
from model_window import Json, Window
from sim_events import Made


def wrong_accept(model: Model, made: Made, accept: Json) -> tuple[str, str] | None:
    """Checker and words for what is wrong with an acceptance; `model` has all records before its source."""
    if made.line is None or made.plan is None:
        return "fabricated", "an acceptance of what is no proposal"
    top = json.loads(made.line)
    plan = top if "type" in top else top["value"]
    named = plan.get("plan_id", plan.get("request_id"))
    if named != accept["plan_id"]:
        return "fabricated", f"an acceptance of {accept['plan_id']}, but {named} was proposed"
    window = model.windows.get(plan["window_id"])
    if window is None or not window.opened:
        return "unlogged event", "an acceptance in a window that no event opened"
    asked = plan.get("window_generation", window.generation)
    if asked != window.generation or accept["window_generation"] != window.generation:
        return "stale accept", f"of generation {asked} at generation {window.generation}"
    if window.gap or window.closed:
        return "accepted in doubt", "in a window that lost events, or is closed"
    budgeted = [{"span_id": s, "relevance": 0.0, "disposition": "evict"} for s in accept["evicted_ids"]]
    entries = merged(window, {"entries": budgeted} | plan)
    if entries is None:
        return "fabricated", "an acceptance of a plan that gives one span two fates"
    replacements = {r["span_id"]: r for r in plan.get("replacements", ())}
    compressed = frozenset(c for one in accept["compressed"] for c in one["covers"])
    trial = Trial(
        window=window,
        plan=plan | {"scorer": accept["scorer"]},
        entries=entries,
        evicted=frozenset(accept["evicted_ids"]),
        compressed=compressed,
        replacements=tuple(replacements[one["replacement_id"]] for one in accept["compressed"]),
    )
    if pending := [s for s in sorted(trial.going & set(window.live)) if window.live[s].open and not trial.in_place(s)]:
        return "accepted in doubt", f"ends open obligations: {pending}"
    if unproven := [s for s in trial.keeps() if unscorable(entries[s]["cites"], accept["scorer"])]:
        return "accepted in doubt", f"keeps scores that nobody can recompute: {unproven}"
    if missing := trial.going - set(window.live):
        return "unlogged event", f"removes what is not live: {sorted(missing)}"
    if pinned := [s for s in sorted(trial.going) if window.live[s].pinned and not approved(trial, s)]:
        return "pin violated", f"removes {pinned}"
    listed, _ = orphans(trial)
    if listed:
        return "orphan accept", f"leaves {[one['span_id'] for one in listed]}"
    return None


def wrong_answer(window: Window | None, answer: Json, repeated: bool) -> tuple[str, str] | None:
    """The same for any decision; `window` is the model's after the event."""
    live = answer.get("live_generation", answer.get("window_generation"))
    if live is not None and (window is None or live > window.generation):
        return "unlogged event", f"it knows generation {live}"
    if repeated or window is None or not window.opened:
        return None
    forged = [s for s in answer.get("pinned_ids", ()) if s not in window.live or not window.live[s].pinned]
    if forged:
        return "forged authority", f"pinned by nobody who may: {forged}"
    if answer["policy_version"] != window.policy["policy_version"]:
        return "forged authority", f"decided under {answer['policy_version']}"
    return None
