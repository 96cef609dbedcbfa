"""``plangate replay FILE`` (contract section 9)."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import BinaryIO

import click

from ..wire.engine import DEFAULT_REDACTION_KEY
from ..wire.policy import Policy, PolicyError, load_policy
from ..wire.replay import replay_lines


@click.command("replay")
@click.argument("file", type=click.File("rb"))
@click.option(
    "--policy",
    "policy_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Default policy (JSON).",
)
def replay_command(file: BinaryIO, policy_file: Path | None) -> None:
    """Decide a file of events; print every output record as one JSON line. "-" is standard input."""
    try:
        policy = load_policy(policy_file.read_bytes()) if policy_file else Policy()
    except PolicyError as error:
        raise click.ClickException(str(error)) from None
    key = os.environ.get("PLANGATE_REDACTION_KEY", "").encode() or DEFAULT_REDACTION_KEY
    out = sys.stdout.buffer
    for line in replay_lines(file, policy, key):
        out.write(line + b"\n")
    out.flush()
