"""`plangate worker`: the gate on Kafka, in one process."""

import os
import signal
from pathlib import Path

import click

from plangate.shell.settings import SettingsError, load_settings, unknown_variables


@click.command("worker")
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="TOML file with settings.",
)
def worker(config: Path | None) -> None:
    """Decide what comes in on `window-events` until stopped by SIGTERM or SIGINT.

    Settings come from PLANGATE_ environment variables, over those in FILE, over defaults: docs/configuration.md.
    Status 0: told to stop; 69: no broker at the start; 70: an error, start again; 78: settings or topics are wrong.
    """
    from plangate.shell.logs import configure_logs, end_process, logger

    configure_logs("info", "json")
    # Until the worker listens itself there is nothing to finish.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: end_process(0, "signal", signal=signal.Signals(number).name))
    try:
        settings = load_settings(os.environ, config)
    except SettingsError as error:
        end_process(78, "the settings are wrong", detail=str(error))
    configure_logs(settings.log_level, settings.log_format)
    for name in unknown_variables(os.environ):
        logger.warning("unknown_variable", name=name)
    # Only now, so that wrong settings need no Kafka library.
    from plangate.shell import process

    process.run(settings)
