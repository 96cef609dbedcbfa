"""Random policies and random evidence of other programs (pipelines, older planners) for the property test."""

from __future__ import annotations

from random import Random

from model_planner import strict_priority
from model_window import Json

STAGES = ("retrieved_ids", "eligible_ids", "retained_ids", "evicted_ids", "rendered_ids")


def random_policy(rng: Random, version: str) -> Json:
    scorers = rng.choice(
        (
            ["declared-provenance/1", "additive-support/1"],
            ["additive-support/1", "declared-provenance/1"],
            ["additive-support/1"],
            ["declared-provenance/1"],
            ["declared-provenance/1", "additive-support/1", "future/9"],
        )
    )
    return {
        "policy_version": version,
        "commit": rng.choice(("on_accept", "on_accept", "on_confirm")),
        "generation_counts": rng.choice(("every_change", "rewrites")),
        "scorers": scorers,
        "keep_threshold": rng.choice((0.5, 0.3, 0.7)),
        "amend_plans": rng.random() < 0.4,
        "compressed_evidence": rng.choice(("standing", "leaving")),
        "budget_units": rng.choice((None, None, 40, 90)),
        "planner": rng.choice(("strict-priority/1", "dependency-closed/1")),
        "decisions_remembered": rng.choice((1, 2, 4, 64, 64)),
        "proposals_per_generation": rng.choice((2, 4, 1024, 1024)),
        "starvation_after": rng.choice((1, 2, 3, 5)),
    }


def random_stages(rng: Random) -> Json:
    """Lists of a pipeline that thin out from stage to stage, some not captured, some in conflict."""
    ids, out = ["x", "y", "z"], {}
    for name in STAGES:
        before = ids
        kept = [i for i in before if rng.random() < 0.75]
        if name == "evicted_ids":
            out[name] = [i for i in out.get("eligible_ids") or ids if i not in (out.get("retained_ids") or ids)]
        else:
            out[name] = ids = kept
    for name in STAGES:
        chance = rng.random()
        if chance < 0.2:
            out[name] = None
        elif chance < 0.27:
            out[name] = [i for i in ("x", "y", "y2") if rng.random() < 0.6]
        elif chance < 0.29:
            out[name] = [*out[name], "y", "y"]
    return out


def random_observation(rng: Random) -> Json:
    """What an older planner saw and did: often right, at times wrong or fed with nonsense."""
    entries = [
        {
            "id": f"k{n}",
            "priority": rng.randint(0, 2),
            "pinned": rng.random() < 0.3,
            "cost_units": rng.randint(1, 9) if rng.random() < 0.97 else 0,
            "last_used_order": rng.randint(0, 3),
        }
        for n in range(rng.randint(0, 4))
    ]
    if entries and rng.random() < 0.05:
        entries.append(dict(entries[0]))
    budget = rng.randint(0, 20)
    ours = strict_priority(entries, budget)
    evicted = [i for unit in ours["units"] for i in unit]
    if rng.random() < 0.3:
        rng.shuffle(evicted)
    if rng.random() < 0.2:
        evicted = evicted[1:]
    status = ours["status"] if rng.random() < 0.9 else "fits"
    retained = [e["id"] for e in entries if e["id"] not in evicted]
    return {
        "planner": "old",
        "policy_version": "old/1",
        "budget_units": budget,
        "entries": entries,
        "status": status,
        "retained_ids": retained,
        "evicted_ids": evicted,
    }
