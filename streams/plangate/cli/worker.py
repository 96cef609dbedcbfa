"""`plangate worker`: the gate on Kafka, in one process."""

import os
import signal
from pathlib import Path

import click

from plangate.shell.settings import SettingsError, load_settings, unknown_variables


@click.command("worker")
@click.option(
    "--config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="TOML file with settings.",
)
def worker(config: Path | None) -> None:
    """Decide what comes in on `window-events` until stopped by SIGTERM or SIGINT.

    Settings come from PLANGATE_ environment variables, over those in FILE, over defaults: docs/configuration.md.
    Status 0: told to stop; 69: no broker at the start; 70: an error, start again; 78: settings or topics are wrong.
    """
    try:
        settings = load_settings(os.environ, config)
    except SettingsError as error:
        click.echo(f"Error: {error}", err=True)
        raise SystemExit(78) from None
    # Until the worker listens itself there is nothing to finish.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    # Only now, so that `plangate --help` and wrong settings need no Kafka library.
    from plangate.shell import process
    from plangate.shell.logs import configure_logs, logger

    configure_logs(settings.log_level, settings.log_format)
    for name in unknown_variables(os.environ):
        logger.warning("unknown_variable", name=name)
    process.run(settings)
