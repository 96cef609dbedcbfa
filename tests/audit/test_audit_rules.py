"""Repeats, saved heads, forgers who can compute hashes, hostile bytes, and what is kept in memory."""

from __future__ import annotations

import json
import pickle
from hashlib import sha256
from typing import Any

import msgspec
import pytest
from audit_sample import CHAIN, INPUTS, links, sample, verify
from test_audit_positions import HEADS, READ

from plangate.wire.audit import Head, Verifier, read_heads, seen_line
from plangate.wire.audit.findings import Place, Seen

SAMPLE, LINKS = sample(), links()


def line(record: dict[str, Any]) -> bytes:
    return json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode()


def forged(lines: list[bytes], window: str, since: int = 0) -> list[bytes]:
    """The same lines, with all links of a window from a number on hashed anew: what anybody can do who may write."""
    out, before = [], None
    for text in lines:
        record = json.loads(text)
        value = record["value"]
        if record["topic"] == CHAIN and record["key"] == window and value["number"] >= since:
            value |= {"previous_hash": value["previous_hash"] if before is None else before, "hash": ""}
            before = value["hash"] = sha256(line(value)).hexdigest()
            text = line(record)
        out.append(text)
    return out


def edited(at: int, /, **fields: Any) -> list[bytes]:
    """The sample with other fields in one record's value."""
    record = json.loads(SAMPLE[at])
    record["value"] |= fields
    return [*SAMPLE[:at], line(record), *SAMPLE[at + 1 :]]


def places(topic: str, window: str) -> list[int]:
    return [n for n, record in enumerate(READ) if (record["topic"], record["key"]) == (topic, window)]


@pytest.fixture
def middle() -> int:
    """A link of w-1 that says a decision, with links after it."""
    return next(n for n in places(CHAIN, "w-1") if READ[n]["value"]["kind"] == "decision")


def test_one_fault_is_told_once_and_by_hashes(middle: int) -> None:
    lines = edited(middle, generation=99)
    (finding,) = verify(lines, chain_only=True).findings
    own = json.loads(lines[middle])["value"] | {"hash": ""}
    link = READ[middle]["value"]
    assert msgspec.to_builtins(finding) == {
        "finding": "hash_mismatch", "topic": CHAIN, "line": middle + 1, "window_id": "w-1", "number": link["number"],
        "decision_id": link["decision_id"], "expected": sha256(line(own)).hexdigest(), "found": link["hash"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "kinds"),
    [
        ([*LINKS[:3], *LINKS[4:]], ["gap"]),
        ([*LINKS[:4], *LINKS[3:]], ["repeated"]),
        ([LINKS[3], LINKS[0], *LINKS[1:3], *LINKS[4:]], ["gap"]),
        ([LINKS[0].replace(b'"key":"w-1"', b'"key":"w-2"')], ["key_mismatch"]),
        ([b"{", *LINKS], ["unreadable"]),
        ([LINKS[0].replace(b"audit-log", b"audit-lag"), *LINKS[1:3]], ["unknown_topic"]),
        ([LINKS[0].replace(b'"contract_version":1', b'"contract_version":2')], ["unknown_version"]),
        ([LINKS[0].replace(b'"kind":"', b'"kind": "')], ["malformed"]),
    ],
)
def test_kinds(lines: list[bytes], kinds: list[str]) -> None:
    assert verify(lines, chain_only=True).kinds == kinds


def test_a_link_with_a_hash_of_its_own_does_not_fit_the_next(middle: int) -> None:
    number = READ[middle]["value"]["number"]
    record = json.loads(SAMPLE[middle])
    record["value"] |= {"generation": 99, "hash": ""}
    record["value"]["hash"] = sha256(line(record["value"])).hexdigest()
    report = verify([*SAMPLE[:middle], line(record), *SAMPLE[middle + 1 :]], chain_only=True)
    assert report.kinds == ["broken_link"]
    assert [finding.number for finding in report.findings] == [number + 1]


