"""Every limit one below, at, and one above: lawful, lawful, and a structured answer (contract sections 7 and 8)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from wirekit import Bench, Json, alerts, raw

from plangate.core.policy import Limits, Policy
from plangate.wire.engine import Engine

SPAN = {"span_id": "a", "cost_units": 1}


def appended(**fields: Any) -> Json:
    return {"type": "span_appended", "window_id": "w", "spans": [SPAN | fields]}


def proposed(entries: list[Json], **fields: Any) -> Json:
    return {
        "type": "plan_proposed",
        "window_id": "w",
        "plan_id": "p",
        "window_generation": 0,
        "entries": entries,
        **fields,
    }


def entry(number: int, **fields: Any) -> Json:
    return {"span_id": f"s{number}", "relevance": 0.5, "disposition": "keep", **fields}


def ids(n: int) -> list[str]:
    return [f"d{i}" for i in range(n)]


def wide(size: int) -> str:
    """An id of so many bytes, of characters that have two each."""
    return "\u00e9" * (size // 2) + "x" * (size % 2)


#: the limit -> events that use n of it
EVENTS: dict[tuple[str, str], Callable[[int], Json]] = {
    ("id_bytes", "span"): lambda n: appended(span_id=wide(n)),
    ("id_bytes", "edge"): lambda n: appended(depends_on=[wide(n)]),
    ("spans_per_event", "append"): lambda n: {
        "type": "span_appended", "window_id": "w", "spans": [SPAN | {"span_id": i} for i in ids(n)]
    },
    ("spans_per_event", "resync"): lambda n: {
        "type": "window_resynced", "window_id": "w", "spans": [SPAN | {"span_id": i} for i in ids(n)]
    },
    **{
        ("dependencies", name): lambda n, name=name: appended(**{name: ids(n)})
        for name in ("depends_on", "needs_verbatim", "required_by", "pairs_with", "closes")
    },
    ("entries_per_plan", "ids of a removal"): lambda n: {
        "type": "spans_removed", "window_id": "w", "span_ids": ids(n)
    },
    ("integer", "priority"): lambda n: appended(priority=n),
    ("integer", "negative priority"): lambda n: appended(priority=-n),
    ("integer", "cost"): lambda n: appended(cost_units=n),
    ("integer", "order"): lambda n: {"type": "spans_used", "window_id": "w", "span_ids": ["a"], "order": n},
}  # fmt: skip
PLANS: dict[tuple[str, str], Callable[[int], Json]] = {
    ("entries_per_plan", "entries"): lambda n: proposed([entry(i) for i in range(n)]),
    ("entries_per_plan", "replacements"): lambda n: proposed(
        [], replacements=[{"span_id": f"r{i}", "covers": [f"s{i}"], "cost_units": 1} for i in range(n)]
    ),
    ("entries_per_plan", "covers"): lambda n: proposed(
        [], replacements=[{"span_id": "r", "covers": ids(n), "cost_units": 1}]
    ),
    ("dependencies", "citations"): lambda n: proposed([entry(0, cited_dependencies=ids(n))]),
    ("id_bytes", "entry"): lambda n: proposed([entry(0) | {"span_id": wide(n)}]),
    ("integer", "budget"): lambda n: proposed([], budget_units=n),
}
LOWERED = {"id_bytes": 40, "spans_per_event": 7, "dependencies": 3, "entries_per_plan": 9, "integer": 1_000}


def bench(limit: str, lowered: bool) -> tuple[Bench, int]:
    limits = Limits(**{limit: LOWERED[limit]}) if lowered else Limits()
    return Bench(Engine(Policy(limits=limits))), getattr(limits, limit)


@pytest.mark.parametrize("over", [-1, 0, 1])
@pytest.mark.parametrize("lowered", [False, True], ids=["the contract's", "lowered"])
@pytest.mark.parametrize(("limit", "where"), EVENTS)
def test_an_event_is_applied_up_to_the_limit(limit: str, where: str, lowered: bool, over: int) -> None:
    made, most = bench(limit, lowered)
    event = EVENTS[limit, where](most + over)
    made.send({"type": "window_opened", "window_id": "w"})
    told = made.send(event)
    letters = [record for record in told if "reason" in record and "size_bytes" in record]
    assert len(letters) == (over > 0), told
    assert (made.windows["w"].head.generation == 0) == (over > 0 or event["type"] in ("spans_removed", "spans_used"))
    for letter in letters:
        assert letter["reason"] in ("over_limit", "invalid_field")
        assert letter["path"]


@pytest.mark.parametrize("over", [-1, 0, 1])
@pytest.mark.parametrize("lowered", [False, True], ids=["the contract's", "lowered"])
@pytest.mark.parametrize(("limit", "where"), PLANS)
def test_a_plan_is_judged_up_to_the_limit(limit: str, where: str, lowered: bool, over: int) -> None:
    made, most = bench(limit, lowered)
    made.send({"type": "window_opened", "window_id": "w"})
    decision = made.send(PLANS[limit, where](most + over))[0]
    assert decision["type"] == ("plan_refused" if over > 0 else decision["type"])
    assert (decision.get("reasons") == ["invalid_plan"]) == bool(decision.get("invalid_paths")) == (over > 0)


@pytest.mark.parametrize("over", [-1, 0, 1])
def test_a_record_has_eight_mebibytes(over: int) -> None:
    made, most = Bench(), Limits().record_bytes
    text = raw(appended())
    told = [msgspec.json.decode(out.value) for out in made.feed(text + b" " * (most + over - len(text)))]
    assert [record["reason"] for record in told if "size_bytes" in record] == ["too_large"] * (over > 0)
    assert ("w" in made.windows) == (over <= 0)


@pytest.mark.parametrize("over", [-1, 0, 1])
def test_a_window_holds_so_many_live_spans(over: int) -> None:
    made = Bench(Engine(Policy(limits=Limits(live_spans=5))))
    told = made.send({"type": "span_appended", "window_id": "w",
                      "spans": [SPAN | {"span_id": i} for i in ids(5 + over)]})  # fmt: skip
    assert alerts(told) == ["limit_exceeded"] * (over > 0)
    if over <= 0:
        told = made.send({"type": "span_appended", "window_id": "w", "spans": [SPAN, SPAN | {"span_id": "b"}]})
        assert alerts(told) == ["limit_exceeded"] and len(made.windows["w"].spans) == 5 + over


@pytest.mark.parametrize("over", [-1, 0, 1])
def test_a_generation_takes_so_many_proposals(over: int) -> None:
    made = Bench(Engine(Policy(proposals_per_generation=4)))
    made.send({"type": "window_opened", "window_id": "w"})
    told = [made.send(proposed([]) | {"plan_id": str(i)})[0] for i in range(4 + over)]
    assert [answer["reasons"] for answer in told] == [["no_effect"]] * min(4, 4 + over) + [["too_many_proposals"]] * (
        over > 0
    )


def test_the_answers_of_a_generation_have_so_many_bytes() -> None:
    made = Bench(Engine(Policy(limits=Limits(answer_bytes=65_536, record_bytes=65_536))))
    made.send({"type": "span_appended", "window_id": "w", "spans": [
        SPAN | {"span_id": i, "depends_on": ["d0"]} for i in ids(200)]})  # fmt: skip
    plan = proposed([entry(0) | {"span_id": "d0", "disposition": "evict"}], window_generation=1)
    told = [made.send(plan | {"plan_id": str(i)})[0] for i in range(20)]
    size, before = 0, 0
    for answer, held in zip(told, made.windows["w"].decisions.values(), strict=True):
        assert (answer["reasons"] == ["too_many_proposals"]) == (size >= 65_536)
        before += size < 65_536
        size += len(held.value)
    assert 1 < before < 20
    assert made.send(plan | {"plan_id": "0"})[0] == told[0]  # what was decided stays remembered
    made.send(appended(span_id="new"))
    assert made.send(plan | {"plan_id": "later", "window_generation": 2})[0]["reasons"] == ["orphans"]


@pytest.mark.parametrize("over", [-1, 0, 1])
def test_so_many_event_ids_are_remembered(over: int) -> None:
    made = Bench(Engine(Policy(limits=Limits(event_ids_remembered=3))))
    for i in range(3 + over):
        made.send(appended(span_id=f"s{i}") | {"event_id": f"e{i}"})
    before = made.windows["w"].head.generation
    made.send(appended(span_id="again") | {"event_id": "e0"})
    assert made.windows["w"].head.generation == before + (over > 0)


@pytest.mark.parametrize("over", [-1, 0, 1])
def test_so_many_artifacts_are_remembered(over: int) -> None:
    made = Bench(Engine(Policy(limits=Limits(artifacts_remembered=3))))

    def report(artifact: str, component: str) -> list[Json]:
        return made.send({"type": "cost_reported", "window_id": "w", "artifact_id": artifact, "component": component,
                          "method": "m", "input_version": "1", "scope": "s", "units": "u", "value": 1})  # fmt: skip

    for i in range(3 + over):
        report(f"a{i}", "one")
    compared = [record for record in report("a0", "two") if record["type"] == "accounting_compared"]
    assert len(compared) == (over <= 0)


@pytest.mark.parametrize("over", [-1, 0, 1])
def test_so_many_escalations_stay_open(over: int) -> None:
    made = Bench(Engine(Policy(limits=Limits(open_escalations=3))))
    made.send(appended())
    for i in range(3 + over):
        status = made.send(proposed([]) | {"plan_id": str(i), "window_generation": 1})[-1]
    assert status["type"] == "window_status" and status["open_escalation_count"] == min(3, 3 + over)


def test_each_limit_is_tried() -> None:
    tried = {limit for limit, _ in (*EVENTS, *PLANS)}
    others = {"live_spans", "record_bytes", "event_ids_remembered", "artifacts_remembered", "open_escalations"}
    others.add("answer_bytes")
    assert tried | others == set(Limits.__struct_fields__)
