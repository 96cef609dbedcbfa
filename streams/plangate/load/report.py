"""The report of a run as one JSON document. Numbers, names and times; nothing of any event's content."""

from __future__ import annotations

import json
import os
import platform
from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec

from .figures import Sample, quantiles
from .run import Run

FORMAT = "plangate-load-report/1"
_NAMES = ("p50", "p95", "p99", "max")


def report(run: Run, options: dict[str, Any], notes: Iterable[dict[str, Any]] = ()) -> dict[str, Any]:
    """The document; `notes` as `read_notes` gives them."""
    notes = list(notes)
    check = run.ledger.summary()
    passed = not (check["unanswered"] or check["conflicting"])
    seconds = max(run.sending_seconds, 0.001)
    latency = quantiles(run.ledger.latencies) or []
    lags = [sample.lag for sample in run.samples if sample.lag is not None]
    return {
        "format": FORMAT,
        "started": datetime.fromtimestamp(run.started_unix, UTC).isoformat(timespec="seconds"),
        "ended": run.why,
        "machine": {"cores": os.cpu_count(), "system": platform.system(), "python": platform.python_version()},
        "options": options,
        "check": {"passed": passed, **check, "unreadable": run.unreadable},
        "throughput": {
            "seconds": round(seconds, 1),
            "records_sent": run.sent,
            "records_failed": run.failed,
            "records_per_second": round(run.sent / seconds, 1),
            "decisions_per_second": round(len(run.ledger.latencies) / seconds, 1),
            "records_not_sent_in_time": round(run.pacer.missed),
        },
        "latency_ms": {name: round(value * 1000, 1) for name, value in zip(_NAMES, latency, strict=False)},
        "outcomes": dict(run.ledger.outcomes.most_common()),
        "reasons": dict(run.ledger.reasons.most_common()),
        "wishes": dict(run.fleet.ends.most_common()),
        "plans_to_acceptance": _by_number(run.fleet.tries),
        "deferral_streaks": _by_number(run.fleet.streaks),
        "lag": {"max": max(lags, default=None), "end": run.lag_at_end},
        "ramp": _ramp(run),
        "workers": _per_process((sample.at, sample.workers) for sample in run.samples),
        "containers": _per_process(_stats(notes, run.started_unix)),
        "actions": [
            {"at": round(note["at"] - run.started_unix, 1), "action": note["action"]}
            for note in notes
            if "action" in note
        ],
        "samples": [_rounded(sample) for sample in run.samples],
        "container_samples": [
            {"at": round(at, 1), "containers": stats} for at, stats in _stats(notes, run.started_unix)
        ],
    }


def read_notes(file: Path | None) -> list[dict[str, Any]]:
    """What a program that drives containers wrote beside the run, JSON lines with `at` in Unix seconds.

    `{"at", "action": text}` or `{"at", "containers": {name: {"cpu_cores", "memory_bytes"}}}`; other lines are left out.
    """
    if file is None or not file.exists():
        return []
    notes = []
    for line in file.read_text(errors="replace").splitlines():
        try:
            note = json.loads(line)
        except ValueError:
            continue
        if isinstance(note, dict) and isinstance(note.get("at"), int | float):
            if isinstance(note.get("action"), str) or _are_stats(note.get("containers")):
                notes.append(note)
    return notes


def _are_stats(told: Any) -> bool:
    return isinstance(told, dict) and all(
        isinstance(stats, dict) and all(isinstance(value, int | float) for value in stats.values())
        for stats in told.values()
    )


def _stats(notes: Iterable[dict[str, Any]], started: float) -> list[tuple[float, dict[str, dict[str, float]]]]:
    return [(note["at"] - started, note["containers"]) for note in notes if "containers" in note]


def _per_process(samples: Iterable[tuple[float, dict[str, dict[str, float]]]]) -> dict[str, dict[str, float]]:
    """Mean and most of what each process took, and from when until when it was seen."""
    seen: dict[str, list[tuple[float, dict[str, float]]]] = defaultdict(list)
    for at, figures in samples:
        for name, told in figures.items():
            seen[name].append((at, told))
    result = {}
    for name, told in seen.items():
        cores = [figures["cpu_cores"] for _, figures in told if "cpu_cores" in figures]
        memory = [figures["memory_bytes"] for _, figures in told if "memory_bytes" in figures]
        result[name] = {
            "from": round(told[0][0], 1),
            "to": round(told[-1][0], 1),
            "cpu_cores_mean": round(fmean(cores), 3) if cores else None,
            "cpu_cores_max": round(max(cores), 3) if cores else None,
            "memory_bytes_max": int(max(memory)) if memory else None,
            "windows_max": int(max(figures.get("windows", 0) for _, figures in told)),
        }
    return result


def _ramp(run: Run) -> dict[str, Any] | None:
    if run.ramp is None:
        return None
    steps = [{"rate": round(rate, 1), "lag": lag} for rate, lag in run.ramp.steps]
    return {"limit_found": run.ramp.found, "steps": steps, "rate": round(run.ramp.rate, 1)}


def _by_number(counts: dict[int, int]) -> dict[str, int]:
    return {str(number): counts[number] for number in sorted(counts)}


def _rounded(sample: Sample) -> dict[str, Any]:
    told = msgspec.to_builtins(sample)
    for name in ("at", "target", "sent", "answered"):
        told[name] = round(told[name], 1)
    if sample.latency:
        told["latency"] = [round(value * 1000, 1) for value in sample.latency]
    kept = ("cpu_cores", "memory_bytes", "windows", "partitions")
    told["workers"] = {
        host: {name: round(figures[name], 3) for name in kept if name in figures}
        for host, figures in sample.workers.items()
    }
    return told
