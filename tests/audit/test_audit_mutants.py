"""Breakages of the verifier, each with the attack that then goes unnoticed."""

from __future__ import annotations

from typing import Any

import pytest
from audit_sample import CHAIN, INPUTS, links, sample, verify
from test_audit_positions import HEADS, READ, WINDOWS
from test_audit_rules import edited, forged, places

from plangate.core.records import canonical
from plangate.wire.audit.answers import Pairing
from plangate.wire.audit.chain import Chain, Next
from plangate.wire.audit.findings import Seen
from plangate.wire.audit.recompute import Recomputed

SAMPLE, LINKS = list(sample()), list(links())
W1 = [n for n, window in enumerate(WINDOWS) if window == "w-1"]
LINK = next(n for n in places(CHAIN, "w-1") if READ[n]["value"]["kind"] == "decision")
NUMBER = READ[LINK]["value"]["number"]
DECISIONS = [n for n in places("plan-decisions", "w-1") if READ[n]["value"].get("reason") != "unknown_window"]
ACCEPTED = next(n for n in DECISIONS if READ[n]["value"]["type"] == "plan_accepted")
LAST = places(CHAIN, "w-1")[-1]
OTHER = edited(LINK, generation=99)
CHAIN_ONLY: dict[str, Any] = {"chain_only": True}


def swapped(lines: list[bytes], a: int, b: int) -> list[bytes]:
    return [lines[{a: b, b: a}.get(n, n)] for n in range(len(lines))]


def without(lines: list[bytes], number: int) -> list[bytes]:
    return [*lines[:number], *lines[number + 1 :]]


def alone(lines: list[bytes], number: int) -> list[bytes]:
    """One link hashed anew, those after it as they were."""
    return [*lines[:number], *forged([lines[number]], "w-1"), *lines[number + 1 :]]


def with_edit(number: int, old: bytes, new: bytes) -> list[bytes]:
    assert old in SAMPLE[number]
    return [*SAMPLE[:number], SAMPLE[number].replace(old, new), *SAMPLE[number + 1 :]]


def numbered_down(lines: list[bytes]) -> list[bytes]:
    """One of w-1's links dropped, those after it numbered down and hashed anew, but the first names what it named."""
    kept = without(lines, W1[3])
    for n in W1[4:]:
        number = W1.index(n)
        kept[n - 1] = kept[n - 1].replace(b'"number":%d,' % number, b'"number":%d,' % (number - 1))
    return forged(kept, "w-1", 3)


ATTACKS: dict[str, tuple[list[bytes], Any, dict[str, Any]]] = {
    "a byte of a link": (OTHER, None, CHAIN_ONLY),
    "one link replaced": (alone(OTHER, LINK), None, CHAIN_ONLY),
    "a link dropped and the rest renumbered": (numbered_down(LINKS), None, CHAIN_ONLY),
    "a number left out": (
        forged([text.replace(b'"number":3,', b'"number":4,') for text in LINKS[: W1[3] + 1]], "w-1"), None, CHAIN_ONLY,
    ),
    "a link doubled": ([*LINKS, LINKS[W1[2]]], None, CHAIN_ONLY),
    "a blank in a link": (with_edit(LINK, b'"kind":', b'"kind" :'), None, CHAIN_ONLY),
    "a link under another key": (
        with_edit(LAST, b'"key":"w-1"', b'"key":"w-2"'), None, CHAIN_ONLY),
    "a decision changed": (edited(ACCEPTED, retained_cost_units=1), None, {}),
    "a decision dropped": (without(SAMPLE, ACCEPTED), None, {}),
    "two decisions swapped": (swapped(SAMPLE, DECISIONS[0], ACCEPTED), None, {}),
    "a chain hashed anew": (forged(OTHER, "w-1", NUMBER), INPUTS, {}),
    "a chain hashed anew against its head": (forged(OTHER, "w-1", NUMBER), None, {"heads": HEADS}),
    "the end dropped": (without(SAMPLE, LAST), INPUTS, {}),
    "the end dropped against its head": (without(SAMPLE, LAST), None, {"heads": HEADS}),
    "another link of a number": ([*SAMPLE, *forged([OTHER[LINK]], "w-1")], None, {"allow_repeats": True}),
    "an answer once more": ([*SAMPLE, SAMPLE[ACCEPTED]], INPUTS, {}),
}  # fmt: skip


