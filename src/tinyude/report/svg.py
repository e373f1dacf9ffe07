"""Small charts as SVG text, coloured by the page's CSS variables; no script, so they print and are read aloud."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
LEFT, RIGHT, TOP, BOTTOM = 46.0, 12.0, 10.0, 34.0


class Chart:
    """Axes to draw on, in the order of the calls.

    Parameters
    ----------
    x, y : (low, high)
        Ranges of the axes.
    x_label, y_label, alt : str
        `alt` is what a screen reader says.
    log_x, log_y : bool
    """

    def __init__(
        self,
        x: tuple[float, float],
        y: tuple[float, float],
        *,
        x_label: str = "",
        y_label: str = "",
        alt: str = "",
        size: tuple[float, float] = (420.0, 230.0),
        log_x: bool = False,
        log_y: bool = False,
    ) -> None:
        self.size, self.log = size, (log_x, log_y)
        self.ranges = (_room(x, log_x), _room(y, log_y))
        self.labels, self.alt = (x_label, y_label), alt
        self.marks: list[str] = []

    def line(self, x: Any, y: Any, kind: str) -> None:
        """A polyline, broken where a value is missing."""
        xs, ys = self._x(x), self._y(y)
        good = np.isfinite(xs) & np.isfinite(ys)
        for rows in np.split(np.arange(len(xs)), np.flatnonzero(~good)):
            kept = [k for k in rows if good[k]]
            if len(kept) > 1:
                points = " ".join(f"{xs[k]:.1f},{ys[k]:.1f}" for k in kept)
                self.marks.append(f'<polyline class="{kind}" points="{points}"/>')

    def dots(self, x: Any, y: Any, kind: str, radius: float = 1.5) -> None:
        for a, b in zip(self._x(x), self._y(y), strict=True):
            if np.isfinite(a) and np.isfinite(b):
                self.marks.append(f'<circle class="{kind}" cx="{a:.1f}" cy="{b:.1f}" r="{radius}"/>')

    def crosses(self, x: Any, y: Any, kind: str) -> None:
        for a, b in zip(self._x(x), self._y(y), strict=True):
            path = f"M{a - 4:.1f} {b - 4:.1f}l8 8m0-8l-8 8"
            self.marks.append(f'<path class="{kind}" d="{path}"/>')

    def band(self, x: Any, low: Any, high: Any, kind: str) -> None:
        xs, lows, highs = self._x(x), self._y(low), self._y(high)
        points = [f"{a:.1f},{b:.1f}" for a, b in zip(xs, lows, strict=True)]
        points += [f"{a:.1f},{b:.1f}" for a, b in zip(xs[::-1], highs[::-1], strict=True)]
        self.marks.append(f'<polygon class="{kind}" points="{" ".join(points)}"/>')

    def box(self, x: tuple[float, float], y: tuple[float, float], kind: str, opacity: float = 1.0) -> None:
        (a, b), (c, d) = self._x(np.array(x)), self._y(np.array(y))
        shape = f'x="{min(a, b):.1f}" y="{min(c, d):.1f}" width="{abs(b - a):.1f}" height="{abs(d - c):.1f}"'
        self.marks.append(f'<rect class="{kind}" {shape} opacity="{opacity:.2f}"/>')

    def across(self, y: float, kind: str) -> None:
        self.line(np.array(self.ranges[0]), np.array([y, y]), kind)

    def text(self, x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> None:
        a, b = float(self._x(np.array([x]))[0]), float(self._y(np.array([y]))[0])
        self.marks.append(f'<text class="{kind}" x="{a:.1f}" y="{b:.1f}" text-anchor="{anchor}">{escape(words)}</text>')

    def draw(self) -> str:
        """The whole element."""
        width, height = self.size
        grid = [*self._x_ticks(), *self._y_ticks()]
        x_label, y_label = self.labels
        names = (
            f'<text class="x-name" x="{width - RIGHT}" y="{height - 4}" text-anchor="end">{escape(x_label)}</text>'
            f'<text class="y-name" x="4" y="{TOP + 1}">{escape(y_label)}</text>'
        )
        clip = f'<svg x="{LEFT}" y="{TOP + 8}" width="{width - LEFT - RIGHT}" height="{height - TOP - BOTTOM - 8}"'
        clip += f' viewBox="{LEFT} {TOP + 8} {width - LEFT - RIGHT} {height - TOP - BOTTOM - 8}">'
        said = escape(self.alt, quote=True)
        return (
            f'<svg class="chart" viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{said}">'
            f"{''.join(grid)}{clip}{''.join(self.marks)}</svg>{names}</svg>"
        )

    def _x(self, values: Any) -> Array:
        return self._place(values, 0, LEFT, self.size[0] - RIGHT)

    def _y(self, values: Any) -> Array:
        return self._place(values, 1, self.size[1] - BOTTOM, TOP + 8)

    def _place(self, values: Any, axis: int, first: float, last: float) -> Array:
        low, high = self.ranges[axis]
        values = np.asarray(values, dtype=np.float64)
        if self.log[axis]:
            with np.errstate(all="ignore"):
                values = np.log10(np.maximum(values, 1e-300))
            low, high = np.log10(low), np.log10(high)
        return first + (values - low) / (high - low) * (last - first)

    def _x_ticks(self) -> list[str]:
        bottom, marks = self.size[1] - BOTTOM, []
        for value in ticks(*self.ranges[0], self.log[0], 6):
            x = float(self._x(np.array([value]))[0])
            marks.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP + 8}" y2="{bottom}"/>')
            marks.append(f'<text x="{x:.1f}" y="{bottom + 13}" text-anchor="middle">{number(value)}</text>')
        return marks

    def _y_ticks(self) -> list[str]:
        marks = []
        for value in ticks(*self.ranges[1], self.log[1], 5):
            y = float(self._y(np.array([value]))[0])
            marks.append(f'<line class="grid" x1="{LEFT}" x2="{self.size[0] - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
            marks.append(f'<text x="{LEFT - 5}" y="{y + 3.5:.1f}" text-anchor="end">{number(value)}</text>')
        return marks


def ticks(low: float, high: float, log: bool, most: int) -> list[float]:
    """Round numbers inside a range."""
    if log:
        powers = np.arange(np.ceil(np.log10(low) - 1e-9), np.floor(np.log10(high) + 1e-9) + 1)
        stride = max(1, int(np.ceil(len(powers) / most)))
        if len(powers) < 3:  # about a decade: 1, 2 and 5 of it
            every = np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
            return [float(m * 10.0**p) for p in every for m in (1.0, 2.0, 5.0) if low <= m * 10.0**p <= high]
        return [float(10.0**p) for p in powers[::stride]]
    raw = (high - low) / most
    base = 10.0 ** np.floor(np.log10(raw))
    step = next(base * m for m in (1.0, 2.0, 5.0, 10.0) if base * m >= raw)
    return [float(v) for v in np.arange(np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9) + 1) * step]


def number(value: float) -> str:
    """A tick's label, with a real minus sign."""
    text = f"{0.0 if abs(value) < 1e-12 else value:.4g}"
    return text.replace("-", "\N{MINUS SIGN}")


