"""Defects that the simulation found in the product, each kept as the smallest case that showed it."""

from typing import Any

import pytest
from wirekit import Bench, alerts

from plangate.wire.state import apply_patch, take_patch


@pytest.mark.parametrize("recovered", [False, True])
def test_a_span_that_a_resync_brings_back_is_not_bound_by_what_left(recovered: bool) -> None:
    """Seed 12: a worker that read its windows back counted a demand that had ended when its span left."""
    bench = Bench()

    def send(**event: Any) -> list[Any]:
        return bench.send({"window_id": "w", **event})

    spans = [{"span_id": name, "cost_units": 3} for name in ("a", "z")]
    send(type="span_appended", spans=[*spans, {"span_id": "b", "cost_units": 3, "required_by": ["a"]}])
    send(type="spans_removed", span_ids=["b"])
    send(type="spans_removed", span_ids=["a"])
    send(type="window_resynced", spans=spans)
    if recovered:
        bench.windows["w"] = apply_patch(None, take_patch(bench.windows["w"], full=True), bench.engine.policy)
    entries = [{"span_id": "z", "relevance": 0.1, "cited_dependencies": []}]
    [decision, *_] = send(type="plan_proposed", plan_id="p", window_generation=4, entries=entries)
    assert decision["type"] == "plan_accepted"
    assert decision["preexisting_orphans"] == []


def test_a_signed_plan_that_is_malformed_keeps_its_authority_seq() -> None:
    """Seed 2433: it was told to have none, so it counted as unsigned, and used up a place of the sequence."""
    bench = Bench()
    bench.send({"type": "window_opened", "window_id": "w", "sequence": 1})
    plan = {"type": "plan_proposed", "window_id": "w", "plan_id": "p", "entries": "all", "window_generation": 0}
    values = bench.send(plan | {"authority_seq": 1, "sequence": 2}, "oc")
    assert values[0]["reasons"] == ["invalid_plan"]
    assert alerts(values) == []
    values = bench.send({"type": "spans_used", "window_id": "w", "span_ids": [], "sequence": 3})
    assert alerts(values) == ["sequence_gap"], "the signed one was no part of the sequence"
    values = bench.send(plan | {"plan_id": "q", "authority_seq": 1}, "oc")
    assert alerts(values) == ["authority_replayed"]
