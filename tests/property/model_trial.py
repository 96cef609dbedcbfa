"""Naive model of what a plan would leave behind (contract section 4, steps 5 and 6): orphans, amendment, commit."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from model_window import Json, Span, Window, leave

SCORERS = ("declared-provenance/1", "additive-support/1")


def in_bytes(ids: Any) -> list[str]:
    return sorted(ids, key=str.encode)


@dataclass(frozen=True)
class Trial:
    """A plan tried on a window; `entries` are merged, `evicted` and `compressed` hold live spans only."""

    window: Window
    plan: Json
    entries: dict[str, Json]
    evicted: frozenset[str]
    compressed: frozenset[str]
    replacements: tuple[Json, ...]

    @property
    def going(self) -> frozenset[str]:
        return self.evicted | self.compressed

    @property
    def retained(self) -> set[str]:
        return set(self.window.live) - self.going

    def in_place(self, span_id: str) -> bool:
        return span_id in self.compressed and any(
            r.get("in_place", False) for r in self.replacements if span_id in r["covers"]
        )

    def state(self, span_id: str) -> str:
        return "evicted" if span_id in self.evicted else "compressed"

    def cost(self) -> int:
        kept = sum(self.window.live[span_id].cost for span_id in self.retained)
        return kept + sum(r["cost_units"] for r in self.replacements)

    def budget(self) -> int | None:
        return self.plan.get("budget_units", self.window.budget_units())

    def fits(self) -> bool | None:
        return None if self.budget() is None else self.cost() <= self.budget()

    def threshold(self) -> float:
        ours = self.window.policy["keep_threshold"]
        return max(ours, self.plan.get("keep_threshold", ours))

    def keeps(self) -> list[str]:
        """Live spans whose entry says keep."""
        return [s for s, e in self.entries.items() if e["disposition"] == "keep" and s in self.window.live]

    def cites(self, span_id: str) -> Json:
        entry = self.entries.get(span_id)
        return entry["cites"] if entry and entry["disposition"] == "keep" and entry["cites"] else {}

    def score(self, span_id: str) -> float | None:
        """Relevance of a keep entry after the plan, by the plan's scorer; None: no score left."""
        relevance, cited = self.entries[span_id]["relevance"], self.cites(span_id)
        gone = [support for c, support in cited.items() if c in self.going]
        if self.plan["scorer"] == "declared-provenance/1":
            return None if gone else relevance
        return relevance - math.fsum(gone) if gone else relevance

    def first_covered(self, replacement: Json) -> Span | None:
        covered = [self.window.live[c] for c in replacement["covers"] if c in self.window.live]
        return min(covered, key=lambda span: span.place) if covered else None

    def splits(self) -> bool:
        """Would a replacement that is not in_place stand between two retained partners of one pair?"""
        for replacement in self.replacements:
            first = self.first_covered(replacement)
            if first is None or replacement.get("in_place", False):
                continue
            for one in self.retained:
                for other in self.window.partners(one) & self.retained:
                    places = (self.window.live[one].place, self.window.live[other].place)
                    if min(places) < first.place < max(places):
                        return True
        return False


def evidence(trial: Trial, span_id: str) -> set[tuple[str, str, str]]:
    window, found = trial.window, set()
    leaving = window.policy["compressed_evidence"] == "leaving"
    for d in window.depends(span_id):
        if d in trial.evicted:
            found.add((d, "declared", "evicted"))
        elif d in trial.compressed and d in window.verbatim(span_id):
            found.add((d, "verbatim", "compressed"))
        elif d in trial.compressed and leaving:
            found.add((d, "declared", "compressed"))
    for c in set(trial.cites(span_id)) - {span_id} if span_id in trial.retained else ():
        if c not in window.live:
            found.add((c, "cited", "not_live"))
        elif c in trial.evicted:
            found.add((c, "cited", "evicted"))
        elif c in trial.compressed and leaving:
            found.add((c, "cited", "compressed"))
    if found and all(via == "cited" and state != "not_live" for _, via, state in found):
        after = trial.score(span_id)
        if after is not None and after >= trial.threshold():
            return set()
    return found


