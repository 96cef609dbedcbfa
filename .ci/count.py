"""How many tests ran, by tier. Status 1 if a tier ran none, or any test was skipped or failed."""

import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path


def main(paths: list[str]) -> int:
    total = {"passed": 0, "failed": 0, "skipped": 0}
    status = 0
    for path in map(Path, paths):
        if not path.exists():
            print(f"{path.stem}: DID NOT RUN")
            status = 1
            continue
        suites = list(ElementTree.parse(path).getroot().iter("testsuite"))
        count = {
            name: sum(int(suite.get(name, 0)) for suite in suites)
            for name in ("tests", "failures", "errors", "skipped")
        }
        failed = count["failures"] + count["errors"]
        passed = count["tests"] - failed - count["skipped"]
        print(f"{path.stem}: {passed} passed, {failed} failed, {count['skipped']} skipped")
        for case in ElementTree.parse(path).getroot().iter("testcase"):
            for skip in case.iter("skipped"):
                print(f"  SKIPPED {case.get('classname')}::{case.get('name')}: {skip.get('message')}")
        total["passed"] += passed
        total["failed"] += failed
        total["skipped"] += count["skipped"]
        if not passed or failed or count["skipped"]:
            status = 1
    print(f"{total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
