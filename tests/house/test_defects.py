"""A defect in any command says its type and its place, never its text: that may repeat the input."""

import subprocess
import sys
from pathlib import Path

import pytest

CANARY = "c4n4ry"
DEFECT = (
    "def defect(*given, **more):\n"
    f"    raise ValueError('{CANARY}') from KeyError('{CANARY}')\n"
    "import {module}\n"
    "{module}.{name} = defect\n"
    "from plangate.cli.main import cli; cli()"
)


@pytest.mark.parametrize(
    ("module", "name", "arguments"),
    [
        ("plangate.wire.replay", "decode", ["replay", "-"]),
        ("plangate.cli.import_", "parse", ["import", "openai-chat", "--window", "w", "-"]),
        ("plangate.cli.schemas", "all_files", ["schemas", "out"]),
        ("plangate.cli.audit", "seen_line", ["audit", "verify", "-"]),
    ],
)
def test_a_defect_says_where_it_is_and_no_more(module: str, name: str, arguments: list[str], tmp_path: Path) -> None:
    program = DEFECT.format(module=module, name=name)
    command = [sys.executable, "-c", program, *arguments]
    line = f'{{"type": "{CANARY}"}}\n'
    done = subprocess.run(command, input=line, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("plangate: ValueError, a defect of ours") and " defect\n" in done.stderr
    assert CANARY not in done.stdout + done.stderr