def breaks(trial: Trial, span_id: str) -> tuple[set[tuple[str, str, str]], set[str]]:
    """What is broken for one span, and which going spans would have to be retained to mend it."""
    window = trial.window
    if span_id not in trial.retained and not trial.in_place(span_id):
        return set(), set()
    found = evidence(trial, span_id)
    for p in window.partners(span_id) & trial.going:
        if not trial.in_place(p):
            found.add((p, "pair", trial.state(p)))
    back = {broken for broken, _, state in found if state != "not_live"}
    span = window.live[span_id]
    if span.prefix and span_id in trial.retained:
        earlier = [g for g in trial.going if window.live[g].place < span.place]
        if earlier:
            first = min(earlier, key=lambda g: window.live[g].place)
            found.add((first, "prefix", trial.state(first)))
            back |= set(earlier)
    return found, back


def orphans(trial: Trial) -> tuple[list[Json], set[str]]:
    listed, back = [], set()
    for span_id in in_bytes(trial.window.live):
        found, mend = breaks(trial, span_id)
        if found:
            ordered = sorted(found, key=lambda b: (b[0].encode(), b[1].encode()))
            broken = [{"span_id": b, "via": via, "state": state} for b, via, state in ordered]
            listed.append({"span_id": span_id, "broken": broken})
            back |= mend
    return listed, back


def retain(trial: Trial, back: set[str]) -> Trial:
    back, replacements = set(back), list(trial.replacements)
    while dropped := [r for r in replacements if set(r["covers"]) & back]:
        replacements = [r for r in replacements if r not in dropped]
        back |= {c for r in dropped for c in r["covers"]}
    return replace(
        trial, evicted=trial.evicted - back, compressed=trial.compressed - back, replacements=tuple(replacements)
    )


def mend(trial: Trial) -> tuple[Trial, bool]:
    """Round by round, retain what orphans miss; gives the last round and whether no orphan is left."""
    while True:
        listed, back = orphans(trial)
        if not listed or not back:
            return trial, not listed
        trial = retain(trial, back)


def preexisting(trial: Trial) -> list[str]:
    judged = [s for s in trial.window.live if s in trial.retained or trial.in_place(s)]
    return in_bytes(s for s in judged if trial.window.depends(s) - set(trial.window.live))


def rescored(trial: Trial) -> list[Json]:
    rows = [s for s in trial.keeps() if s in trial.retained and set(trial.cites(s)) & trial.going]
    return [{"span_id": s, "before": trial.entries[s]["relevance"], "after": trial.score(s)} for s in in_bytes(rows)]


def means(trial: Trial) -> tuple[float | None, float | None]:
    kept = trial.keeps()
    before = [trial.entries[s]["relevance"] for s in kept]
    after = [score for s in kept if (score := trial.score(s)) is not None]
    return tuple(math.fsum(values) / len(values) if values else None for values in (before, after))  # type: ignore


def commit(trial: Trial) -> None:
    """The one atomic change of an accepted plan (contract section 4, Commit)."""
    window, stand_in, born = trial.window, {}, []
    for replacement in trial.replacements:
        first, same = trial.first_covered(replacement), replacement.get("in_place", False)
        assert first is not None
        born.append(
            Span(
                span_id=replacement["span_id"],
                place=first.place,
                cost=replacement["cost_units"],
                priority=replacement.get("priority", first.priority),
                used=first.used,
                kind=first.kind if same else "summary",
                depends=set(first.depends) if same else set(),
                verbatim=set(first.verbatim) if same else set(),
                pairs=set(first.pairs) if same else set(),
                prefix=first.prefix and same,
                open=first.open and same,
                pinned=any(window.live[c].pinned for c in replacement["covers"])
                or replacement["span_id"] in window.waiting,
            )
        )
        window.waiting.discard(replacement["span_id"])
        window.unsigned.add(replacement["span_id"])
        window.lineage[replacement["span_id"]] = set(replacement["covers"])
        stand_in |= {c: (replacement["span_id"], same) for c in replacement["covers"]}
    demanded = {(x, stand_in[d][0]) for x, d in window.demands if d in stand_in and stand_in[d][1]}
    leave(window, set(trial.going), trial.plan["plan_id"])
    window.demands |= demanded
    window.live |= {span.span_id: span for span in born}
    for span in window.live.values():
        span.depends = {stand_in[d][0] if d in stand_in else d for d in span.depends}
        span.pairs = {stand_in[p][0] if p in stand_in and stand_in[p][1] else p for p in span.pairs}
