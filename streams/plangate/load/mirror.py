"""What a runtime knows of its own window: live spans and generation, as far as decisions have been read."""

from __future__ import annotations

import msgspec

from .decision import Decision
from .scripts import Fact, Step


class Mirror(msgspec.Struct):
    """Live spans in order, those with an open obligation, and the generation (contract section 3).

    `changes` counts the changes sent so far. The gate may have accepted a plan whose decision was not read yet, so the
    mirror can be behind: that is what deferrals are for, and each tells the live generation.
    """

    live: dict[str, Fact] = msgspec.field(default_factory=dict)
    open: set[str] = msgspec.field(default_factory=set)
    generation: int = 0
    changes: int = 0

    def send(self, step: Step) -> None:
        """Count an event that is being sent."""
        gone = [span_id for span_id in step.removed if span_id in self.live]
        edited = step.edited is not None and step.edited[0] in self.live
        for span_id in gone:
            del self.live[span_id]
        self.open.difference_update(gone)
        if step.edited and edited:
            self._put(*step.edited)
        for span_id, fact, is_open in step.appended:
            self._put(span_id, fact, is_open)
        self.open.difference_update(step.closes)
        if gone or edited or step.appended:
            self.generation += 1
            self.changes += 1

    def accept(self, decision: Decision, replacement_cost: int) -> None:
        """Carry out an accepted plan: what goes leaves, a replacement stands where the first that it covers stood."""
        covered = {span_id: swap for swap in decision.compressed for span_id in swap.covers}
        evicted, after = set(decision.evicted_ids), {}
        for span_id, fact in self.live.items():
            if swap := covered.get(span_id):
                after.setdefault(swap.replacement_id, Fact(replacement_cost, "summary"))
            elif span_id not in evicted:
                after[span_id] = fact
        self.live = after
        self.open &= after.keys()

    def correct(self, live_generation: int, changes_then: int) -> None:
        """Take the generation from a decision on a plan that was sent after `changes_then` changes."""
        self.generation = live_generation + self.changes - changes_then

    def _put(self, span_id: str, fact: Fact, is_open: bool) -> None:
        self.live[span_id] = fact
        if is_open:
            self.open.add(span_id)
