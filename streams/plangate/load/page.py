"""The report as one page: self-contained, without scripts, every text from outside escaped."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from html import escape
from typing import Any

from .svg import COLORS, Points, bars, line_chart

_LIGHT = ("#2a6fdb", "#d1495b", "#2e8b57", "#b8720a", "#7b4fb5", "#00838f", "#8d6e63", "#5f6b76")
_DARK = ("#6ea8ff", "#ff8a98", "#6fd09a", "#f0b04a", "#c09bf5", "#4dd0e1", "#c9a797", "#aab4be")
_STYLE = """
:root{color-scheme:light dark;--bg:#fff;--fg:#1c2127;--soft:#5f6b76;--line:#d9dee3;--good:#17693d;--bad:#b3122a;%s}
@media(prefers-color-scheme:dark){:root{--bg:#14181c;--fg:#e6eaee;--soft:#9aa5b0;--line:#333b43;--good:#6fd09a;
--bad:#ff8a98;%s}}
body{background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,sans-serif;max-width:820px;margin:2rem auto;
padding:0 1rem}
h1{font-size:1.5rem;margin:0}h2{font-size:1.1rem;margin:2rem 0 .4rem}p{margin:.3rem 0}.soft{color:var(--soft)}
svg{width:100%%;height:auto;display:block}svg text{fill:var(--soft);font-size:11px}
svg path{fill:none;stroke-width:1.6;stroke-linejoin:round}.grid{stroke:var(--line)}
line.mark{stroke:var(--soft);stroke-dasharray:3 3}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:.2rem 1rem;padding:0;margin:.2rem 0;font-size:13px}
.legend i{display:inline-block;width:14px;height:3px;margin-right:6px;vertical-align:middle}
table{border-collapse:collapse;width:100%%;font-size:14px}th{text-align:left;font-weight:400}
th,td{padding:.15rem .6rem .15rem 0;border-bottom:1px solid var(--line);overflow-wrap:anywhere}
thead th{color:var(--soft)}
.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}.bars{table-layout:fixed}.bars .n{width:4.5rem}
.bar{width:40%%}.bar svg{height:10px}
.verdict{font-weight:600}.good{color:var(--good)}.bad{color:var(--bad)}
%s
"""
_MEBIBYTE = 1024 * 1024


def page(doc: dict[str, Any]) -> str:
    """HTML of a document of `report`."""
    marks = [(action["at"], action["action"]) for action in doc["actions"]]
    samples = doc["samples"]
    parts = [
        _head(doc),
        _section("Throughput", _chart(samples, "records a second", marks, target="target", sent="sent"), _THROUGHPUT),
        _section("Decisions", _chart(samples, "decisions a second", marks, answered="answered")),
        _section("Decision latency (ms)", _latency(samples, marks), _LATENCY),
        _section("Consumer lag (records)", _chart(samples, "records", marks, lag="lag")),
        _section("Workers: processor (cores)", _processes(samples, "workers", "cpu_cores", marks)),
        _section("Workers: memory (MiB)", _processes(samples, "workers", "memory_bytes", marks)),
        _section("Workers: windows in memory", _processes(samples, "workers", "windows", marks)),
        _section(
            "Containers: processor (cores)", _processes(doc["container_samples"], "containers", "cpu_cores", marks)
        ),
        _section("Containers: memory (MiB)", _processes(doc["container_samples"], "containers", "memory_bytes", marks)),
        _section("What was done on the way", _actions(marks)),
        _section("Outcomes", bars(doc["outcomes"]) + bars(doc["reasons"])),
        _section("How often in a row a window's plans were deferred", bars(doc["deferral_streaks"])),
        _section("Plans that a proposer made until one was accepted", bars(doc["plans_to_acceptance"])),
        _section("How the proposers' aims ended", bars(doc["wishes"])),
        _section("Each worker", _table(doc["workers"])),
        _section("Each container", _table(doc["containers"])),
        _section("Ramp", _ramp(doc["ramp"])),
        _section("Options", _pairs(doc["options"])),
    ]
    palette = [";".join(f"--c{n}:{color}" for n, color in enumerate(colors)) for colors in (_LIGHT, _DARK)]
    classes = "".join(
        f"path.c{n}{{stroke:var(--c{n})}}rect.c{n}{{fill:var(--c{n})}}i.c{n}{{background:var(--c{n})}}"
        for n in range(COLORS)
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width">'
        f"<title>Plangate load report</title><style>{_STYLE % (*palette, classes)}</style></head>"
        f"<body>{''.join(parts)}</body></html>\n"
    )


_THROUGHPUT = "Events and proposals sent, against what was asked for. Where the two part, the sender was the bound."
_LATENCY = "From the moment a proposal was handed to the producer until its decision was read."


def _head(doc: dict[str, Any]) -> str:
    check, sent, latency = doc["check"], doc["throughput"], doc["latency_ms"]
    verdict = (
        '<span class="good">every acknowledged proposal was answered, once in content</span>'
        if check["passed"]
        else f'<span class="bad">{check["unanswered"]} unanswered, {check["conflicting"]} with conflicting answers'
        "</span>"
    )
    machine = doc["machine"]
    figures = {
        "records sent": f"{sent['records_sent']:,} in {sent['seconds']:,} s: {sent['records_per_second']:,} a second",
        "not acknowledged": f"{sent['records_failed']:,}",
        "decisions": f"{check['answers']:,}: {sent['decisions_per_second']:,} new ones a second",
        "decision latency": " · ".join(f"{name} {value:,} ms" for name, value in latency.items()) or "no decision",
        "sent again on purpose": f"{check['resent']:,}",
        "answers repeated unasked": f"{check['repeats']:,}, the same bytes",
        "lag": f"at most {doc['lag']['max']}, {doc['lag']['end']} at the end",
    }
    return (
        f'<h1>Plangate load report</h1><p class="soft">{escape(doc["started"])} · {escape(str(machine["cores"]))} '
        f"cores, {escape(machine['system'])}, Python {escape(machine['python'])} · ended: {escape(doc['ended'])}</p>"
        f'<p class="verdict">{verdict}</p>{_pairs(figures)}'
    )


def _section(title: str, body: str, note: str = "") -> str:
    if not body:
        return ""
    return f'<section><h2>{escape(title)}</h2><p class="soft">{escape(note)}</p>{body}</section>'


def _chart(samples: Iterable[dict[str, Any]], label: str, marks: list[tuple[float, str]], **fields: str) -> str:
    series = {name: [(sample["at"], sample[field]) for sample in samples] for field, name in fields.items()}
    return line_chart(label, series, marks)


def _latency(samples: Iterable[dict[str, Any]], marks: list[tuple[float, str]]) -> str:
    def at(place: int) -> Points:
        return [(sample["at"], sample["latency"][place] if sample["latency"] else None) for sample in samples]

    return line_chart("milliseconds", {"p50": at(0), "p95": at(1), "p99": at(2)}, marks)


def _processes(samples: list[dict[str, Any]], group: str, field: str, marks: list[tuple[float, str]]) -> str:
    names = sorted({name for sample in samples for name in sample[group]})
    scale: Callable[[float | None], float | None] = lambda value: value  # noqa: E731
    if field == "memory_bytes":
        scale = lambda value: None if value is None else value / _MEBIBYTE  # noqa: E731
    series = {
        name: [(sample["at"], scale(sample[group].get(name, {}).get(field))) for sample in samples] for name in names
    }
    return line_chart(field, series, marks)


def _actions(marks: list[tuple[float, str]]) -> str:
    rows = "".join(
        f'<tr><td class="n">{number}</td><td class="n">{at:,} s</td><td>{escape(text)}</td></tr>'
        for number, (at, text) in enumerate(marks, 1)
    )
    return f"<table>{rows}</table>" if rows else ""


def _table(processes: dict[str, dict[str, Any]]) -> str:
    if not processes:
        return ""
    heads = ("seen from (s)", "to (s)", "cores, mean", "cores, most", "MiB, most")
    rows = []
    for name, told in sorted(processes.items()):
        memory = told["memory_bytes_max"]
        cells = (told["from"], told["to"], told["cpu_cores_mean"], told["cpu_cores_max"])
        texts = ["" if cell is None else f"{cell:,}" for cell in cells]
        texts.append("" if memory is None else f"{memory / _MEBIBYTE:,.0f}")
        rows.append(
            f'<tr><th scope="row">{escape(name)}</th>' + "".join(f'<td class="n">{t}</td>' for t in texts) + "</tr>"
        )
    head = "".join(f'<th class="n">{escape(text)}</th>' for text in heads)
    return f"<table><thead><tr><th></th>{head}</tr></thead>{''.join(rows)}</table>"


def _ramp(ramp: dict[str, Any] | None) -> str:
    if ramp is None:
        return ""
    found = "The lag grew over the last step." if ramp["limit_found"] else "The lag never grew: the limit is higher."
    rows = "".join(
        f'<tr><td class="n">{step["rate"]:,} records a second</td>'
        f'<td class="n">{step["lag"]:,} waiting at its end</td></tr>'
        for step in ramp["steps"]
    )
    return f"<p>{found} Went on with {ramp['rate']:,} records a second.</p><table>{rows}</table>"


def _pairs(told: dict[str, Any]) -> str:
    rows = "".join(f'<tr><th scope="row">{escape(k)}</th><td>{escape(str(v))}</td></tr>' for k, v in told.items())
    return f"<table>{rows}</table>"
