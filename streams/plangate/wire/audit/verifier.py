"""Record by record: the chains, the decisions they speak of, and what the inputs give."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import sha256

import msgspec

from ..topics import TOPICS
from .answers import Pairing
from .chain import Chain, read_link
from .findings import UNREADABLE, Finding, Head, Seen, Summary, found, is_id
from .recompute import Recomputed

CHAIN, DECISIONS, REFUSALS = "audit-log", "plan-decisions", "plan-refusals"
#: the topics of which the verifier takes every record
AUDITED = (CHAIN, DECISIONS, REFUSALS)


class _Answer(msgspec.Struct, tag_field="type"):
    """What is read of a decision; the digest covers the rest."""

    window_id: str
    decision_id: str
    reason: str | None = None


class _Accepted(_Answer, tag="plan_accepted"): ...


class _Deferred(_Answer, tag="plan_deferred"): ...


class _Refused(_Answer, tag="plan_refused"): ...


_ANSWERS = msgspec.json.Decoder(_Accepted | _Deferred | _Refused)


class Verifier:
    """Feed :meth:`take` with every record in the order of its topic, then :meth:`end`, then read :meth:`summary`.

    ``chain_only`` looks at ``audit-log`` alone and keeps one head for each window. ``allow_repeats`` is for the
    guarantee ``acknowledgements``: a record that comes again with the same bytes is counted, not found.
    """

    def __init__(
        self,
        *,
        chain_only: bool = False,
        allow_repeats: bool = False,
        heads: Iterable[Head] = (),
        recomputed: Recomputed | None = None,
    ) -> None:
        self.chain_only, self.allow_repeats, self.recomputed = chain_only, allow_repeats, recomputed
        self._chains: dict[str, Chain] = {}
        self._saved: dict[str, dict[int, str]] = {}
        for head in heads:
            self._saved.setdefault(head.window_id, {})[head.number] = head.hash
        self._decisions = Pairing("decision", CHAIN, DECISIONS, allow_repeats=allow_repeats)
        self._refusals = Pairing("refusal", DECISIONS, REFUSALS, allow_repeats=allow_repeats)
        self._counts = dict.fromkeys(("findings", *AUDITED, "unchained", "other"), 0)

    def take(self, seen: Seen | Finding) -> Iterator[Finding]:
        """One record, or the finding that a line of a file is none. Total over any bytes."""
        for finding in self._take(seen):
            self._counts["findings"] += 1
            yield finding

    def end(self) -> Iterator[Finding]:
        """After the last record: what is not there."""
        for finding in self._end():
            self._counts["findings"] += 1
            yield finding

    def heads(self) -> Iterator[Head]:
        """Each window's newest link; worth keeping where there was no finding."""
        for window_id, chain in self._chains.items():
            if chain.next.number:
                yield Head(window_id, chain.next.number - 1, chain.next.hashes[-1])

    def summary(self) -> Summary:
        counts, recomputed = self._counts, self.recomputed
        checked = ["chain"] + ["decisions"] * (not self.chain_only) + ["inputs"] * (recomputed is not None)
        return Summary(
            whole=counts["findings"] == 0 and counts[CHAIN] > 0,
            findings=counts["findings"],
            checked=checked,
            windows=len(self._chains),
            audit_records=counts[CHAIN],
            decisions=counts[DECISIONS],
            refusals=counts[REFUSALS],
            unchained_decisions=counts["unchained"],
            repeats=sum(c.repeats for c in self._chains.values()) + self._decisions.repeats + self._refusals.repeats,
            other_records=counts["other"],
            undecided_inputs=recomputed.undecided if recomputed else None,
        )

    def _take(self, seen: Seen | Finding) -> Iterator[Finding]:
        if isinstance(seen, Finding):
            yield seen
        elif seen.topic not in TOPICS:
            yield found("unknown_topic", place=seen.place)
        elif seen.topic not in AUDITED or (self.chain_only and seen.topic != CHAIN):
            self._counts["other"] += 1
        else:
            self._counts[seen.topic] += 1
            yield from self._link(seen) if seen.topic == CHAIN else self._answer(seen)
            if self.recomputed is not None:
                yield from self.recomputed.take(seen)

    def _link(self, seen: Seen) -> Iterator[Finding]:
        link = read_link(seen.value)
        if isinstance(link, str):
            yield found(link, seen.topic, seen.place)
            return
        window_id = link.window_id
        if seen.key != window_id.encode():
            yield found("key_mismatch", seen.topic, seen.place)
            return
        chain = self._chains.get(window_id)
        if chain is None:
            history: dict[int, str] | None = {} if self.allow_repeats else None
            chain = self._chains[window_id] = Chain(self._saved.pop(window_id, {}), history)
        for fault in chain.take(link):
            yield found(
                fault.kind, seen.topic, seen.place, window_id=window_id, number=link.number,
                decision_id=link.decision_id, expected=fault.expected, found=fault.found,
            )  # fmt: skip
        if not self.chain_only and link.decision_id is not None:
            yield from self._decisions.say(window_id, link.decision_id, link.digest, seen.place)

    def _answer(self, seen: Seen) -> Iterator[Finding]:
        value = seen.value or b""
        try:
            answer = _ANSWERS.decode(value)
        except UNREADABLE:
            yield found("malformed", seen.topic, seen.place)
            return
        if not is_id(answer.window_id) or seen.key != answer.window_id.encode():
            yield found("key_mismatch", seen.topic, seen.place)
            return
        facts = (answer.window_id, answer.decision_id, sha256(value).hexdigest(), seen.place)
        if seen.topic == REFUSALS:
            yield from self._refusals.give(*facts, seen.repeat)
        elif isinstance(answer, _Deferred) and answer.reason == "unknown_window":
            self._counts["unchained"] += 1  # nothing is kept of a window that nothing opened: there is no chain
        else:
            yield from self._decisions.give(*facts, seen.repeat)
            if isinstance(answer, _Refused):
                yield from self._refusals.say(*facts)

    def _end(self) -> Iterator[Finding]:
        unmet = {window_id: chain.saved for window_id, chain in self._chains.items()} | self._saved
        for window_id, saved in unmet.items():
            for number, known in saved.items():
                yield found("head_missing", CHAIN, window_id=window_id, number=number, expected=known)
        if not self.chain_only:
            yield from self._decisions.end()
            yield from self._refusals.end()
        if self.recomputed is not None:
            yield from self.recomputed.end()
