"""A window of 200,000 spans flooded with plans, in a process with a memory ceiling. Prints what it took, as JSON.

python tests/hostile/hot_window.py SPANS PLANS MEBIBYTES
"""

from __future__ import annotations

import json
import resource
import sys
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "wire"))

from lines_run import lines
from wirekit import Bench, Json, raw

OTHERS = [f"other-{i}" for i in range(5)]


def peak_mebibytes() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used / 2**20 if sys.platform == "darwin" else used / 2**10


def feed(bench: Bench, event: Json) -> list[Any]:
    return [json.loads(out.value) for out in bench.feed(raw(event), (), event["window_id"].encode())]


def appended(window: str, start: int, end: int) -> Json:
    """All spans depend on the first, so an answer to whoever evicts it names every one."""
    spans = [
        {"span_id": f"span-{i:06}-{'x' * 12}", "cost_units": 1, "depends_on": [f"span-000000-{'x' * 12}"] if i else []}
        for i in range(start, end)
    ]
    return {"type": "span_appended", "window_id": window, "spans": spans}


def plan(window: str, plan_id: str, generation: int) -> Json:
    entry = {"span_id": f"span-000000-{'x' * 12}", "relevance": 0.1, "disposition": "evict"}
    return {"type": "plan_proposed", "window_id": window, "plan_id": plan_id, "window_generation": generation,
            "entries": [entry]}  # fmt: skip


def main(spans: int, plans: int, ceiling: int) -> None:
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (ceiling * 2**20, ceiling * 2**20))
    bench = Bench()
    for window in OTHERS:
        feed(bench, appended(window, 0, 10))
    before = lines(lambda: [feed(bench, plan(window, "before", 1)) for window in OTHERS])
    for start in range(0, spans, 1_000):
        bench.feed(raw(appended("hot", start, start + 1_000)), (), b"hot")
    flood: Counter[str] = Counter()
    others: Counter[str] = Counter()
    longest = 0
    for number in range(plans):
        outs = bench.feed(raw(plan("hot", f"p{number}", spans // 1_000)), (), b"hot")
        decision = json.loads(outs[0].value)
        longest = max(longest, *(len(out.value) for out in outs))
        flood[" ".join(decision["reasons"])] += 1
        if number % 50 == 0:
            for window in OTHERS:
                others[" ".join(feed(bench, plan(window, f"q{number}", 1))[0]["reasons"])] += 1
    after = lines(lambda: [feed(bench, plan(window, "after", 1)) for window in OTHERS])
    print(json.dumps({"peak": peak_mebibytes(), "flood": flood, "others": others, "longest": longest,
                      "live": len(bench.windows["hot"].spans), "work": [before, after]}))  # fmt: skip


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
