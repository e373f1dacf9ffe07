"""Pictures from plain data: each function takes one part of a report's data and returns a matplotlib Figure."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from tinyude.data.whole_file import write_whole
from tinyude.errors import TinyUDEError

# Okabe and Ito's colours, which most colour-blind readers tell apart.
BLUE, ORANGE, GREEN, INK, GREY = "#0072B2", "#D55E00", "#009E73", "#1b1f24", "#9aa0a6"
PALE_BLUE = "#7fb3d5"

WIDTH = 9.6  # inches; the page shows 100 pixels an inch
MOST_PANELS = 6
RUN_TIME = "time since the start of the run [s]"

STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 10.0,
    "axes.edgecolor": "#b6bcc4",
    "axes.labelcolor": INK,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlecolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.formatter.useoffset": False,
    "grid.color": "#e8eaed",
    "grid.linewidth": 0.8,
    "xtick.color": "#5f6670",
    "ytick.color": "#5f6670",
    "xtick.major.size": 0.0,
    "ytick.major.size": 0.0,
    "legend.frameon": False,
    "legend.fontsize": 9.5,
    "lines.linewidth": 1.6,
    "svg.hashsalt": "tinyude",  # the same data give the same bytes
}

Part = Mapping[str, Any]
Array = NDArray[Any]

_GREEK = [
    "alpha",
    "beta",
    "gamma",
    "delta",
    "epsilon",
    "zeta",
    "eta",
    "theta",
    "iota",
    "kappa",
    "lambda",
    "mu",
    "nu",
    "xi",
    "pi",
    "rho",
    "sigma",
    "tau",
    "upsilon",
    "phi",
    "chi",
    "psi",
    "omega",
    "Gamma",
    "Delta",
    "Theta",
    "Lambda",
    "Xi",
    "Pi",
    "Sigma",
    "Phi",
    "Psi",
    "Omega",
]


def styled(draw: Callable[..., Figure]) -> Callable[..., Figure]:
    """Draw in the style of the reports."""

    @wraps(draw)
    def drawn(*args: Any, **kwargs: Any) -> Figure:
        with rc_context(STYLE):
            return draw(*args, **kwargs)

    return drawn


def save_figure(figure: Figure, path: Path, **options: Any) -> None:
    """Write a figure whole or not at all, in the format of the file's ending."""
    content = io.BytesIO()
    kind = path.suffix.lstrip(".").lower() or "png"
    if kind not in figure.canvas.get_supported_filetypes():
        kinds = ", ".join(sorted(figure.canvas.get_supported_filetypes()))
        raise TinyUDEError(f"{path} is not a supported image format; use one of the endings {kinds}.")
    figure.savefig(content, format=kind, **options)
    write_whole(path, content.getvalue())


def label(name: str, units: Mapping[str, str] | None = None, rate: bool = False) -> str:
    """A state's name for an axis: Greek letters and indices typeset, the unit in brackets."""
    text = _typeset(name)
    unit = (units or {}).get(name, "")
    if rate:
        text = f"d{text}/dt"
        unit = f"{unit}/s" if unit and not unit.endswith("/s") else re.sub(r"/s$", "/s²", unit)
    return f"{text} [{unit}]" if unit else text


def _typeset(name: str) -> str:
    match = re.fullmatch(r"([A-Za-z]+)_?(\d*)", name)
    if match is None or not (match[1] in _GREEK or len(match[1]) == 1):
        return name.replace("$", r"\$")
    letter = f"\\{match[1]}" if match[1] in _GREEK else match[1]
    return f"${letter}_{{{match[2]}}}$" if match[2] else f"${letter}$"


def _panels(rows: int, columns: int, height: float) -> tuple[Figure, NDArray[Any]]:
    figure = Figure(figsize=(WIDTH, height * rows), layout=ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.08))
    return figure, figure.subplots(rows, columns, squeeze=False)


def _shared_legend(figure: Figure, axes: Axes) -> None:
    handles, names = axes.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper left", ncols=len(names), borderaxespad=0.2)


