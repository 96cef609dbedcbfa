"""One fault at each position of a sample log: what is found, and exactly what is not, by which means."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import combinations
from typing import Any

import pytest
from audit_sample import CHAIN, INPUTS, Tape, links, sample, verify

SAMPLE, LINKS = sample(), links()
READ = [json.loads(line) for line in SAMPLE]
TRACK = [(record["topic"], record["key"]) for record in READ]
#: lines that nothing in the log vouches for: answers where no window was, and which of two equal answers is there
UNCHAINED = {n for n, record in enumerate(READ) if record["value"].get("reason") == "unknown_window"}
TWICE = {n for n, line in enumerate(SAMPLE) if SAMPLE.count(line) > 1}
LAST = {max(n for n, track in enumerate(TRACK) if track == (CHAIN, key)) for _, key in TRACK}
WINDOWS = [json.loads(line)["key"] for line in LINKS]
LAST_LINKS = {max(n for n, key in enumerate(WINDOWS) if key == window) for window in WINDOWS}
HEADS = verify(SAMPLE).heads


def test_the_sample_is_whole_and_has_every_kind() -> None:
    assert verify(SAMPLE).findings == verify(SAMPLE, INPUTS).findings == verify(LINKS, chain_only=True).findings == []
    assert 30 <= len(LINKS) <= 40 and len(set(WINDOWS)) == 3
    chained = [record["value"] for record in READ if record["topic"] == CHAIN]
    assert {link["kind"] for link in chained} == {"decision", "authority", "host_rewrite"}
    events = {"span_appended", "span_pinned", "span_unpinned", "policy_set", "compression_approved", "span_edited"}
    assert events | {"spans_removed", "window_resynced", "plan_proposed"} == {link["event"] for link in chained}
    assert (len(UNCHAINED), len(TWICE)) == (3, 8)


def test_every_bit_of_every_byte_of_the_chain() -> None:
    assert Tape(LINKS, chain_only=True).missed_flips(range(8)) == set()


def test_a_bit_of_every_byte_of_chain_and_decisions() -> None:
    assert Tape(SAMPLE).missed_flips(range(1)) == UNCHAINED


def test_a_bit_of_every_byte_with_the_inputs() -> None:
    assert Tape(SAMPLE, INPUTS).missed_flips(range(1)) == set()


@pytest.mark.parametrize("options", [{}, {"chain_only": True}])
def test_every_newline(options: dict[str, Any]) -> None:
    """Between two records; a blank after the last one is no part of any."""
    lines = LINKS if options else SAMPLE
    tape = Tape(lines, **options)
    for number in range(len(lines) - 1):
        for bit in range(8):
            joined = lines[number] + bytes([0x0A ^ 1 << bit]) + lines[number + 1]
            assert tape.finds(number, [joined, *lines[number + 2 :]])


def missed(tape: Tape, changed: dict[Any, tuple[int, list[bytes]]]) -> set[Any]:
    return {name for name, (start, ending) in changed.items() if not tape.finds(start, ending)}


def drops(lines: tuple[bytes, ...]) -> dict[int, tuple[int, list[bytes]]]:
    return {n: (n, list(lines[n + 1 :])) for n in range(len(lines))}


def doubles(lines: tuple[bytes, ...]) -> dict[int, tuple[int, list[bytes]]]:
    return {n: (n, [lines[n], *lines[n:]]) for n in range(len(lines))}


def test_every_drop() -> None:
    assert missed(Tape(LINKS, chain_only=True), drops(LINKS)) == LAST_LINKS
    assert missed(Tape(LINKS, chain_only=True, heads=HEADS), drops(LINKS)) == set()
    # The last link of a window is missed by its decision, if it is for one; that of w-2 is, for a lapse.
    unvouched = {n for n in LAST if READ[n]["value"]["kind"] != "decision"}
    assert missed(Tape(SAMPLE), drops(SAMPLE)) == UNCHAINED | TWICE | unvouched
    assert missed(Tape(SAMPLE, heads=HEADS), drops(SAMPLE)) == UNCHAINED | TWICE
    assert missed(Tape(SAMPLE, INPUTS), drops(SAMPLE)) == set()


def test_every_doubling() -> None:
    assert missed(Tape(LINKS, chain_only=True), doubles(LINKS)) == set()
    answers = {n for n, (topic, _) in enumerate(TRACK) if topic != CHAIN}
    assert missed(Tape(SAMPLE), doubles(SAMPLE)) == answers  # a plan proposed again is answered again
    assert missed(Tape(SAMPLE, INPUTS), doubles(SAMPLE)) == set()


def test_every_doubling_far_away() -> None:
    """Each link once more at the very end."""
    changed = {n: (len(LINKS), [LINKS[n]]) for n in range(len(LINKS))}
    assert missed(Tape(LINKS, chain_only=True), changed) == set()


def track_of(order: Iterable[int], track: tuple[str, str]) -> list[bytes]:
    """The records of a window on a topic."""
    return [SAMPLE[n] for n in order if TRACK[n] == track]


def first_of(order: Iterable[int], track: tuple[str, str]) -> list[bytes]:
    """The same without those that came before: an answer may come again at any later place."""
    return list(dict.fromkeys(track_of(order, track)))


def ids(end: int, topic: str) -> set[str]:
    """Ids of the chained decisions of which a topic tells before a line."""
    told = {n: READ[n]["value"]["decision_id"] for n in range(end) if READ[n]["topic"] == topic and n not in UNCHAINED}
    return set(told.values()) - {None}


def refused(end: int) -> set[str]:
    values = [record["value"] for record in READ[:end] if record["topic"] == "plan-decisions"]
    return {value["decision_id"] for value in values if value["type"] == "plan_refused"}


def test_every_swap() -> None:
    """All pairs, near and far. Only within a window and topic is there an order that a swap could break."""
    log, inputs, count = Tape(SAMPLE), Tape(SAMPLE, INPUTS), 0
    for a, b in combinations(range(len(SAMPLE)), 2):
        order = [*range(a), b, *range(a + 1, b), a, *range(b + 1, len(SAMPLE))]
        same = all(track_of(order, track) == track_of(range(len(SAMPLE)), track) for track in (TRACK[a], TRACK[b]))
        count += not same
        ending = [SAMPLE[n] for n in order[a:]]
        assert inputs.finds(a, ending) is not same, (a, b)
        vouched = [n for n in order if n not in UNCHAINED]
        same = all(first_of(vouched, track) == first_of(sorted(vouched), track) for track in (TRACK[a], TRACK[b]))
        assert log.finds(a, ending) is not same, (a, b)
    assert count > 300


def test_cut_off_in_the_middle_of_a_record() -> None:
    """At every byte; a cut between two records is found as a drop of the last ones is."""
    tape = Tape(SAMPLE)
    assert [
        (n, end) for n, line in enumerate(SAMPLE) for end in range(1, len(line)) if not tape.finds(n, [line[:end]])
    ] == []


def test_cut_off_between_two_records() -> None:
    cuts = {n: (n, []) for n in range(1, len(SAMPLE))}
    chain = {n: (n, []) for n in range(1, len(LINKS))}
    assert missed(Tape(LINKS, chain_only=True), chain) == set(chain)  # any beginning of a chain is a chain
    assert missed(Tape(LINKS, chain_only=True, heads=HEADS), chain) == set()
    at_rest = {
        n for n in cuts if ids(n, "audit-log") == ids(n, "plan-decisions") >= ids(n, "plan-refusals") == refused(n)
    }
    assert missed(Tape(SAMPLE), cuts) == at_rest and 0 < len(at_rest) < len(cuts)
    assert missed(Tape(SAMPLE, INPUTS), cuts) == set()


@pytest.mark.parametrize("number", range(len(LINKS)))
def test_every_link_moved_to_another_window(number: int) -> None:
    for other in set(WINDOWS) - {WINDOWS[number]}:
        line = LINKS[number].replace(WINDOWS[number].encode(), other.encode())
        assert "hash_mismatch" in verify([*LINKS[:number], line, *LINKS[number + 1 :]], chain_only=True).kinds
