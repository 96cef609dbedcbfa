"""`plangate load`: simulated agents and proposers against a cluster where workers run; writes a report."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
from pathlib import Path
from secrets import token_hex
from typing import Any

import click

from plangate.load.scripts import ScriptError, read_scripts
from plangate.shell.settings import Settings, SettingsError, load_settings

_ROOM = click.FloatRange(min=0, min_open=True)


@click.command("load")
@click.argument("transcripts", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--config", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="TOML file, as a worker's."
)
@click.option("--rate", type=_ROOM, default=100.0, show_default=True, help="Records a second to start with.")
@click.option("--max-rate", type=click.FloatRange(min=1), default=5000.0, show_default=True, help="Hard ceiling.")
@click.option("--ramp", type=click.FloatRange(min=1), default=1.0, help="Factor by which each step raises the rate.")
@click.option("--ramp-step", type=_ROOM, default=15.0, show_default=True, help="Seconds of a step.")
@click.option("--duration", type=_ROOM, default=60.0, show_default=True, help="Seconds.")
@click.option("--stop-after", type=click.IntRange(min=0), default=0, help="Stop after so many records; 0: don't.")
@click.option("--agents", type=click.IntRange(min=1, max=100_000), default=50, show_default=True)
@click.option("--proposers", type=click.IntRange(min=0, max=100), default=2, show_default=True, help="For each agent.")
@click.option("--plan-every", type=click.IntRange(min=1), default=6, show_default=True, help="Turns between plans.")
@click.option("--think", type=_ROOM, default=0.5, show_default=True, help="Mean seconds that a plan takes to be made.")
@click.option("--entries", type=click.IntRange(min=1, max=20_000), default=60, show_default=True, help="Of a plan.")
@click.option("--resend", type=click.FloatRange(0, 1), default=0.01, show_default=True, help="Share sent twice.")
@click.option(
    "--drain", type=click.FloatRange(min=0), default=30.0, show_default=True, help="Seconds for last answers."
)
@click.option(
    "--worker", "workers", multiple=True, metavar="HOST[:PORT]", help="Scrape /metrics; all of its addresses."
)
@click.option("--notes", type=click.Path(dir_okay=False, path_type=Path), help="JSON lines to take into the report.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("load-report"), show_default=True)
@click.option("--seed", type=int, default=1, show_default=True)
def load_command(
    transcripts: tuple[Path, ...], config: Path | None, notes: Path | None, out: Path, **given: Any
) -> None:
    """Play TRANSCRIPTS from many simulated agents, with proposers that prune their windows, and check every answer.

    TRANSCRIPTS are files or folders; a file's folder is named for its format (claude-code, …). Kafka settings are
    the worker's own (PLANGATE_BROKER, PLANGATE_TOPIC_PREFIX, …). Windows are new ones, named load-…; use a topic prefix
    of its own where others must not see them. Ctrl-C ends in good order, with the report.

    Status 0: every acknowledged proposal was answered, once in content; 1: not so; 2: wrong call; 69: no broker or no
    topics; 78: settings are wrong.
    """
    try:
        settings = load_settings(os.environ, config)
    except SettingsError as error:
        click.echo(f"Error: {error}", err=True)
        raise SystemExit(78) from None
    try:
        scripts = read_scripts(transcripts)
    except ScriptError as error:
        raise click.UsageError(str(error)) from None
    from plangate.load.page import page
    from plangate.load.report import read_notes, report

    run = asyncio.run(_load(settings, scripts, given))
    doc = report(run, {**given, "transcripts": len(scripts)}, read_notes(notes))
    out.mkdir(parents=True, exist_ok=True)
    (out / "report.json").write_text(json.dumps(doc, separators=(",", ":")) + "\n")
    (out / "report.html").write_text(page(doc))
    summary = {name: doc[name] for name in ("ended", "throughput", "latency_ms", "outcomes", "reasons", "lag", "check")}
    click.echo(json.dumps(summary, indent=2))
    click.echo(f"Report: {out}/report.html and {out}/report.json", err=True)
    raise SystemExit(0 if doc["check"]["passed"] else 1)


async def _load(settings: Settings, scripts: Any, given: dict[str, Any]) -> Any:
    from plangate.load.bus import Bus, BusError
    from plangate.load.fleet import Fleet, Options
    from plangate.load.run import Course, Run

    # A broker that restarts under load is no error here; what it costs is in the report.
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    names = ("agents", "proposers", "plan_every", "think", "entries", "resend", "seed")
    fleet = Fleet(scripts, Options(run=token_hex(3), **{name: given[name] for name in names}))
    course = Course(
        rate=given["rate"],
        ceiling=given["max_rate"],
        seconds=given["duration"],
        records=given["stop_after"],
        ramp_factor=given["ramp"],
        ramp_step=given["ramp_step"],
        drain=given["drain"],
        sample=max(1.0, given["duration"] / 300),
        workers=given["workers"],
    )
    bus = Bus(settings)
    try:
        await bus.start()
    except BusError as error:
        click.echo(f"Error: {error}", err=True)
        raise SystemExit(69) from None
    run = Run(bus, fleet, course, _tell)
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, run.stop, "told to stop")
    try:
        await run.go()
    finally:
        await bus.stop()
    return run


def _tell(sample: Any) -> None:
    p50, _, p99, _ = sample.latency or (0, 0, 0, 0)
    click.echo(
        f"{sample.at:7.1f} s  sent {sample.sent:8.1f}/s  decided {sample.answered:7.1f}/s  "
        f"p50 {p50 * 1000:6.1f} ms  p99 {p99 * 1000:7.1f} ms  lag {'?' if sample.lag is None else sample.lag}",
        err=True,
    )
