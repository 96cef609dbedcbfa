"""The README's commands run, its examples are lawful events, and what it links to is there."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

from plangate.core.events import Event
from plangate.wire.decode import decode

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README, re.S)


def test_json_examples_are_events() -> None:
    examples = [text for language, text in BLOCKS if language == "json"]
    assert len(examples) >= 2
    for text in examples:
        assert isinstance(decode(json.dumps(json.loads(text)).encode(), 1 << 20), Event)


def test_shell_commands_run_or_are_targets(tmp_path: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    ran = 0
    for line in "\n".join(text for language, text in BLOCKS if language == "sh").splitlines():
        words = shlex.split(line)
        if not words:
            continue
        if words[0] == "make":
            assert words[1] in targets
            continue
        assert words[0] == "plangate"
        command = [sys.executable, "-m", "plangate.cli", *words[1:]]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        ran += 1
    assert ran == 2


def test_links_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", README)
    assert links and not [link for link in links if not (ROOT / link).exists()]
