"""The figures of the chaos runs of one test session, as a Markdown table."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from statistics import median

from chaos_rig import BATCH_SIZE, Run
from chaos_verdict import Verdict

FILE = Path("build/chaos.md")
HEAD = (
    "| faults | guarantee | took effect | answers | lost | conflicting | double accepts | out of order | changed later "
    "| repeats | inputs repeated, at most | seconds to take over: min, median, max |"
)
ROWS: list[str] = []


def settle(what: str, run: Run, faults: Counter[str], wanted: Iterable[str] = (), unmarked: int = 0) -> Verdict:
    """End the run, judge it, add its row, and assert that its faults happened and that nothing is wrong.

    Repeats: with transactions none but those of `unmarked` transactions, which the broker itself broke (see
    `FaultyKafka`), and only with such may answers be lost. Else bounded by the batches
    that were in flight when a partition was taken over.
    """
    verdict = run.finish()
    bounds = {partition: run.repeats_bound(partition) for partition in verdict.repeated_inputs}
    bound = unmarked * BATCH_SIZE if run.guarantee == "transactions" else sum(bounds.values())
    _add(what, run, faults, verdict, sum(verdict.repeated_inputs.values()), bound)
    assert sum(faults.values()) and not [name for name in wanted if not faults[name]], f"faults missing: {faults}"
    assert verdict.answers, "nothing was answered"
    assert verdict.wrong == (verdict.lost if unmarked else 0), (verdict, run.bus.prefix)
    if run.guarantee == "transactions":
        assert sum(verdict.repeated_inputs.values()) <= unmarked * BATCH_SIZE, (verdict, unmarked)
    assert all(verdict.repeated_inputs[partition] <= bound for partition, bound in bounds.items()), verdict
    return verdict


def _add(what: str, run: Run, faults: Counter[str], verdict: Verdict, repeated: int, bound: int) -> None:
    told = ", ".join(f"{count} {name}" for name, count in sorted(faults.items()))
    seconds = sorted(run.seconds)
    took = f"{seconds[0]:.1f}, {median(seconds):.1f}, {seconds[-1]:.1f}" if seconds else ""
    cells = [
        what,
        run.guarantee,
        f"{sum(faults.values())}: {told}",
        *(verdict.answers, verdict.lost, verdict.conflicting, verdict.double_accepts),
        *(verdict.out_of_order, verdict.unstable, verdict.repeats, f"{repeated} <= {bound}", took),
    ]
    ROWS.append("| " + " | ".join(map(str, cells)) + " |")


def table() -> str:
    """All rows so far; empty without any."""
    if not ROWS:
        return ""
    return "\n".join([HEAD, "|" + " --- |" * (HEAD.count("|") - 1), *ROWS]) + "\n"
