"""The fuzzer as a process: ``fuzz_run.py --seconds 60``. Status 0: nothing found; else it names the finding.

``--plant`` puts a defect into the decoder, behind conditions that only events of a certain shape meet; ``--blind``
takes the mutations of events away and leaves those of bytes.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

import atheris

sys.path += [str(Path(__file__).parent), str(Path(__file__).parents[2] / "streams")]
with atheris.instrument_imports(include=["plangate"], enable_loader_override=False):
    import fuzz_target
from event_grammar import rich_events
from fuzz_mutator import mutate

from plangate.core.events import PlanProposed
from plangate.wire import decode as decoder


class Planted(RuntimeError):
    """The planted defect."""


@atheris.instrument_func
def with_a_defect(value, limit):
    """The decoder, but for valid plans that are amendable and have a replacement in place that costs less than 8."""
    event = decoder.decode(value, limit)
    if isinstance(event, PlanProposed):
        if event.amendable:
            for swap in event.replacements or ():
                if swap.in_place:
                    if swap.cost_units < 8:
                        raise Planted
    return event


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--seconds", type=int, default=60)
    options.add_argument("--runs", type=int, default=-1)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--plant", action="store_true")
    options.add_argument("--blind", action="store_true")
    given = options.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    corpus = folder / "corpus"
    corpus.mkdir()
    if given.plant:
        (corpus / "seed").write_bytes(b'{"type":"window_opened","window_id":"w"}')
    else:
        for event in rich_events():
            (corpus / event["type"]).write_bytes(fuzz_target.msgspec.json.encode(event))
    count = 0

    def one(data: bytes) -> None:
        nonlocal count
        count += 1
        try:
            if given.plant:
                for line in data.split(b"\n"):
                    with_a_defect(line, 65_536)
            else:
                fuzz_target.check(data)
        except Exception as error:
            print(f"FOUND {type(error).__name__} after {count} inputs", flush=True)
            raise

    arguments = [
        sys.argv[0], str(corpus), f"-max_total_time={given.seconds}", f"-runs={given.runs}", f"-seed={given.seed}",
        "-max_len=16384", "-len_control=0", "-mutate_depth=2", "-timeout=60",
        "-rss_limit_mb=2048", f"-artifact_prefix={folder}{os.sep}", "-print_final_stats=1",
    ]  # fmt: skip
    mutator = None if given.blind else lambda data, size, seed: mutate(data, size, seed, atheris.Mutate)
    atheris.Setup(arguments, one, **({"custom_mutator": mutator} if mutator else {}))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
