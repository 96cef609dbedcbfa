"""Line charts and bars as inline SVG: no script, no font, no picture from anywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import floor, log10

WIDTH, HEIGHT = 760, 220
LEFT, RIGHT, TOP, BOTTOM = 64, 12, 12, 26
COLORS = 8  # classes c0 to c7 of the page's style

Points = Sequence[tuple[float, float | None]]


def line_chart(label: str, series: Mapping[str, Points], marks: Sequence[tuple[float, str]] = ()) -> str:
    """A chart over seconds with its legend; gaps where a value is None. Empty text if there is no value at all.

    `label` is read out by screen readers; `marks` are upright lines with a number that the page explains.
    """
    values = [y for points in series.values() for _, y in points if y is not None]
    if not values:
        return ""
    far = max(x for points in series.values() for x, _ in points) or 1.0
    ticks = nice_ticks(max(values))
    top = ticks[-1]

    def x_at(x: float) -> float:
        return LEFT + min(max(x, 0.0), far) / far * (WIDTH - LEFT - RIGHT)

    def y_at(y: float) -> float:
        return HEIGHT - BOTTOM - y / top * (HEIGHT - TOP - BOTTOM)

    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label)}">']
    for tick in ticks:
        y = y_at(tick)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{short(tick)}</text>')
    for tick in nice_ticks(far, 6):
        if tick <= far:
            parts.append(f'<text x="{x_at(tick):.1f}" y="{HEIGHT - 8}" text-anchor="middle">{short(tick)} s</text>')
    for number, (at, _) in enumerate(marks, 1):
        x = x_at(at)
        parts.append(f'<line class="mark" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>')
        parts.append(f'<text class="mark" x="{x + 3:.1f}" y="{TOP + 9}">{number}</text>')
    for number, (name, points) in enumerate(series.items()):
        path = _path([(x_at(x), None if y is None else y_at(y)) for x, y in points])
        parts.append(f'<path class="c{number % COLORS}" d="{path}"><title>{escape(name)}</title></path>')
    parts.append("</svg>")
    legend = "".join(f'<li><i class="c{number % COLORS}"></i>{escape(name)}</li>' for number, name in enumerate(series))
    return "".join(parts) + f'<ul class="legend">{legend}</ul>'


def bars(counts: Mapping[str, int]) -> str:
    """A table with a bar for each count."""
    most = max(counts.values(), default=0) or 1
    total = sum(counts.values()) or 1
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td class="n">{count:,}</td><td class="n">{count / total:.1%}</td>'
        f'<td class="bar"><svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="c0" width="{100 * count / most:.1f}" height="8"/></svg></td></tr>'
        for name, count in counts.items()
    )
    return f'<table class="bars">{rows}</table>'


def nice_ticks(most: float, about: int = 4) -> list[float]:
    """From 0 in round steps to at least `most`."""
    if most <= 0:
        return [0.0, 1.0]
    raw = most / about
    power = 10 ** floor(log10(raw))
    step = next(size * power for size in (1, 2, 2.5, 5, 10) if size * power >= raw * 0.999)
    ticks = [0.0]
    while ticks[-1] < most * 0.999:
        ticks.append(round(ticks[-1] + step, 10))
    return ticks


def short(value: float) -> str:
    """A number for an axis."""
    for size, sign in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if value >= size:
            return f"{value / (1e3 if sign == 'k' else size):g}{sign}"
    return f"{value:g}"


def _path(points: Sequence[tuple[float, float | None]]) -> str:
    parts, pen_up = [], True
    for x, y in points:
        if y is None:
            pen_up = True
            continue
        parts.append(f"{'M' if pen_up else 'L'}{x:.1f} {y:.1f}")
        pen_up = False
    return "".join(parts)
