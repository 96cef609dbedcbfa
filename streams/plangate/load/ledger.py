"""The account of proposals and answers: each acknowledged one answered, and all answers to a plan alike."""

from __future__ import annotations

from array import array
from collections import Counter
from hashlib import blake2b

import msgspec

from .decision import Decision
from .fleet import Proposal


class Entry(msgspec.Struct, eq=False):
    """One plan: how often it was sent, acknowledged and answered, and the digests of its answers' bytes."""

    proposal: Proposal | None
    sent_at: float
    sent: int = 0
    acknowledged: int = 0
    answered: int = 0
    digests: list[bytes] = msgspec.field(default_factory=list)
    lapsed: bool = False


class Ledger:
    """Times in seconds of one clock that never goes back."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, str], Entry] = {}
        self.latencies = array("d")
        self.outcomes: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.foreign = 0

    def sent(self, proposal: Proposal, now: float) -> Entry:
        """A proposal goes out, or goes out again."""
        key = proposal.window_id, proposal.plan_id
        entry = self._entries.get(key) or self._entries.setdefault(key, Entry(proposal, now))
        entry.sent += 1
        return entry

    def answered(self, decision: Decision, value: bytes, now: float) -> tuple[Proposal, float] | None:
        """An answer was read. For the first one of a plan: its proposal, and the latency in seconds.

        An acceptance that lapses is answered anew, lawfully, and that is from then on the answer (contract section 4).
        """
        entry = self._entries.get((decision.window_id, decision.plan_id))
        if entry is None:
            self.foreign += 1
            return None
        digest = blake2b(value, digest_size=16).digest()
        if decision.reason == "acceptance_lapsed" and not entry.lapsed and entry.answered:
            entry.lapsed = True
            entry.digests.append(digest)
            self.reasons["deferred: acceptance_lapsed"] += 1
            return None
        entry.answered += 1
        if digest not in entry.digests:
            entry.digests.append(digest)
        if entry.answered > 1:
            return None
        latency = now - entry.sent_at
        self.latencies.append(latency)
        self.outcomes[decision.outcome] += 1
        self.reasons.update(f"{decision.outcome}: {name}" for name in decision.why)
        proposal, entry.proposal = entry.proposal, None  # a long run keeps only what the account needs
        assert proposal is not None
        return proposal, latency

    @property
    def unanswered(self) -> int:
        """Acknowledged sendings of proposals to which no answer was read."""
        return sum(max(0, entry.acknowledged - entry.answered) for entry in self._entries.values())

    @property
    def conflicting(self) -> int:
        """Plans that were answered with different bytes."""
        return sum(len(entry.digests) > 1 + entry.lapsed for entry in self._entries.values())

    def summary(self) -> dict[str, int]:
        """All counts; `repeats` are answers beyond those to each sending."""
        entries = self._entries.values()
        return {
            "plans": len(entries),
            "sent": sum(entry.sent for entry in entries),
            "acknowledged": sum(entry.acknowledged for entry in entries),
            "answers": sum(entry.answered for entry in entries),
            "resent": sum(entry.sent - 1 for entry in entries),
            "repeats": sum(max(0, entry.answered - entry.sent) for entry in entries),
            "unanswered": self.unanswered,
            "conflicting": self.conflicting,
            "lapsed": sum(entry.lapsed for entry in entries),
            "foreign": self.foreign,
        }