def nothing(*_: Any) -> Any:
    yield from ()


def said_is_given(self: Pairing, window_id: str, decision_id: str) -> Any:
    said, given = self._said.get((window_id, decision_id)), self._given.get((window_id, decision_id))
    if said and given:
        self._given[window_id, decision_id] = given._replace(digest=said.digest)
    yield from MATCHED(self, window_id, decision_id)


def orderless(self: Pairing, window_id: str, decision_id: str) -> Any:
    self._newest.pop(window_id, None)
    yield from MATCHED(self, window_id, decision_id)


def by_content(self: Recomputed, seen: Seen) -> Any:
    """Looks whether the inputs give the record at all."""
    for finding in TAKE(self, seen):
        if finding.finding == "not_given":
            yield finding


def hash_it_bears(link: Any) -> str:
    return link.hash


def by_number(self: Chain, link: Any, wanted: Next | None) -> bool:
    return wanted is not None and link.number == wanted.number


def by_hash(self: Chain, link: Any, wanted: Next | None) -> bool:
    return wanted is not None and link.previous_hash in wanted.hashes


def newer_only(self: Chain, link: Any) -> Any:
    return CHAIN_TAKE(self, link) if link.number >= self.next.number else iter(())


def unasked(self: Chain, link: Any) -> Any:
    self.saved.pop(link.number, None)
    yield from ()


class AnyBytes(bytes):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = bytes.__hash__


def any_form(link: Any) -> AnyBytes:
    return AnyBytes(canonical(link))


MATCHED, TAKE, CHAIN_TAKE = Pairing._matched, Recomputed.take, Chain.take
WIRE = "plangate.wire.audit"
MUTANTS: dict[str, tuple[str, Any, str]] = {
    "trusts the hash a link bears": (f"{WIRE}.chain.own_hash", hash_it_bears, "a byte of a link"),
    "skips the previous hash": (f"{WIRE}.chain.Chain._continues", by_number, "one link replaced"),
    "skips the previous hash, too": (
        f"{WIRE}.chain.Chain._continues", by_number, "a link dropped and the rest renumbered"),
    "skips the number": (f"{WIRE}.chain.Chain._continues", by_hash, "a number left out"),
    "takes an older link for a repeat": (f"{WIRE}.chain.Chain.take", newer_only, "a link doubled"),
    "takes any repeat for the same": (f"{WIRE}.chain.Chain.take", newer_only, "another link of a number"),
    "takes any form of a link": (f"{WIRE}.chain.canonical", any_form, "a blank in a link"),
    "skips saved heads": (f"{WIRE}.chain.Chain._saved", unasked, "a chain hashed anew against its head"),
    "skips the digest": (f"{WIRE}.answers.Pairing._matched", said_is_given, "a decision changed"),
    "skips what is missing": (f"{WIRE}.answers.Pairing.end", nothing, "a decision dropped"),
    "skips the order of decisions": (f"{WIRE}.answers.Pairing._matched", orderless, "two decisions swapped"),
    "skips the end of what the inputs give": (f"{WIRE}.recompute.Recomputed.end", nothing, "the end dropped"),
    "skips heads that were not met": (f"{WIRE}.verifier.Verifier._end", nothing, "the end dropped against its head"),
    "asks whether inputs give it, not how often": (
        f"{WIRE}.recompute.Recomputed.take", by_content, "an answer once more"),
}  # fmt: skip


@pytest.mark.parametrize("name", ATTACKS)
def test_every_attack_is_found(name: str) -> None:
    lines, inputs, options = ATTACKS[name]
    assert verify(lines, inputs, **options).kinds


@pytest.mark.parametrize("name", MUTANTS)
def test_a_broken_verifier_misses_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """So each check is one that some attack needs, and each attack is one that a test would miss."""
    target, broken, attack = MUTANTS[name]
    lines, inputs, options = ATTACKS[attack]
    monkeypatch.setattr(target, broken)
    assert verify(SAMPLE, INPUTS if inputs else None).kinds == []
    assert verify(lines, inputs, **options).kinds == []


def test_no_mutant_is_idle() -> None:
    assert len(MUTANTS) >= 14 and {attack for _, _, attack in MUTANTS.values()} <= set(ATTACKS)
