"""What no tracked file may say: paths of one machine, hosts that packages come from. And lock files with hashes."""

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
# Recorded elsewhere by others, so they name whatever places they were recorded at.
RECORDED = ("tests/data/", "tests/cases/data/")
FORBIDDEN = re.compile(
    r"(?<![\w.~-])/(?:work|root|home/\w+|Users/\w+)/"
    r"|/tmp/plan\b"
    r"|pythonhosted\.org|pypi\.org|registry\.npmjs|crates\.io|repo1?\.maven|deb\.debian\.org|registry-1\.docker"
    r"|--(?:extra-)?index-url|--find-links"
)


def tracked() -> list[Path]:
    """Text files that git knows here; without git, all files outside of hidden and generated folders."""
    try:
        listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode()
        paths = [ROOT / name for name in listing.split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        paths = [p for p in ROOT.rglob("*") if not re.search(r"/(\.\w[^/]*|build|dist|[^/]*\.egg-info)/", str(p))]
    return [p for p in paths if p.is_file() and not str(p.relative_to(ROOT)).startswith(RECORDED)]


def mentions(text: str) -> list[str]:
    """Every forbidden mention in a text."""
    return FORBIDDEN.findall(text)


def test_no_file_names_a_machine_path_or_a_registry() -> None:
    found = {}
    for path in tracked():
        if path == Path(__file__):
            continue
        name = str(path.relative_to(ROOT))
        if hits := mentions(path.read_bytes().decode("utf-8", "replace")):
            found[name] = hits
    assert found == {}


@pytest.mark.parametrize("text", ["see /work/x", "'/root/.cache'", "https://files.pythonhosted.org/a", "--index-url x"])
def test_the_check_finds_a_mention(text: str) -> None:
    assert mentions(text)


def requirements(lock: Path) -> list[str]:
    """A lock file's logical lines, without comments."""
    joined = lock.read_text().replace("\\\n", " ")
    return [line for line in joined.splitlines() if line.strip() and not line.lstrip().startswith("#")]


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_each_requirement_is_pinned_and_has_hashes(lock: Path) -> None:
    lines = requirements(lock)
    assert lines
    for line in lines:
        assert re.match(
            r"^[a-z0-9][a-z0-9._-]*(\[[a-z,]+\])?==[^\s;]+( ; [^-]+)?(\s+--hash=sha256:[0-9a-f]{64})+\s*$", line
        ), line


def test_the_locks_agree() -> None:
    versions = Counter(line.split()[0] for lock in LOCKS for line in requirements(lock))
    assert Counter(pin.split("==")[0] for pin in versions).most_common(1)[0][1] == 1


def test_test_modules_have_names_of_their_own() -> None:
    """pytest puts every test folder on the path, so two helper modules of one name would hide each other."""
    names = Counter(p.name for p in (ROOT / "tests").rglob("*.py") if p.name not in {"conftest.py", "__init__.py"})
    assert [name for name, count in names.items() if count > 1] == []
