"""Random plans for the property test: made from the model's state to be nearly acceptable, then disturbed a little."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from model_planner import goes_with
from model_window import Json, Window

MALFORMED: tuple[Json, ...] = (
    {"entries": "all"},
    {"keep_threshold": 2},
    {"keep_threshold": "0.5"},
    {"budget_units": True},
    {"budget_units": -1},
    {"commit_order": "any"},
    {"amendable": "yes"},
    {"window_generation": True},
    {"window_generation": "3"},
    {"replacements": [{"span_id": "m", "covers": ["a1"], "cost_units": 0}]},
    {"replacements": [{"span_id": "m", "covers": "a1", "cost_units": 2}]},
    {"entries": [{"span_id": "a1", "relevance": 1.5}]},
    {"entries": [{"span_id": "a1", "relevance": True}]},
    {"entries": [{"span_id": "a1", "relevance": "0.5"}]},
    {"entries": [{"span_id": "a1"}]},
    {"entries": [{"relevance": 0.5}]},
    {"entries": [{"span_id": "a1", "relevance": 0.5, "disposition": "drop"}]},
    {"entries": [{"span_id": "a1", "relevance": 0.5, "cited_dependencies": [{"span_id": "a2", "support": 2}]}]},
)


def going_together(rng: Random, window: Window) -> set[str]:
    """One or two spans with all that must go with them."""
    free = [s for s in sorted(window.live) if not window.live[s].pinned and not window.live[s].open]
    gone = set(rng.sample(free, min(len(free), rng.randint(1, 2))))
    while more := {s for s in window.live if s not in gone and goes_with(window, s, gone)}:
        gone |= more
    return gone


def dispositions(rng: Random, window: Window) -> dict[str, str]:
    mode = rng.choices(("closed", "loose", "compress"), (4, 4, 4))[0]
    live = sorted(window.live, key=lambda s: window.live[s].place)
    out = {s: "keep" for s in live if rng.random() < 0.8}
    if mode == "closed":
        out |= {s: "evict" for s in sorted(going_together(rng, window))}
    elif mode == "loose":
        share = rng.choice((0.2, 0.4, 0.6))
        for s in live:
            if not window.live[s].pinned and rng.random() < share:
                out[s] = rng.choice(("evict", "evict", "compress"))
    elif live:
        start = rng.randrange(len(live))
        out |= {s: "compress" for s in live[start : start + rng.randint(1, 3)]}
        if rng.random() < 0.4:
            out |= {s: "evict" for s in sorted(going_together(rng, window))}
    if rng.random() < 0.9:
        out = {s: "keep" if window.live[s].open and d == "evict" else d for s, d in out.items()}
    if rng.random() < 0.85:
        approved = {s for s, _, _ in window.approvals}
        out = {s: d if s in approved or not window.live[s].pinned else "keep" for s, d in out.items()}
    return out


def citations(rng: Random, window: Window, span_id: str, going: set[str], supported: bool) -> list[str | Json]:
    stays = sorted(set(window.live) - going)
    among = sorted(window.live) if rng.random() < (0.35 if supported else 0.15) else stays
    cited = rng.sample(among, min(len(among), rng.choice((0, 1, 1, 2))))
    if rng.random() < 0.02:
        cited.append(rng.choice(("never1", span_id, *sorted(window.left)[:1])))
    if rng.random() < 0.03 and cited:
        cited.append(cited[0])
    if not supported:
        return list(cited)
    small = rng.random() < 0.8
    return [
        {"span_id": c, "support": rng.randint(0, 2 if small else 9) / 10} if rng.random() < 0.97 else c for c in cited
    ]


def replacements(rng: Random, window: Window, compressed: list[str], fresh: Callable[[], str]) -> list[Json]:
    out: list[Json] = []
    rest = list(compressed)
    while rest:
        approval = [a for a in sorted(window.approvals) if a[0] == rest[0]]
        if approval and rng.random() < 0.9:
            covers, rest = rest[:1], rest[1:]
            cost = approval[-1][2] + (rng.random() < 0.1)
            out.append({"span_id": approval[-1][1], "covers": covers, "cost_units": cost})
        else:
            size = rng.randint(1, len(rest))
            covers, rest = rest[:size], rest[size:]
            cost = rng.randint(1, max(1, sum(window.live[c].cost for c in covers) * 3 // 4))
            used = {r["span_id"] for r in out}
            awaited = [i for i in sorted(window.waiting) if i not in used and not i.startswith("never")]
            name = rng.choice(awaited) if awaited and rng.random() < 0.6 else fresh()
            out.append({"span_id": name, "covers": covers, "cost_units": cost})
        if len(covers) == 1 and rng.random() < 0.5 or rng.random() < 0.04:
            out[-1]["in_place"] = True
        if rng.random() < 0.2:
            out[-1]["priority"] = rng.randint(-1, 3)
        if rng.random() < 0.4:
            rng.shuffle(out[-1]["covers"])
    return out


def random_plan(rng: Random, window: Window, fresh: Callable[[], str]) -> Json:
    wanted = dispositions(rng, window)
    scorers = window.policy["scorers"]
    plan: Json = {"entries": []}
    scorer = scorers[0]
    if rng.random() < 0.3:
        scorer = plan["scorer"] = rng.choice(scorers) if rng.random() < 0.95 else "unlisted/1"
    supported = scorer == "additive-support/1" or rng.random() < 0.2
    going = {s for s, d in wanted.items() if d != "keep"}
    if rng.random() < 0.2:
        plan["keep_threshold"] = rng.choice((0.2, 0.5, 0.8))
    for span_id, disposition in wanted.items():
        entry: Json = {"span_id": span_id}
        low, high = (0.5, 1.0) if disposition == "keep" else (0.0, 0.45)
        entry["relevance"] = round(rng.uniform(low, high), 2) if rng.random() < 0.97 else rng.choice((0, 1))
        if disposition == "compress" or rng.random() < 0.9:
            entry["disposition"] = disposition
        if rng.random() < 0.98:
            entry["cited_dependencies"] = citations(rng, window, span_id, going, supported)
        if rng.random() < 0.05:
            entry["rationale"] = "because"
        plan["entries"].append(entry)
    rng.shuffle(plan["entries"])
    compressed = [s for s in sorted(going, key=lambda s: window.live[s].place) if wanted[s] == "compress"]
    if compressed or rng.random() < 0.02:
        plan["replacements"] = replacements(rng, window, compressed, fresh)
    if rng.random() < 0.25:
        kept = sum(span.cost for s, span in window.live.items() if s not in going)
        kept += sum(r["cost_units"] for r in plan.get("replacements", ()))
        plan["budget_units"] = max(0, kept + rng.choice((-5, -1, 0, 0, 10, 30, 60)))
    if rng.random() < 0.4:
        plan["amendable"] = rng.random() < 0.7
    if rng.random() < 0.15:
        plan["commit_order"] = rng.choice(("atomic", "reverse_dependency"))
    if rng.random() < 0.15:
        disturb(rng, window, plan)
    return plan


def again_cited(rng: Random, window: Window, entry: Json) -> list[str | Json]:
    """The citations of a second entry for the same span: mostly the first one's, with other supports."""
    if rng.random() < 0.2:
        return citations(rng, window, entry["span_id"], set(), rng.random() < 0.5)
    out: list[str | Json] = []
    for cited in entry.get("cited_dependencies", ()):
        if isinstance(cited, dict) and "support" in cited and rng.random() < 0.9:
            out.append(cited | {"support": rng.randint(0, 5) / 10})
        else:
            out.append(cited)
    return out


