"""Who would lose what: the orphan analysis and the amendment rounds (contract section 4, step 6).

Breaks are collected from the side of what goes, so the cost is the plan and the edges of what leaves. Amendment takes
spans back round by round and only touches what that changes; no recursion, cycles are legal.
"""

from __future__ import annotations

from itertools import chain

from .plan import Plan, citations
from .records import Broken, Orphan
from .scorers import Scorer
from .state import LiveSpan, Swap
from .window import Window

EVIDENCE = ("declared", "cited", "verbatim")


class Analysis:
    """The state of a plan's outcome while spans are taken back. ``going`` maps each span that goes to its state."""

    def __init__(self, window: Window, plan: Plan, scorer: Scorer, threshold: float, *, leaving: bool) -> None:
        self.window, self.plan, self.scorer = window, plan, scorer
        self.threshold, self.leaving = threshold, leaving
        self.going: dict[str, LiveSpan] = {**plan.evicted, **plan.compressed}
        self.swaps: list[Swap] = list(plan.swaps)
        self.in_place = {c for swap in plan.swaps if swap.in_place for c in swap.covers if c in plan.compressed}
        self.covering = {c: swap for swap in plan.swaps for c in swap.covers}
        self.by_place = sorted((span.place, key) for key, span in self.going.items()) if window.prefixes else []
        self.breaks: dict[str, set[tuple[str, str]]] = {}
        self.citers: dict[str, list[str]] = {}
        #: kept entries that cite what goes or is not live, with all they cite: no other score can change
        self.at_risk: dict[str, dict[str, float | None]] = {}
        self._find_citers()
        dependents, paired_by = window.dependents, window.paired_by
        for key, span in self.going.items():
            if key in dependents or key in paired_by or span.pairs_held:
                self._breaks_by(key)

    def _find_citers(self) -> None:
        live, going, plan = self.window.spans, self.going, self.plan
        every = list(chain.from_iterable(filter(None, plan.cited)))
        if all(map(plan.keeps.__contains__, every)):
            return
        # What is cited with its support is no bare id, so it is among these, and looked at closely.
        lost = {c for c in every if c in going or c not in live}
        for (key, keep), items in zip(plan.keeps.items(), plan.cited, strict=True):
            if items and not lost.isdisjoint(items):
                cited = citations(keep.cited_dependencies)
                if found := [c for c in cited if c != key and (c in going or c not in live)]:
                    self.at_risk[key] = cited
                    for c in found:
                        self.citers.setdefault(c, []).append(key)
                        if c not in live or self._cited_breaks(c):
                            self.breaks.setdefault(key, set()).add((c, "cited"))

    def state(self, key: str) -> str:
        if key in self.plan.evicted:
            return "evicted"
        return "compressed" if key in self.plan.compressed else "not_live"

    def _judged(self, key: str) -> bool:
        """Retained, or compressed in place: its replacement takes the edges over."""
        return key in self.window.spans and (key not in self.going or key in self.in_place)

    def _cited_breaks(self, key: str) -> bool:
        return key in self.going and (self.leaving or key in self.plan.evicted)

    def _via(self, dependent: LiveSpan, needed: str) -> str | None:
        """How losing ``needed`` breaks the evidence of ``dependent``, if it does."""
        if needed in self.plan.evicted:
            return "declared"
        if self.window.is_verbatim(dependent, needed):
            return "verbatim"
        return "declared" if self.leaving else None

    def _breaks_by(self, key: str) -> None:
        spans = self.window.spans
        for r in self.window.dependents.of(key):
            if r != key and self._judged(r) and (via := self._via(spans[r], key)):
                self.breaks.setdefault(r, set()).add((key, via))
        if key not in self.in_place:
            for r in self.window.partners(self.going[key]):
                if self._judged(r):
                    self.breaks.setdefault(r, set()).add((key, "pair"))

    def _breaks_of(self, span: LiveSpan) -> None:
        """The breaks of a span that was just taken back; it has no citations (contract: none for evict or compress)."""
        found = set()
        for needed in self.window.needs(span):
            if needed in self.going and (via := self._via(span, needed)):
                found.add((needed, via))
        for partner in self.window.partners(span):
            if partner in self.going and partner not in self.in_place:
                found.add((partner, "pair"))
        if found:
            self.breaks[span.id] = found
        else:
            self.breaks.pop(span.id, None)

    def _take_back(self, key: str) -> None:
        span = self.going.pop(key)
        self.in_place.discard(key)
        touched = [*self.window.dependents.of(key), *self.window.partners(span), *self.citers.get(key, ())]
        for r in touched:
            held = self.breaks.get(r)
            if held is not None:
                held.difference_update([(key, via) for via in (*EVIDENCE, "pair")])
                if not held:
                    del self.breaks[r]

    def cited_going(self, key: str) -> list[str]:
        """What an entry at risk cites of the spans that go."""
        return [c for c in self.at_risk[key] if c in self.going and c != key]

    def rescored(self, key: str) -> float | None:
        """What is left of the score of an entry at risk."""
        gone, relevance = self.cited_going(key), self.plan.keeps[key].relevance
        return self.scorer.rescore(relevance, self.at_risk[key], gone) if gone else relevance

    def listed(self, r: str) -> set[tuple[str, str]]:
        """The breaks of one span that count: those resolved by re-scoring are left out."""
        found = self.breaks.get(r, set())
        evidence = [(s, via) for s, via in found if via != "pair"]
        if not evidence or any(via != "cited" or s not in self.going for s, via in evidence):
            return found
        after = self.rescored(r)
        if after is not None and after >= self.threshold:
            return found.difference(evidence)
        return found

    def prefix_break(self) -> tuple[int, str] | None:
        """The first span that goes, as (place, id)."""
        return next((item for item in self.by_place if item[1] in self.going), None)

    def orphans(self) -> list[Orphan]:
        """Every orphan with its broken edges, sorted (contract section 4, records)."""
        found: dict[str, list[Broken]] = {}
        for r in self.breaks:
            if listed := self.listed(r):
                found[r] = [Broken(s, via, self.state(s)) for s, via in listed]
        first = self.prefix_break()
        if first is not None:
            for _, r in self.window.prefixes.irange(minimum=(first[0] + 1, "")):
                if r not in self.going:
                    found.setdefault(r, []).append(Broken(first[1], "prefix", self.state(first[1])))
        return [Orphan(r, sorted(found[r])) for r in sorted(found)]

    # -- amendment ---------------------------------------------------------------------------------------------

    def amend(self) -> set[str]:
        """Take back, round by round, what goes and stands in an orphan's list. Gives what was taken back."""
        taken: set[str] = set()
        dropped: set[str] = set()
        met: set[int] = set()  # swaps whose spans were all taken back
        watched, pointer = set(self.breaks), 0
        last = next((place for place, r in reversed(self.window.prefixes) if r not in self.going), 0)
        while True:
            back: dict[str, None] = {}
            for r in watched:
                if r in self.breaks and self._judged(r):
                    back.update((s, None) for s, _ in self.listed(r) if s in self.going)
            while pointer < len(self.by_place) and self.by_place[pointer][0] < last:
                if self.by_place[pointer][1] in self.going:
                    back[self.by_place[pointer][1]] = None
                pointer += 1
            if not back:
                self.swaps = [swap for swap in self.swaps if swap.span_id not in dropped]
                return taken
            for key in list(back):
                swap = self.covering.get(key)
                if swap is not None and key in self.plan.compressed and id(swap) not in met:
                    met.add(id(swap))
                    back.update((c, None) for c in swap.covers if c in self.going)
            dropped.update(
                self.covering[key].span_id for key in back if key in self.covering and key in self.plan.compressed
            )
            watched = set()
            for key in back:
                watched.update(self.citers.get(key, ()))
                self._take_back(key)
            for key in back:
                self._breaks_of(self.window.spans[key])
                if (span := self.window.spans[key]).prefix:
                    last = max(last, span.place)
            watched.update(back)
            taken.update(back)

    def clean(self) -> bool:
        """No orphan is left: after :meth:`amend` only citations of what is not live can be."""
        return not any(self.listed(r) for r in self.breaks)