def scale_bar(marks: Sequence[tuple[str, float, str]], alt: str) -> str:
    """Shares on a common logarithmic scale: (label, share, class), as a strip."""
    values = [value for _, value, _ in marks if np.isfinite(value) and value > 0.0]
    low = 10.0 ** np.floor(np.log10(max(min(values, default=0.01), 1e-5)))
    high = max(1.0, 10.0 ** np.ceil(np.log10(max(max(values, default=1.0), 1e-5))))
    low = min(low, high / 10.0)

    def place(value: float) -> float:
        return 8.0 + 304.0 * float(np.log10(min(max(value, low), high) / low) / np.log10(high / low))

    drawn = ['<line class="grid" x1="8" x2="312" y1="24" y2="24"/>']
    first, last = round(np.log10(low)), round(np.log10(high))
    for power in range(last, first - 1, -1 if last - first < 6 else -2):  # labels are up to a sixth of the strip wide
        x = min(max(place(10.0**power), 24.0), 292.0)
        drawn.append(f'<text x="{x:.1f}" y="54" text-anchor="middle">{100.0 * 10.0**power:g} %</text>')
    above = -1e9  # where the last label above the line ends
    for label, value, kind in sorted((m for m in marks if np.isfinite(m[1])), key=lambda m: m[1]):
        x, half = place(value), (3.8 if kind in ("model", "known") else 3.2) * len(label)  # those are bold
        at = min(max(x, half), 320.0 - half)
        row = 40.0 if kind == "known" else 11.0
        if row < 20.0:
            at = max(at, above + half + 6.0)
            above = at + half
        drawn.append(f'<circle class="{kind}" cx="{x:.1f}" cy="24" r="4.5"/>')
        drawn.append(f'<text class="{kind}" x="{at:.1f}" y="{row}" text-anchor="middle">{escape(label)}</text>')
    said = escape(alt, quote=True)
    return f'<svg class="scale" viewBox="0 0 320 58" role="img" aria-label="{said}">{"".join(drawn)}</svg>'


def interval_mark(low: float, value: float, high: float) -> str:
    """An interval with its value beside zero, as a mark in a table."""
    least, most = min(low, 0.0), max(high, 0.0)
    a, x, b, zero = (4.0 + 82.0 * (v - least) / ((most - least) or 1.0) for v in (low, value, high, 0.0))
    return (
        '<svg class="interval-mark" viewBox="0 0 90 10" aria-hidden="true"><line x1="4" x2="86" y1="5" y2="5"/>'
        f'<line class="zero" x1="{zero:.1f}" x2="{zero:.1f}" y1="0" y2="10"/>'
        f'<rect class="interval" x="{a:.1f}" width="{max(b - a, 1.0):.1f}" y="2" height="6"/>'
        f'<circle cx="{x:.1f}" cy="5" r="2.5"/></svg>'
    )


def _room(values: tuple[float, float], log: bool) -> tuple[float, float]:
    low, high = (float(v) for v in values)
    if not (np.isfinite(low) and np.isfinite(high)):
        low, high = (1e-3, 1.0) if log else (0.0, 1.0)
    if log:
        low, high = max(low, 1e-12), max(high, 1e-12)
        return (low, high) if high > low * 1.5 else (low / 3.0, low * 3.0)
    return (low, high) if high > low else (low - 0.5, low + 0.5)
