"""The live state of one window (contract section 3): spans, what left, memories, and the indexes over them.

What must survive a restart lies in ``head`` and in the :class:`~plangate.core.state.Tracked` maps, which note what
changed since the last changelog record. Everything else is derived and rebuilt. Indexes make a plan cost its own size
and the edges of what leaves, never the size of the window.
"""

from __future__ import annotations

from typing import Any

from sortedcontainers import SortedList

from .links import Links
from .policy import Policy
from .sameness import keep_as_sent
from .state import Change, Decided, Head, Left, LiveSpan, Tracked


class Window:
    """One window. Mutated only through its methods and the functions of this room; never holds content."""

    def __init__(self, window_id: str, policy: Policy) -> None:
        self.head = Head(window_id)
        self.policy = policy
        self.spans: Tracked[LiveSpan] = Tracked()
        self.left: Tracked[Left] = Tracked()
        self.decisions: Tracked[Decided] = Tracked()
        self.event_ids: Tracked[int] = Tracked()
        self.signed_event_ids: Tracked[int] = Tracked()
        self.authority: Tracked[int] = Tracked()
        self.waiting: Tracked[bool] = Tracked()
        self.approvals: Tracked[int] = Tracked()
        self.escalations: Tracked[int] = Tracked()
        self.reports: Tracked[tuple[tuple[Any, ...], ...]] = Tracked()
        self.changes: Tracked[Change] = Tracked()
        self.reset_indexes()

    def reset_indexes(self) -> None:
        self.cost = 0
        self.dependents = Links()  # d -> spans that depend on d, declared by either side
        self.bound = Links()  # r -> spans whose required_by names r
        self.paired_by = Links()  # y -> spans whose pairs_with names y
        self.unmet = Links()  # live r -> its declared dependencies that are not live
        self.prefixes = SortedList()  # (place, id) of live needs_prefix spans
        self.order: SortedList | None = None  # (priority, used, id) of unpinned spans, once a planner asked
        self.lows: SortedList | None = None  # the two places of each live pair, once a replacement asked
        self.highs: SortedList | None = None
        self.blocked: dict[tuple[str, int], Any] = {}

    @property
    def last_offset(self) -> int:
        """The newest input offset this state contains; -1 before the first."""
        return self.head.last_offset

    # -- edges -------------------------------------------------------------------------------------------------

    def partners(self, span: LiveSpan) -> set[str]:
        """Live protocol partners, whichever side declared it."""
        if not span.pairs_held and span.id not in self.paired_by:
            return set()
        found = {y for y in span.pairs if y in self.spans}
        found.update(y for y in self.paired_by.of(span.id) if y in self.spans)
        found.discard(span.id)
        return found

    def needs(self, span: LiveSpan) -> list[str]:
        """Everything a span declares to depend on, live or not, by either side's declaration."""
        bound = self.bound.of(span.id)
        return [*span.depends, *(d for d in bound if d not in span.depends)] if bound else list(span.depends)

    def is_verbatim(self, span: LiveSpan, needed: str) -> bool:
        return needed in span.verbatim or self.bound.has(span.id, needed)

    # -- changes to the live set -------------------------------------------------------------------------------

    def link(self, span: LiveSpan) -> None:
        """Put a span into the live set and every index. Its id must not be live."""
        key, spans = span.id, self.spans
        spans[key] = span
        self.cost += span.cost
        self.blocked.clear()
        if span.depends_held:
            span.depends = depends = self.known(span.depends)
            for d in depends:
                self.dependents.add(d, key)
                if d not in spans:
                    self.unmet.add(key, d)
        if key in self.bound:
            for d in self.bound.of(key):
                if d not in spans:
                    self.unmet.add(key, d)
        for r in span.required:
            self.dependents.add(key, r)
            self.bound.add(r, key)
        if key in self.dependents:
            for r in self.dependents.of(key):
                self.unmet.discard(r, key)
        if span.pairs_held:
            span.pairs = pairs = self.known(span.pairs)
            for y in pairs:
                self.paired_by.add(y, key)
        if span.prefix:
            self.prefixes.add((span.place, key))
        if self.order is not None and not span.pinned:
            self.order.add((span.priority, span.used, key))
        if self.lows is not None:
            self._pair_places(span, add=True)

    def known(self, ids: tuple[str, ...]) -> tuple[str, ...]:
        """The same ids; those that are live as the very objects that the live spans hold: one text, not two."""
        spans = self.spans
        return tuple([spans[i].id if i in spans else i for i in ids])

    def unlink(self, span: LiveSpan, *, keep_required: bool = False) -> None:
        """Take a span out of the live set. With ``keep_required`` what required it still depends on it, unmet."""
        key = span.id
        if self.lows is not None:
            self._pair_places(span, add=False)
        del self.spans[key]
        self.cost -= span.cost
        self.blocked.clear()
        for d in span.depends:
            if not self.bound.has(key, d):
                self.dependents.discard(d, key)
        if not keep_required:
            for r in span.required:
                self.bound.discard(r, key)
                held = self.spans.get(r)
                if held is None or key not in held.depends:
                    self.dependents.discard(key, r)
                    self.unmet.discard(r, key)
        self.unmet.drop(key)
        for r in self.dependents.of(key):
            if r in self.spans:
                self.unmet.add(r, key)
        for y in span.pairs:
            self.paired_by.discard(y, key)
        if span.prefix:
            self.prefixes.remove((span.place, key))
        if self.order is not None and not span.pinned:
            self.order.remove((span.priority, span.used, key))

    def leave(self, span: LiveSpan, by: str, *, keep_required: bool = False) -> None:
        """A span leaves for good: remembered by its id, for reuse and lineage (contract section 3)."""
        self.unlink(span, keep_required=keep_required)
        kept = tuple(r for r in span.required if r in self.spans) if keep_required else ()
        self.left[span.id] = Left(by, span.signed, span.derived if span.signed else (), kept)
        self._unbind(span.id)

    def _unbind(self, key: str) -> None:
        """Nothing requires a span that is not live, also not if a resync brings its id back (contract section 3)."""
        for d in list(self.bound.of(key)):
            self.dependents.discard(d, key)
            if (gone := self.left.get(d)) is not None and key in gone.required:
                gone.required = tuple(r for r in gone.required if r != key)
                self.left.touch(d)
        self.bound.drop(key)

    def set_pin(self, span: LiveSpan, pinned: bool) -> None:
        if span.pinned != pinned:
            if self.order is not None:
                (self.order.remove if pinned else self.order.add)((span.priority, span.used, span.id))
            span.pinned = pinned
            self.spans.touch(span.id)
            self.blocked.clear()

    def set_used(self, span: LiveSpan, order: int) -> None:
        if self.order is not None and not span.pinned:
            self.order.remove((span.priority, span.used, span.id))
            self.order.add((span.priority, order, span.id))
        span.used = order
        self.spans.touch(span.id)
        self.blocked.clear()

    def close_obligation(self, span: LiveSpan) -> None:
        keep_as_sent(span)
        span.open = False
        self.spans.touch(span.id)
        self.blocked.clear()

    # -- indexes built when first needed -----------------------------------------------------------------------

    def ranked(self) -> SortedList:
        """Unpinned spans in eviction order (contract section 5); built once, then maintained."""
        if self.order is None:
            self.order = SortedList((s.priority, s.used, s.id) for s in self.spans.values() if not s.pinned)
        return self.order

    def pair_places(self) -> tuple[SortedList, SortedList]:
        """The lower and the upper places of all live pairs; built once, then maintained."""
        if self.lows is None:
            lows, highs = [], []
            for span in self.spans.values():
                for y in self.partners(span):
                    if (other := self.spans[y].place) > span.place:
                        lows.append(span.place)
                        highs.append(other)
            self.lows, self.highs = SortedList(lows), SortedList(highs)
        return self.lows, self.highs

    def _pair_places(self, span: LiveSpan, *, add: bool) -> None:
        for y in self.partners(span):
            low, high = sorted((span.place, self.spans[y].place))
            if add:
                self.lows.add(low)
                self.highs.add(high)
            else:
                self.lows.remove(low)
                self.highs.remove(high)

    def rebuild(self) -> None:
        """Derive every index anew from the spans and what left, after recovery."""
        held = dict(self.spans)
        dirty = set(self.spans.dirty)
        self.reset_indexes()
        self.spans.clear()
        for span in held.values():
            if span.used == span.place:
                span.used = span.place  # one number in memory, not two
            self.link(span)
        for key, gone in self.left.items():
            for r in gone.required:
                if r in self.spans:
                    self.dependents.add(key, r)
                    self.bound.add(r, key)
                    if key not in self.spans:
                        self.unmet.add(r, key)
        for change in self.changes.values():
            change.span_ids = self.known(change.span_ids)
        self.spans.dirty = dirty
