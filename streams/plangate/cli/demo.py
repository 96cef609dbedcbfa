"""``plangate demo``: a broker, a worker, a real transcript and three proposers on one screen."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import Progress

from ..importers import Transcript, parse, turn_events
from .demo_client import Client

WINDOW, CONDENSED = "demo-claude-code", "demo-openhands"
STALE_TURNS = 10


@click.command("demo")
@click.option(
    "--transcripts",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=Path("tests/data/transcripts"),
    help="Folder of the two transcripts, in the layout of this repository.",
)
@click.option("--out", type=click.Path(path_type=Path), default=Path(".demo"), help="Where the records are written.")
def demo_command(transcripts: Path, out: Path) -> None:
    """Append a real transcript turn by turn, let three proposers prune it, and show what the gate decides and why."""
    from ..shell.embedded import embedded_broker

    out.mkdir(parents=True, exist_ok=True)
    console = Console()
    with embedded_broker() as broker, _worker(broker, out, console):
        asyncio.run(_play(broker, transcripts, out, console))


@contextmanager
def _worker(broker: str, out: Path, console: Console) -> Iterator[None]:
    """The real worker in a process of its own, until it is ready; stopped gracefully at the end."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    own = {"BROKER": broker, "GUARANTEE": "acknowledgements", "WEB_PORT": str(port), "PARTITIONS": "2"}
    environment = {**os.environ, **{f"PLANGATE_{name}": value for name, value in own.items()}}
    log = out / "worker.log"
    with log.open("wb") as stream:
        command = [sys.executable, "-m", "plangate.cli", "worker"]
        worker = subprocess.Popen(command, env=environment, stdout=stream, stderr=subprocess.STDOUT)
        try:
            with console.status("embedded broker is up; the worker joins its group and recovers …"):
                _await_ready(worker, port, log)
            yield
        finally:
            worker.terminate()
            try:
                worker.wait(20)
            except subprocess.TimeoutExpired:
                worker.kill()


def _await_ready(worker: subprocess.Popen[bytes], port: int, log: Path) -> None:
    for _ in range(600):
        if worker.poll() is not None:
            raise click.ClickException(f"the worker ended with status {worker.returncode}; see {log}")
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/ready", timeout=2).close()
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise click.ClickException(f"the worker was not ready in a minute; see {log}")


def _read(folder: Path, format_: str, name: str) -> Transcript:
    return parse(format_, gzip.decompress((folder / format_ / name).read_bytes()))


async def _play(broker: str, transcripts: Path, out: Path, console: Console) -> None:
    long = _read(transcripts, "claude-code", "cc-v1.0.51-long-paste.jsonl.gz")
    condensed = _read(transcripts, "openhands-v0", "oh-v0-297-events-condensation.json.gz")
    records = out / "decisions.jsonl"
    async with Client(broker, records) as client:
        await _proposers(client, long, console)
        await _condensation(client, condensed, console)
        seen = client.decided
    console.print(
        f"\n{seen} decisions; every output record is in [bold]{records}[/], the worker's log in {out}/worker.log"
    )


async def _append(client: Client, transcript: Transcript, window: str, console: Console) -> int:
    """All turns of the first conversation; gives the generation ``STALE_TURNS`` turns before its end."""
    await client.send({"type": "window_opened", "window_id": window})
    turns = transcript.conversations[0].turns
    stale = 0
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task(f"appending {len(turns)} turns", total=len(turns))
        for number, turn in enumerate(turns):
            for event in turn_events(transcript, turn, window):
                await client.send(event)
            if number == len(turns) - STALE_TURNS:
                stale = (await client.settled(window))["generation"]
            progress.advance(task)
    return stale


def _cut_inside_a_pair(spans: dict[str, dict[str, Any]], share: float) -> list[str]:
    """The oldest spans up to a share of the cost, cut where a count falls: between a call and its result."""
    ids, target, cost, cut = list(spans), share * sum(s["cost_units"] for s in spans.values()), 0, 0
    for cut, key in enumerate(ids):
        partners = set(spans[key].get("pairs_with") or ())
        if cost >= target and partners & set(ids[:cut]):
            break
        cost += spans[key]["cost_units"]
    return ids[:cut]


async def _proposers(client: Client, transcript: Transcript, console: Console) -> None:
    stale = await _append(client, transcript, WINDOW, console)
    status = await client.settled(WINDOW)
    spans = client.live[WINDOW]
    console.rule("[bold]A Claude Code transcript, and three who want it shorter")
    console.print(
        f"{status['live_spans']} spans, {status['cost_units']} cost units, generation {status['generation']}\n"
    )
    old = _cut_inside_a_pair(spans, 0.5)
    evict = [{"span_id": k, "relevance": 0.1, "disposition": "evict", "cited_dependencies": []} for k in old]
    console.print(f"[bold]1 worked on a stale window[/]: plans {STALE_TURNS} turns ago, proposes now")
    _show(console, await client.propose(WINDOW, "stale", stale, evict))
    console.print(f"[bold]2 trims the oldest {len(old)} spans[/], as a cut by count does: half the window goes")
    refusal = await client.propose(WINDOW, "trim-oldest", status["generation"], evict)
    _show(console, refusal)
    retain = set((refusal.get("resolution") or {}).get("retain", ()))
    kept = [entry for entry in evict if entry["span_id"] not in retain]
    console.print(f"[bold]3 takes the refusal's resolution[/]: the same plan, but {len(retain)} span(s) stay")
    _show(console, await client.propose(WINDOW, "trim-resolved", status["generation"], kept))


async def _condensation(client: Client, transcript: Transcript, console: Console) -> None:
    console.rule("[bold]Two evictions that a real program made (OpenHands), put to the gate first")
    await client.send({"type": "window_opened", "window_id": CONDENSED})
    for turn in transcript.conversations[0].turns:
        if not turn.removed:
            for event in turn_events(transcript, turn, CONDENSED):
                await client.send(event)
            continue
        status = await client.settled(CONDENSED)
        summary = turn.spans[0]
        entries = [
            {"span_id": k, "relevance": 0.1, "disposition": "compress", "cited_dependencies": []} for k in turn.removed
        ]
        swap = {"span_id": summary.span_id, "covers": list(turn.removed), "cost_units": summary.cost_units}
        console.print(
            f"[bold]forget {len(turn.removed)} events[/] ({turn.removed[0]} to {turn.removed[-1]}) for one summary"
        )
        _show(console, await client.propose(CONDENSED, summary.span_id, status["generation"], entries, [swap]))


def _show(console: Console, decision: dict[str, Any]) -> None:
    kind = decision["type"].removeprefix("plan_")
    color = {"accepted": "green", "deferred": "yellow", "refused": "red"}[kind]
    if kind == "accepted":
        gone = len(decision["evicted_ids"]) + sum(len(c["covers"]) for c in decision["compressed"])
        why = f"{gone} spans go, {decision['retained_cost_units']} units stay, generation {decision['new_generation']}"
    elif kind == "deferred":
        plan, live = decision["plan_generation"], decision["live_generation"]
        why = f"{decision['reason']}: plan {plan}, live {live}; run it again"
    else:
        why = ", ".join(decision["reasons"])
        for orphan in decision["orphans"][:2]:
            lost = ", ".join(f"{b['span_id']} ({b['via']}, {b['state']})" for b in orphan["broken"])
            why += f"\n             {orphan['span_id']} would lose {lost}"
        if resolution := decision["resolution"]:
            why += f"\n             resolution: retain {json.dumps(resolution['retain'][:3])}"
    console.print(f"  [{color}]{kind.upper():9}[/] {why}\n", highlight=False, soft_wrap=True)
