"""``python -m plangate.cli``: the same as the command."""

from .main import cli

cli(prog_name="plangate")
