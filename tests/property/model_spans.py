"""Random spans for the property test."""

from __future__ import annotations

from random import Random

from model_window import Json, Window

KINDS = ("user", "assistant", "tool_call", "tool_result", "reasoning", "other")
FEATURES = ("verbatim", "pairs", "prefix", "open", "derived")


def random_span(rng: Random, window: Window, much: dict[str, float], span_id: str) -> Json:
    """A span with edges to what is live; `much` scales how often each feature occurs."""
    live = sorted(window.live)
    near = live[-5:]

    def some(share: float, among: list[str], most: int = 2) -> list[str]:
        if not among or rng.random() >= share:
            return []
        return rng.sample(among, min(len(among), rng.randint(1, most)))

    odd = [span_id, "never1"] + sorted(window.left)[-2:]
    span: Json = {"span_id": span_id, "cost_units": rng.randint(1, 30), "kind": rng.choice(KINDS)}
    lists = {
        "depends_on": some(0.4, near) + some(0.05, odd),
        "needs_verbatim": some(0.15 * much["verbatim"], near),
        "pairs_with": some(0.2 * much["pairs"], near, 1) + some(0.04, odd),
        "required_by": some(0.08, near) + some(0.03, odd),
        "closes": some(0.5, [s for s in live if window.live[s].open]),
        "derived_from": some(0.2 * much["derived"], near) + some(0.03, odd),
    }
    span |= {name: ids for name, ids in lists.items() if ids or rng.random() < 0.02}
    for name, share in (("needs_prefix", 0.06 * much["prefix"]), ("open", 0.06 * much["open"]), ("pinned", 0.16)):
        if rng.random() < share:
            span[name] = True
    if span.get("pinned") and rng.random() < 0.85:
        span |= {"pin_owner": "ops", "pin_reason": "rule"}
    if rng.random() < 0.4:
        span["priority"] = rng.randint(-1, 3)
    if rng.random() < 0.2:
        span["last_used_order"] = rng.randint(-2, 9)
    if rng.random() < 0.1:
        span["accounting"] = {"method": rng.choice(("m1", "m1", "m2")), "input_version": "1"}
    return span


def retell(rng: Random, span: Json) -> None:
    """Say one field of a span otherwise: some of these are the same declaration still, others conflict."""
    sort = rng.choice(("same", "same", "order", "derived_from", "closes", "kind", "needs_prefix", "last_used_order"))
    if sort == "same":
        span |= {"accounting": {"method": "m1", "input_version": "2"}, "priority": span.get("priority", 0)}
        if span.get("pinned"):
            span |= {"pin_owner": "others", "pin_reason": "another"}
    elif sort == "order":
        for name in ("depends_on", "pairs_with", "derived_from"):
            span[name] = [*reversed(span.get(name, [])), *span.get(name, [])[:1]]
    elif sort in ("derived_from", "closes"):
        span[sort] = span.get(sort, [])[1:] if span.get(sort) else ["never1"]
    elif sort == "kind":
        span["kind"] = "other"
    elif sort == "needs_prefix":
        span["needs_prefix"] = not span.get("needs_prefix", False)
    elif span.pop("last_used_order", None) is None:
        span["last_used_order"] = 1
