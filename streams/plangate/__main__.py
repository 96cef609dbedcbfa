"""``python -m plangate``: the same as the command."""

from .cli.main import cli

cli(prog_name="plangate")
