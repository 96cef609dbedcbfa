"""The ``plangate`` command. Verbs are loaded when they are called: replay needs no Kafka library."""

from __future__ import annotations

import sys
import traceback
from importlib import import_module
from importlib.metadata import version
from types import TracebackType

import click

VERBS = {
    "replay": ("replay", "replay_command"),
    "audit": ("audit", "audit_group"),
    "import": ("import_", "import_command"),
    "worker": ("worker", "worker"),
    "load": ("load", "load_command"),
    "demo": ("demo", "demo_command"),
    "schemas": ("schemas", "schemas_command"),
}


class _Verbs(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(VERBS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in VERBS:
            return None
        module, attribute = VERBS[name]
        return getattr(import_module(f"plangate.cli.{module}"), attribute)


@click.group(cls=_Verbs)
@click.version_option(version("plangate"), prog_name="plangate")
def cli() -> None:
    """The gate between a plan to prune a context window and its commit."""
    sys.excepthook = _tell_without_text


def _tell_without_text(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Where a defect of ours showed, and its type. Its text may repeat the input (contract section 7)."""
    places = [f"  {frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(trace)]
    sys.stderr.write(
        "\n".join([f"plangate: {kind.__name__}, a defect of ours; please report it with these lines:", *places, ""])
    )
