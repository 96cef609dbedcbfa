"""Many faults at once, against an oracle that knows the true log: whole means the same records in the same order."""

from __future__ import annotations

from collections.abc import Iterable

from audit_sample import INPUTS, links, sample, verify
from hypothesis import given, settings
from hypothesis import strategies as st
from test_audit_positions import READ, TRACK, UNCHAINED, WINDOWS

SAMPLE, LINKS = sample(), links()
TRACK_OF = {line: track for line, track in zip(SAMPLE, TRACK, strict=True)}
FEW = settings(max_examples=250, deadline=None, derandomize=True)


def by_track(lines: Iterable[bytes]) -> dict[tuple[str, str], list[bytes]]:
    """Records by topic and window."""
    found: dict[tuple[str, str], list[bytes]] = {}
    for line in lines:
        found.setdefault(TRACK_OF[line], []).append(line)
    return found


def edits(lines: tuple[bytes, ...]) -> st.SearchStrategy[list[bytes]]:
    """The lines after up to four moves, drops and doublings, or none."""
    place = st.integers(0, len(lines) - 1)
    edit = st.tuples(st.sampled_from(["drop", "double", "move", "swap", "cut", "again"]), place, place)

    def apply(done: list[tuple[str, int, int]]) -> list[bytes]:
        out = list(lines)
        for name, a, b in done:
            if not out:
                break
            a, b = a % len(out), b % len(out)
            if name == "drop":
                del out[a]
            elif name == "double":
                out.insert(b, out[a])
            elif name == "move":
                out.insert(b, out.pop(a))
            elif name == "swap":
                out[a], out[b] = out[b], out[a]
            elif name == "cut":
                del out[max(a, len(out) - 6) :]
            else:
                out += out[a:]
        return out

    return st.lists(edit, max_size=4).map(apply)


@FEW
@given(edits(SAMPLE))
def test_with_inputs_whole_means_the_same_records(lines: list[bytes]) -> None:
    assert (verify(lines, INPUTS).kinds == []) == (by_track(lines) == by_track(SAMPLE))


@FEW
@given(edits(LINKS))
def test_a_chain_is_whole_if_each_windows_links_are_a_beginning(lines: list[bytes]) -> None:
    true = by_track(LINKS)
    beginnings = all(found == true[track][: len(found)] for track, found in by_track(lines).items())
    assert (verify(lines, chain_only=True).kinds == []) == beginnings


@FEW
@given(edits(LINKS))
def test_where_repeats_are_allowed_first_occurrences_are_a_beginning(lines: list[bytes]) -> None:
    true = by_track(LINKS)
    firsts = {track: list(dict.fromkeys(found)) for track, found in by_track(lines).items()}
    beginnings = all(found == true[track][: len(found)] for track, found in firsts.items())
    assert (verify(lines, chain_only=True, allow_repeats=True).kinds == []) == beginnings


@FEW
@given(edits(SAMPLE))
def test_without_inputs_chain_and_answers_agree(lines: list[bytes]) -> None:
    """Each window: its links a beginning, its distinct answers those that the links say, in their order."""
    chained = [line for line in lines if SAMPLE.index(line) not in UNCHAINED]
    found, true = by_track(chained), by_track(SAMPLE)
    agree = True
    for window in set(WINDOWS):
        own = found.get(("audit-log", window), [])
        agree &= own == true["audit-log", window][: len(own)]
        said = [identity(line) for line in own if identity(line)]
        given_ = list(dict.fromkeys(found.get(("plan-decisions", window), [])))
        again = list(dict.fromkeys(found.get(("plan-refusals", window), [])))
        agree &= [identity(line) for line in given_] == said
        agree &= [identity(line) for line in again] == [identity(line) for line in given_ if b'"plan_refused"' in line]
    assert (verify(lines).kinds == []) == agree


def identity(line: bytes) -> str | None:
    return READ[SAMPLE.index(line)]["value"]["decision_id"]


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from([*SAMPLE, *(line[::-1] for line in LINKS[:3])]) | st.binary(max_size=60), max_size=12))
def test_anything_at_all_is_a_report(lines: list[bytes]) -> None:
    for options in ({}, {"chain_only": True}, {"allow_repeats": True}):
        report = verify(lines, INPUTS, **options)
        assert report.summary.findings == len(report.findings)