def test_a_chain_hashed_anew_is_found_by_heads_and_inputs_alone(middle: int) -> None:
    """Nothing secret is in a hash. What the chain alone can't tell, a saved head and the inputs can."""
    number = READ[middle]["value"]["number"]
    lines = forged(edited(middle, generation=99), "w-1", number)
    assert verify(lines).kinds == []
    assert verify(lines, heads=HEADS).kinds == ["head_mismatch"]
    assert set(verify(lines, INPUTS).kinds) == {"not_given", "not_there"}


def test_a_forged_decision_needs_a_forged_link(middle: int) -> None:
    number = next(n for n in places("plan-decisions", "w-1") if READ[n]["value"]["type"] == "plan_accepted")
    lines = edited(number, retained_cost_units=1)
    assert verify(lines).kinds == ["decision_changed"]
    assert verify(lines, chain_only=True).kinds == []


def test_a_refusal_is_the_decision_again() -> None:
    number = places("plan-refusals", "w-3")[0]
    assert verify(edited(number, escalate_to_turn=9)).kinds == ["refusal_changed"]
    assert verify([*SAMPLE[:number], *SAMPLE[number + 1 :]]).kinds == ["refusal_missing"]


def test_a_batch_published_again_is_lawful_where_repeats_are() -> None:
    """Of the guarantee `acknowledgements`: the end of the log comes again, any part of it, even late and torn."""
    again = [*SAMPLE[:40], *SAMPLE[20:40], *SAMPLE[30:45], *SAMPLE[40:], *SAMPLE[50:52]]
    report = verify(again, INPUTS, allow_repeats=True)
    assert report.kinds == [] and report.summary.repeats > 30
    assert set(verify(again).kinds) == {"repeated"}
    assert verify(again, INPUTS).kinds


def test_a_repeat_with_other_bytes_is_found(middle: int) -> None:
    number = READ[middle]["value"]["number"]
    other = forged([edited(middle, generation=99)[middle]], "w-1", number)
    assert verify([*SAMPLE, *other], allow_repeats=True).kinds == ["conflicting"]
    assert verify([*SAMPLE, *other], chain_only=True, allow_repeats=True).kinds == ["conflicting"]


def test_a_topic_says_which_answers_are_repeats() -> None:
    """A plan proposed again is answered with a header; without it the record was published twice."""
    answer = places("plan-decisions", "w-3")[1]
    for repeat, options, kinds in [
        (True, {}, []),
        (False, {}, ["decision_repeated"]),
        (False, {"allow_repeats": 1}, []),
    ]:
        verifier = Verifier(**options)
        for number, text in enumerate(SAMPLE, 1):
            assert not list(verifier.take(seen_line(text, number)))
        seen = seen_line(SAMPLE[answer], 99)
        assert isinstance(seen, Seen)
        assert [f.finding for f in verifier.take(seen._replace(repeat=repeat, place=Place(7, 2)))] == kinds


def test_saved_heads_let_a_log_begin_later() -> None:
    """Retention may delete what an earlier run has verified; without its heads a beginning is missing."""
    first, second = verify(LINKS[:10], chain_only=True).heads, verify(LINKS[:20], chain_only=True).heads
    gone = [head for head in second if head.window_id == "w-3"]  # nothing of it came later
    second = [head for head in second if head not in gone]
    assert verify(LINKS[20:], chain_only=True, heads=second).kinds == []
    assert verify(LINKS[20:], chain_only=True, heads=gone + second).kinds == ["head_missing"]
    assert verify(LINKS, chain_only=True, heads=gone + second + HEADS).kinds == []
    assert verify(LINKS[10:], chain_only=True, heads=first + second).kinds == []
    assert verify(LINKS[20:], chain_only=True).kinds == ["gap", "gap"]
    assert set(verify(LINKS[22:], chain_only=True, heads=second).kinds) == {"gap", "head_missing"}
    wrong = [Head(head.window_id, head.number, "0" * 64) for head in HEADS]
    assert set(verify(LINKS, chain_only=True, heads=wrong).kinds) == {"head_mismatch"}
    assert verify(LINKS, chain_only=True, heads=[Head("other", 3, "0" * 64)]).kinds == ["head_missing"]