def disturb(rng: Random, window: Window, plan: Json) -> None:
    """One deliberate fault."""
    entries, repl = plan["entries"], plan.get("replacements", [])
    sorts = ("unknown", "twice", "twice", "twice", "two fates", "entry order", "cover", "reused", "empty", "malformed")
    sort = rng.choice(sorts)
    if sort == "unknown":
        name = rng.choice(["never1", *sorted(window.left)])
        kind = rng.choice(("keep", "evict", "compress"))
        entries.append({"span_id": name, "relevance": 0.6, "disposition": kind, "cited_dependencies": []})
        if kind == "compress" and rng.random() < 0.5:
            plan["replacements"] = [*repl, {"span_id": f"u{name}", "covers": [name], "cost_units": 1}]
    elif sort == "twice" and entries:
        supported = [e for e in entries if any(isinstance(c, dict) for c in e.get("cited_dependencies", ()))]
        first = rng.choice(supported or entries)
        gone = [e["span_id"] for e in entries if e.get("disposition") in ("evict", "compress")]
        if gone and first.get("disposition") == "keep" and rng.random() < 0.7:
            first["cited_dependencies"] = [{"span_id": rng.choice(gone), "support": rng.randint(0, 5) / 10}]
        entry = dict(first)
        if "disposition" in entry:
            entry["relevance"] = rng.choice((entry["relevance"], 0.9, 0.4))
        entry["cited_dependencies"] = again_cited(rng, window, entry)
        if rng.random() < 0.15:
            del entry["cited_dependencies"]
        entries.append(entry)
    elif sort == "two fates" and entries:
        entry = rng.choice(entries)
        entries.append(entry | {"disposition": "evict" if entry.get("disposition") == "keep" else "keep"})
    elif sort == "entry order":
        plan["commit_order"] = "entry_order"
    elif sort == "cover" and repl:
        if rng.random() < 0.5 and len(repl[0]["covers"]) > 1:
            repl[0]["covers"] = repl[0]["covers"][1:]
        else:
            repl[0]["covers"] = [*repl[0]["covers"], rng.choice(sorted(window.live))]
    elif sort == "reused" and repl:
        repl[0]["span_id"] = rng.choice([repl[-1]["span_id"], *sorted(window.live), *sorted(window.left)])
    elif sort == "empty":
        plan["entries"] = []
        plan.pop("replacements", None)
    elif sort == "malformed":
        plan |= rng.choice(MALFORMED)