@styled
def signals(part: Part) -> Figure:
    """Measured samples with the states estimated from them, beside the estimated derivatives and the model's."""
    shown = list(part["states"])[:MOST_PANELS]
    figure, grid = _panels(len(shown), 2, 2.1)
    units = part.get("units", {})
    for row, name in enumerate(shown):
        left, right = grid[row]
        column = list(part["states"]).index(name)
        if name in part["channels"]:
            samples = part["Y"][:, list(part["channels"]).index(name)]
            left.plot(part["t"], samples, color=GREY, linewidth=2.2, alpha=0.6, label="measured")
        dots: dict[str, Any] = {"color": BLUE, "markersize": 4.0, "markeredgewidth": 0.0, "label": "estimated"}
        left.plot(part["window_t"], part["x"][:, column], ".", **dots)
        right.plot(part["window_t"], part["dx"][:, column], ".", **dots)
        times, rates = _broken(part["window_t"], part["model"][:, column])
        right.plot(times, rates, color=ORANGE, linewidth=1.1, label="model")
        left.set_ylabel(label(name, units))
        right.set_ylabel(label(name, units, rate=True))
    grid[0, 0].set_title("states")
    grid[0, 1].set_title("their derivatives")
    for axes in grid[0]:
        axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, borderaxespad=0.0)
    for axes in grid[-1]:
        axes.set_xlabel("time [s]")
    return figure


def _broken(times: Array, values: Array) -> tuple[Array, Array]:
    """The same line with a hole wherever windows are missing, so that nothing is drawn across."""
    steps = np.diff(times)
    holes = np.flatnonzero(steps > 2.5 * np.median(steps)) + 1 if len(steps) else np.empty(0, dtype=np.intp)
    return np.insert(times, holes, np.nan), np.insert(values, holes, np.nan)


@styled
def history(part: Part) -> Figure:
    """The loss over the updates."""
    figure, grid = _panels(1, 1, 2.6)
    axes = grid[0, 0]
    updates, loss = np.asarray(part["update"]), np.asarray(part["loss"])
    positive = loss > 0.0
    axes.plot(updates[positive], loss[positive], color=BLUE)
    if positive.any():
        axes.set_yscale("log")
    axes.set_xlabel("update")
    axes.set_ylabel("loss")
    axes.margins(x=0.01)
    return figure


