"""Style of the experiments' figures: each method has the same colour and marker everywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tinyude.experiments.experiment import percent
from tinyude.report.figures import BLUE, GREEN, GREY, INK, ORANGE, WIDTH, styled

SKY, PINK, YELLOW, PURPLE = "#56B4E9", "#CC79A7", "#E69F00", "#7b61a8"  # with the report's, Okabe and Ito's palette
SMALLEST = 1e-17  # smallest error of a gradient that is drawn
CAPTION_WIDTH = 150  # characters

LOOKS = {  # label, colour, marker
    "k40": ("adjoint, K = 40", INK, "s"),
    "k80": ("adjoint, K = 80", GREY, "D"),
    "fresh": ("adjoint, K = 40, fresh windows", PINK, "P"),
    "paper-v1": ("jet v1", YELLOW, "v"),
    "paper-v2": ("jet v2", ORANGE, "o"),
    "network": ("default, network only", SKY, "^"),
    "skip": ("default, linear terms + network", PURPLE, "<"),
    "default": ("default", BLUE, "o"),
    "sindy": ("pysindy, weak form", GREEN, "X"),
    "known": ("known physics alone", GREEN, "."),
}


def panels(
    columns: int, height: float, summary: Mapping[str, Any], text: str, rows: int = 1
) -> tuple[Figure, list[Axes]]:
    """Panels in one or more rows, above a caption with the seeds and, of a quick run, its restrictions."""
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    axes = list(figure.subplots(rows, columns, squeeze=False).flat)
    figure.supxlabel(fill(_caption(summary, text), CAPTION_WIDTH), x=0.005, ha="left", fontsize=8.0, color="#5f6670")
    return figure, axes


def _caption(summary: Mapping[str, Any], text: str) -> str:
    seeds = summary.get("seeds", [])
    words = f"{text} {'Seeds' if len(seeds) > 1 else 'Seed'} {', '.join(map(str, seeds))}." if seeds else text
    return f"{words} Quick run: {summary['quick_words']}." if summary.get("quick") else words


def curve(axes: Axes, look: str, x: Sequence[float], entries: Sequence[Mapping[str, Any]]) -> None:
    """Means over seeds connected by a line, single seeds as small dots."""
    name, colour, marker = LOOKS[look]
    means = [np.nan if entry["mean"] is None else entry["mean"] for entry in entries]
    axes.plot(x, means, color=colour, marker=marker, markersize=5.5, label=name)
    for at, entry in zip(x, entries, strict=True):
        axes.plot([at] * len(entry["values"]), entry["values"], ".", color=colour, markersize=3, alpha=0.5)


def paper_marks(axes: Axes, look: str, x: Sequence[float], values: Sequence[float | None]) -> None:
    """The paper's figures: hollow marks on a dotted line."""
    _, colour, marker = LOOKS[look]
    drawn = [np.nan if value is None else value for value in values]
    axes.plot(x, drawn, color=colour, marker=marker, markersize=7, markerfacecolor="none", linestyle=":", linewidth=1.0)


def noise_ticks(axes: Axes, levels: Sequence[float]) -> list[float]:
    """An axis with evenly spaced noise levels (a logarithmic one has no 0); their positions."""
    axes.set_xticks(range(len(levels)), [percent(level) for level in levels])
    axes.set_xlabel("sensor noise (share of each channel's RMS)")
    return [float(i) for i in range(len(levels))]


def bars(axes: Axes, names: Sequence[str], values: Sequence[float | None], colours: Sequence[str] | str) -> None:
    """Horizontal bars, the first on top, labelled with their values."""
    drawn = [np.nan if value is None else value for value in values]
    axes.barh(range(len(names)), drawn, color=colours, height=0.62)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    for row, value in enumerate(drawn):
        if np.isfinite(value):
            text = f"{value:,.0f}" if value >= 100.0 else f"{value:.2g}"
            axes.annotate(text, (value, row), (3, 0), textcoords="offset points", va="center", fontsize=8.5)


@styled
def gradient_checks(summary: Mapping[str, Any]) -> Figure:
    """The relative error of each gradient check against the complex step."""
    names = [row["name"] for row in summary["rows"]]
    figure, (axes,) = panels(1, 0.9 + 0.21 * len(names), summary, "Every parameter by complex step.")
    errors = [max(row["relative_error"], SMALLEST) for row in summary["rows"]]
    colours = [BLUE if row["pass"] else ORANGE for row in summary["rows"]]
    axes.hlines(range(len(names)), SMALLEST, errors, color="#d5dae0", linewidth=1.0)
    axes.scatter(errors, range(len(names)), c=colours, s=22, zorder=3)
    axes.axvline(summary["limit"], color=ORANGE, linewidth=1.2, linestyle="--")
    axes.annotate("limit", (summary["limit"], -0.4), (4, 0), textcoords="offset points", color=ORANGE, fontsize=9)
    axes.set_yticks(range(len(names)), names, fontsize=8.0)
    axes.invert_yaxis()
    axes.set(xscale="log", xlim=(0.7 * SMALLEST, 1e-10), xlabel="error relative to the gradient's norm")
    return figure
