"""``python -m bench [SECTION ...]``: measure, and print one table. Without sections: all of them."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path

from .report import Row, as_json, table

#: section -> module with ``run(tiny) -> list[Row]``; imported when it is wanted, since some need more than others
SECTIONS = {
    "core": "bench.core",
    "scale": "bench.scale",
    "planner": "bench.planner",
    "append": "bench.append",
    "memory": "bench.memory",
    "worker": "bench.worker",
}


def main(arguments: list[str] | None = None) -> list[Row]:
    parser = argparse.ArgumentParser(prog="make bench ARGS=...", description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=f"of: {', '.join(SECTIONS)}")
    parser.add_argument("--tiny", action="store_true", help="sizes that show only that the outputs agree")
    parser.add_argument("--json", type=Path, help="write the rows to this file too")
    given = parser.parse_args(arguments)
    if unknown := set(given.sections) - SECTIONS.keys():
        parser.error(f"no such section: {', '.join(sorted(unknown))}")
    rows: list[Row] = []
    for name in given.sections or SECTIONS:
        print(f"{name} ...", file=sys.stderr, flush=True)
        rows += import_module(SECTIONS[name]).run(given.tiny)
        if given.json:
            given.json.write_text(as_json(rows))
    print(table(rows), end="")
    return rows


if __name__ == "__main__":
    main()
