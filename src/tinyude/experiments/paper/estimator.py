"""Error of derivative targets by time scale and noise, and the scale that the rules choose (paper, appendix figure)."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from tinyude.experiments.drawing import panels
from tinyude.experiments.experiment import Config, Outcome, Result, Summary, Table, Unit, number, percent, select
from tinyude.experiments.fits import jet_unit, make_system
from tinyude.experiments.paper.targets import centres, corrected_targets, plain_targets
from tinyude.reference.signal.window import Window, window_make
from tinyude.report.figures import styled

Array = NDArray[np.float64]
NAME = "estimator"
TITLE = "The derivative estimator by time scale"
NOISES = (0.001, 0.01, 0.05)
SPACINGS = (2, 3, 5, 8, 12, 18, 26, 36, 50)
HALVES = (10, 15, 25, 40, 60, 90, 130, 180, 250)
COLOURS = ("#56B4E9", "#0072B2", "#1b1f24")
STRIDE = 7


def units(quick: bool) -> list[Unit]:
    curves = [Unit(run_curves, {"noise": noise, "seed": 0}, 6.0) for noise in NOISES]
    return curves + [jet_unit(method, noise, 0) for method in ("paper-v2", "default") for noise in NOISES]


def run_curves(config: Config) -> Result:
    """Error of the acceleration's target, relative to its RMS, for the paper's windows and for dense corrected ones."""
    system = make_system("pendulum")
    _, clean = system.clean(config["seed"])
    _, noisy = system.stream(config["noise"], config["seed"])
    plain, corrected = [], []
    for spacing in SPACINGS:
        window = window_make(5, spacing, 4, 1.0 / system.rate)
        at, good = _between_kicks(window, clean)
        miss = plain_targets(window, noisy, STRIDE)[1][good] - system.truth(clean[at])
        plain.append(miss[:, 1])
    for half in HALVES:
        window = window_make(half, 1, 4, 1.0 / system.rate)
        at, good = _between_kicks(window, clean)
        miss = corrected_targets(system.physics, window, noisy, STRIDE)[good] - system.missing(clean[at])
        corrected.append(miss[:, 1])
    scale = float(np.sqrt(np.mean(system.truth(clean)[:, 1] ** 2)))
    size = {
        name: [float(np.sqrt(np.mean(m**2))) / scale for m in part]
        for name, part in (("plain", plain), ("corrected", corrected))
    }
    return size


def _between_kicks(window: Window, clean: Array) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Centres of the windows without a kick, and a mask that selects them among all windows."""
    at = centres(window, clean, STRIDE)
    kicks = make_system("pendulum").jump_times() * make_system("pendulum").rate
    good = np.min(np.abs(at[:, None] - kicks[None, :]), axis=1) > window.reach + 1
    return at[good], good


def summarise(outcomes: list[Outcome], quick: bool) -> Summary:
    rows = []
    for noise in NOISES:
        result = next(r for c, r in outcomes if c.get("noise") == noise and "method" not in c)
        v2, default = (
            select(outcomes, method=m, noise=noise)[0]["diagnostics"]["window"] for m in ("paper-v2", "default")
        )
        rows.append({
            "noise": noise, **result,
            "best_spacing": SPACINGS[int(np.argmin(result["plain"]))], "chosen_spacing": v2["spacing"],
            "best_half": HALVES[int(np.argmin(result["corrected"]))], "chosen_half": default["half_width_samples"],
        })  # fmt: skip
    loss = [_at(SPACINGS, r["plain"], r["chosen_spacing"]) / min(r["plain"]) for r in rows]
    gain = [min(r["plain"]) / min(r["corrected"]) for r in rows]
    return {
        "rows": rows,
        "seeds": [0],
        "quick": False,
        "notes": [
            "The rule's tap spacing costs "
            + ", ".join(
                f"{number(x, 2)} times the best error at {percent(n)}" for x, n in zip(loss, NOISES, strict=True)
            )
            + f". The best spacings within the range tried ({SPACINGS[0]} to {SPACINGS[-1]}) are "
            + ", ".join(str(r["best_spacing"]) for r in rows)
            + ".",
            f"Dense windows corrected by the known physics are {number(min(gain), 2)} to "
            f"{number(max(gain), 2)} times more accurate at their best (half widths up to {HALVES[-1]} ms). The "
            "default chose "
            + ", ".join(str(r["chosen_half"]) for r in rows)
            + " ms: a single target would be better from a longer window, but longer windows are fewer and more "
            "correlated.",
        ],
    }


def _at(grid: tuple[int, ...], values: list[float], point: float) -> float:
    return float(np.exp(np.interp(np.log(point), np.log(grid), np.log(values))))


@styled
def figure(summary: Summary) -> Figure:
    drawn, (left, right) = panels(
        2,
        3.8,
        summary,
        "Target of dω/dt relative to its RMS, windows between kicks. Rings: the scale that the method chooses by "
        "itself.",
    )
    for row, colour in zip(summary["rows"], COLOURS, strict=True):
        _draw(left, SPACINGS, row["plain"], row["chosen_spacing"], colour, percent(row["noise"]))
        _draw(right, HALVES, row["corrected"], row["chosen_half"], colour, percent(row["noise"]))
    left.set(xlabel="effective step, tap spacing m [ms]", title="Paper: 11 taps, m apart")
    right.set(xlabel="half width h [ms]", title="Default: dense, physics-corrected")
    low = min(left.get_ylim()[0], right.get_ylim()[0])
    high = max(left.get_ylim()[1], right.get_ylim()[1])
    for axes, ticks in ((left, (2, 5, 10, 20, 50)), (right, (10, 20, 50, 100, 200))):
        axes.set(ylabel="error of a derivative target", ylim=(low, high))
        axes.set_xticks(ticks, [str(tick) for tick in ticks])
        axes.minorticks_off()
    left.legend(title="noise")
    return drawn


def _draw(axes: Axes, grid: tuple[int, ...], values: list[float], chosen: float, colour: str, label: str) -> None:
    axes.loglog(grid, values, ".-", color=colour, label=label)
    axes.plot(
        chosen, _at(grid, values, chosen), "o", color=colour, markerfacecolor="none", markersize=11, markeredgewidth=1.8
    )


def tables(summary: Summary) -> list[Table]:
    rows = [
        [
            percent(r["noise"]), str(r["best_spacing"]), str(r["chosen_spacing"]), number(min(r["plain"])),
            str(r["best_half"]), str(r["chosen_half"]), number(min(r["corrected"])),
        ]
        for r in summary["rows"]
    ]  # fmt: skip
    header = [
        "noise",
        "best m [ms]",
        "m chosen",
        "error at best m",
        "best h [ms]",
        "h chosen",
        "error at best h, corrected",
    ]
    return [Table("Time scale of the derivative estimator", header, rows)]