@pytest.mark.parametrize(
    "text", [b"{", b"[]", b'{"window_id":"w","number":-1,"hash":"' + b"0" * 64 + b'"}', b"\xff", b"[" * 9999]
)
def test_heads_that_are_none(text: bytes) -> None:
    good = msgspec.json.encode(HEADS[0])
    assert read_heads([good, b"\n"]) == HEADS[:1]
    with pytest.raises(ValueError, match="^line 2 is no head$"):
        read_heads([good, text])


HOSTILE = [
    b"null", b"[]", b"{}", b"\xff\xfe", b"[" * 100_000, b'{"topic":"audit-log"}', b'"c4n4ry"', b"1e999",
    b'{"a":' * 5000,
    *(
        b'{"topic":"' + topic + b'","key":"c4n4ry","value":' + value + b"}"
        for topic in (b"audit-log", b"plan-decisions", b"plan-refusals", b"c4n4ry", b"\\ud800")
        for value in (b"null", b"{}", b"[" * 5000, b'"c4n4ry"', b'{"type":"c4n4ry"}', b'{"type":"plan_refused"}',
                      b'{"type":"plan_accepted","window_id":"c4n4ry\\u202e","decision_id":"c4n4ry"}',
                      b'{"type":"plan_accepted","window_id":"\\ud800","decision_id":"c4n4ry"}', b"\xff", b"1" * 5000)
    ),
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_lines_are_findings_and_hide_nothing(text: bytes) -> None:
    report = verify([*LINKS[:9], text, *LINKS[9:]])
    assert [f.line for f in report.findings if not f.finding.endswith(("_missing", "_unlinked"))] == [10]
    assert b"c4n4ry" not in msgspec.json.encode(report.findings)
    assert report.summary.audit_records >= len(LINKS)


@pytest.mark.parametrize("field", ["hash", "previous_hash", "digest", "decision_id", "kind", "event", "policy_version"])
def test_no_text_of_a_record_is_repeated(field: str, middle: int) -> None:
    report = verify(edited(middle, **{field: "c4n4ry"}), INPUTS)
    assert report.findings and b"c4n4ry" not in msgspec.json.encode([report.findings, report.summary])


@pytest.mark.parametrize("number", [-1, 2**53 + 1, 10**30, 1.5, True, None])
def test_numbers_that_are_none(number: Any, middle: int) -> None:
    assert "malformed" in verify(edited(middle, number=number), chain_only=True).kinds


def test_a_far_number_hides_nothing(middle: int) -> None:
    """A forged link from the future is one finding; the true ones after it still fit."""
    record = json.loads(SAMPLE[middle])
    record["value"] |= {"number": 10**9, "hash": ""}
    record["value"]["hash"] = sha256(line(record["value"])).hexdigest()
    assert verify([*SAMPLE[:middle], line(record), *SAMPLE[middle:]], chain_only=True).kinds == ["gap"]


def chain_of(length: int) -> list[bytes]:
    lines = []
    for number in range(length):
        value = json.loads(LINKS[0])["value"] | {"number": number}
        lines.append(line({"topic": CHAIN, "key": "w-1", "value": value}))
    return forged(lines, "w-1")


@pytest.mark.parametrize(("options", "grows"), [({}, False), ({"allow_repeats": True}, True)])
def test_a_head_is_kept_and_not_the_chain(options: dict[str, Any], grows: bool) -> None:
    def size(length: int) -> int:
        verifier = Verifier(chain_only=True, **options)
        for number, text in enumerate(chain_of(length), 1):
            assert not list(verifier.take(seen_line(text, number)))
        return len(pickle.dumps(verifier))

    assert (size(3000) > size(300) + 64) is grows