@styled
def residuals(parts: Sequence[Part], units: Mapping[str, str] | None = None) -> Figure:
    """What the model adds to the known physics, one panel a state, against the state that it depends on most."""
    shown = parts[:MOST_PANELS]
    columns = min(len(shown), 2)
    figure, grid = _panels(-(-len(shown) // columns), columns, 3.2)
    for part, axes in zip(shown, grid.flat, strict=False):
        _draw_residual(axes, part, units)
    for axes in grid.flat[len(shown) :]:
        axes.remove()
    _shared_legend(figure, grid[0, 0])
    return figure


def _draw_residual(axes: Axes, part: Part, units: Mapping[str, str] | None) -> None:
    axes.plot(part["at"], part["data"], ".", color=GREY, markersize=3.5, alpha=0.55, label="data minus known physics")
    if "low" in part:
        axes.fill_between(part["axis"], part["low"], part["high"], color=BLUE, alpha=0.25, label="90 % interval")
    axes.plot(part["axis"], part["learned"], color=BLUE, linewidth=3.0, alpha=0.85, label="learned")
    if part.get("truth") is not None:
        axes.plot(part["axis"], part["truth"], color=INK, linewidth=1.2, dashes=(4, 2.5), label="truth")
    axes.set_ylim(_view(part["data"], part["learned"]))
    axes.set_xlabel(label(part["against"], units))
    axes.set_ylabel(f"added to {label(part['state'], units, rate=True)}")


def _view(cloud: Array, line: Array) -> tuple[float, float]:
    """A range that shows the line and nearly all of the cloud, whatever its outliers."""
    low, high = np.quantile(cloud, [0.01, 0.99]) if len(cloud) else (np.inf, -np.inf)
    low, high = min(low, float(np.min(line))), max(high, float(np.max(line)))
    margin = 0.08 * (high - low) or 1.0
    return low - margin, high + margin


@styled
def portrait(part: Part) -> Figure:
    """The learned field over the plane of two states with the visited states; of a single state, the field itself."""
    units = part.get("units", {})
    if len(part["names"]) == 1:
        return _line_portrait(part, units)
    figure, grid = _panels(1, 1, 5.2)
    _draw_plane(grid[0, 0], part, units, density=1.3)
    _shared_legend(figure, grid[0, 0])
    return figure


def _draw_plane(axes: Axes, part: Part, units: Mapping[str, str], density: float) -> None:
    speed = np.hypot(part["u"] / np.ptp(part["x"]), part["v"] / np.ptp(part["y"]))
    width = 0.35 + 1.1 * speed / (np.max(speed) or 1.0)
    field = (part["x"], part["y"], part["u"], part["v"])
    axes.streamplot(*field, color=PALE_BLUE, linewidth=width, density=density, arrowsize=0.9)
    path = part["path"]
    axes.plot(path[:, 0], path[:, 1], ".", color=ORANGE, markersize=3.5, alpha=0.8, label="visited")
    axes.plot([], [], color=PALE_BLUE, label="learned field")
    axes.set_xlim(part["x"][0], part["x"][-1])
    axes.set_ylim(part["y"][0], part["y"][-1])
    axes.set_xlabel(label(part["names"][0], units))
    axes.set_ylabel(label(part["names"][1], units))


def _line_portrait(part: Part, units: Mapping[str, str]) -> Figure:
    figure, grid = _panels(1, 1, 3.4)
    axes = grid[0, 0]
    axes.axhline(0.0, color="#b6bcc4", linewidth=0.8)
    axes.plot(part["path"][:, 0], part["rates"][:, 0], ".", color=GREY, markersize=3.5, label="visited")
    axes.plot(part["x"], part["known"], color=GREEN, linewidth=1.3, label="known physics alone")
    axes.plot(part["x"], part["u"], color=BLUE, linewidth=2.2, label="learned field")
    axes.set_xlabel(label(part["names"][0], units))
    axes.set_ylabel(label(part["names"][0], units, rate=True))
    _shared_legend(figure, axes)
    return figure


def _draw_run(axes: Axes, part: Part, name: str, units: Mapping[str, str]) -> None:
    column = list(part["names"]).index(name)
    reference, model = part["reference"][:, column], part["model"][:, column]
    axes.plot(part["t"], reference, color=INK, linewidth=3.2, alpha=0.28, label=part["reference_name"])
    if "known" in part:
        axes.plot(part["t"], part["known"][:, column], color=GREEN, linewidth=1.1, label="known physics alone")
    axes.plot(part["t"], model, color=BLUE, linewidth=1.5, dashes=(5, 1.5), label="model")
    axes.set_ylim(_run_view(reference, model, part["known"][:, column] if "known" in part else model))
    axes.set_ylabel(label(name, units))
    axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.margins(x=0.01)


def _run_view(reference: Array, *runs: Array) -> tuple[float, float]:
    """Limits of the axis: the reference and its own range above and below it; runs that leave that are cut off."""
    low, high = float(np.nanmin(reference)), float(np.nanmax(reference))
    span = (high - low) or 1.0
    shown = np.clip(np.concatenate([run[np.isfinite(run)] for run in runs]), low - span, high + span)
    low, high = float(np.min(shown, initial=low)), float(np.max(shown, initial=high))
    return low - 0.1 * span, high + 0.1 * span


@styled
def summary(data: Part) -> Figure:
    """The first residual, the field and the free run in one picture; of a report with at least two states."""
    units = data.get("units", {})
    figure = Figure(figsize=(12.0, 3.6), layout=ConstrainedLayoutEngine(w_pad=0.12))
    left, middle, right = figure.subplots(1, 3)
    _draw_residual(left, data["residuals"][0], units)
    _draw_plane(middle, data["portrait"], units, density=0.9)
    _draw_run(right, data["rollout"], data["rollout"]["names"][0], units)
    right.set_xlabel(RUN_TIME)
    for axes, title in ((left, "what was missing"), (middle, "the learned field"), (right, "a free run")):
        axes.set_title(title)
        axes.legend(loc="upper right", fontsize=8, frameon=True, framealpha=0.85, edgecolor="none")
    return figure
