"""Residuals, noise levels and bad sensors beyond the paper's, compared with solver, pysindy and Cramer-Rao bound.

The solver trains the same network on the same states as the network-only learner it is compared with.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from tinyude.experiments.drawing import LOOKS, curve, noise_ticks, panels
from tinyude.experiments.experiment import (
    Outcome,
    Summary,
    Table,
    Unit,
    geometric_mean,
    number,
    percent,
    ratio,
    select,
    spread,
    stats,
)
from tinyude.experiments.fits import NOISES as PAPER_NOISES
from tinyude.experiments.fits import PLANTS, QUICK_ITERATIONS, SENSORS, jet_unit, solver_unit
from tinyude.experiments.paper.headline import solver_caution
from tinyude.experiments.studies.floor import run_floor
from tinyude.experiments.studies.weak_sindy import available
from tinyude.report.figures import styled

NAME = "robustness"
TITLE = "Other residuals, other noise, bad sensors"
RESIDUALS = ("linear", "quadratic", "dry", "cogging", "stribeck")
NOISES = (0.0, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1)
QUICK_NOISES = (0.001, 0.01, 0.05)
DOUBLE_NOISES = (0.001, 0.01, 0.05)
JETS = ("paper-v2", "network", "default")
METHODS: dict[str, dict[str, Any]] = {
    "k40": {"method": "adjoint", "steps": 40},
    "k80": {"method": "adjoint", "steps": 80},
    **{method: {"method": method} for method in (*JETS, "sindy")},
}
_RATE = {"settings": {"on": ["omega"]}}
_RATES = {"settings": {"on": ["omega1", "omega2"]}}


def _plan(quick: bool) -> tuple[tuple[float, ...], range, range]:
    """Noise levels, seeds, and seeds of the solver on the linear residual."""
    return (QUICK_NOISES, range(1), range(1)) if quick else (NOISES, range(5), range(3))


def units(quick: bool) -> list[Unit]:
    """Five seeds for everything but the slow solver, which has three on the linear residual and one elsewhere."""
    noises, seeds, solver_seeds = _plan(quick)
    quickly = (*JETS, "sindy") if available() else JETS
    made = [jet_unit(m, noise, s, residual=r) for m in quickly for r in RESIDUALS for noise in noises for s in seeds]
    made += [jet_unit(m, 0.01, s, sensor=sensor) for m in quickly for sensor in SENSORS[1:] for s in seeds]
    made += [jet_unit(m, noise, s, "double pendulum") for m in quickly for noise in DOUBLE_NOISES for s in seeds]
    for residual in RESIDUALS:
        for noise in noises if residual == "linear" or not quick else (0.01,):
            for seed in solver_seeds if residual == "linear" else range(1):
                made.append(solver_unit(noise, seed, quick, 40, residual=residual, **_RATE))
            if not quick or residual == "linear":
                made.append(solver_unit(noise, 0, quick, 80, residual=residual, **_RATE))
    if not quick:
        made += [solver_unit(0.01, 0, quick, 40, sensor=sensor, **_RATE) for sensor in SENSORS[1:]]
        made += [solver_unit(noise, 0, quick, 40, system="double pendulum", **_RATES) for noise in DOUBLE_NOISES]
    return [*made, *(Unit(run_floor, {"seed": seed}, 2.0, PLANTS) for seed in seeds)]


def summarise(outcomes: list[Outcome], quick: bool) -> Summary:
    noises, seeds, solver_seeds = _plan(quick)
    fits = [(config, result) for config, result in outcomes if "method" in config]
    pendulum = [(c, r) for c, r in fits if c["system"] == "pendulum"]
    double = [(c, r) for c, r in fits if c["system"] != "pendulum"]
    curves = {
        residual: {
            key: [stats(select(pendulum, residual=residual, sensor="gaussian", noise=n, **wanted)) for n in noises]
            for key, wanted in METHODS.items()
        }
        for residual in RESIDUALS
    }
    sensors = {
        sensor: {
            key: stats(select(pendulum, residual="linear", sensor=sensor, noise=0.01, **w))
            for key, w in METHODS.items()
        }
        for sensor in SENSORS
    }
    doubles = {
        key: [stats(select(double, noise=n, **wanted)) for n in DOUBLE_NOISES] for key, wanted in METHODS.items()
    }
    bound = float(np.sqrt(np.mean([r["error"] ** 2 for c, r in outcomes if "method" not in c])))
    shared = [
        (c, r)
        for c, r in pendulum
        if c["residual"] == "linear" and c["sensor"] == "gaussian" and c["seed"] in solver_seeds
    ]
    ratios = {
        noise: ratio(*(stats(select(shared, noise=noise, **METHODS[key]))["mean"] for key in ("network", "k40")))
        for noise in noises
        if noise in PAPER_NOISES
    }
    late = [r for c, r in pendulum if c["method"] == "default" and c["sensor"].endswith("late") and "diagnostics" in r]
    summary: Summary = {
        "noises": noises,
        "curves": curves,
        "sensors": sensors,
        "double": doubles,
        "floor": [100.0 * noise * bound for noise in noises],
        "network_to_solver": [[noise, value] for noise, value in ratios.items()],
        "geometric": geometric_mean(list(ratios.values())),
        "late": len(late),
        "warned": sum(any(" lags " in text for text in r["diagnostics"]["warnings"]) for r in late),
        "sindy": available(),
        "seeds": list(seeds),
        "quick": quick,
        "quick_words": f"one seed, three noise levels, {QUICK_ITERATIONS} solver iterations instead of 1,200",
    }
    return {**summary, "notes": notes(summary)}


def notes(summary: Summary) -> list[str]:
    """Summary sentences; with few seeds, ratios of such small errors are mostly chance, and the text says so."""
    sensors = summary["sensors"]
    clean = sensors["gaussian"]["default"]["mean"]
    costs = ", ".join(f"{s} {number(ratio(sensors[s]['default']['mean'], clean), 2)}" for s in SENSORS[1:])
    worst = max((value for _, value in summary["network_to_solver"] if value is not None), default=None)
    default = zip(summary["noises"], summary["curves"]["linear"]["default"], summary["floor"], strict=True)
    above = ", ".join(f"{number(ratio(_rms(entry), floor), 2)} at {percent(n)}" for n, entry, floor in default if floor)
    failed = sum(e["failed"] for part in summary["curves"].values() for entries in part.values() for e in entries)
    seeds = len(summary["seeds"])
    luck = f"(RMS over {seeds} seeds)" if seeds > 1 else "(one seed: mostly chance, within a factor of several)"
    said = [
        *([solver_caution()] if summary["quick"] else []),
        "Network only against the K = 40 solver with the same network on the same seeds, linear damping: "
        f"{number(summary['geometric'], 2)} in the geometric mean, at most {number(worst, 2)} (the paper: 0.65 and "
        "1.81).",
        f"The default's error in units of the Cramer-Rao bound of the damping alone {luck}: {above}.",
        f"What bad sensors cost the default, against clean Gaussian noise of 1 %, mean over {seeds} seed(s): {costs}.",
        f"Of {summary['late']} default fits with a late channel, {summary['warned']} warned of the lag.",
    ]
    if not summary["sindy"]:
        said.append("pysindy is not installed, so its column is empty; pip install 'tinyude[compare]' brings it.")
    if failed:
        said.append(f"{failed} fits failed and are left out of the means.")
    return said


def _rms(entry: dict[str, Any]) -> float | None:
    return float(np.sqrt(np.mean(np.square(entry["values"])))) if entry["values"] else None


@styled
def figure(summary: Summary) -> Figure:
    words = (
        "Pendulum, 60 s at 1 kHz. Sensors: linear residual, 1 % noise. Dotted: Cramer-Rao bound of the damping alone."
    )
    drawn, grid = panels(3, 7.6, summary, words, rows=2)
    for axes, residual in zip(grid, RESIDUALS, strict=False):
        x = noise_ticks(axes, summary["noises"])
        for key in METHODS:
            curve(axes, key, x, summary["curves"][residual][key])
        if residual == "linear":
            axes.plot(x, [value or np.nan for value in summary["floor"]], ":", color="#1b1f24", linewidth=1.4)
        axes.set(yscale="log", title=f"{residual} residual", xlabel="sensor noise")
        axes.tick_params(axis="x", labelsize=8)
    last = grid[5]
    for key in ("k40", *JETS, "sindy"):
        _, colour, marker = LOOKS[key]
        means = [summary["sensors"][sensor][key]["mean"] or np.nan for sensor in SENSORS]
        last.plot(means, range(len(SENSORS)), marker, color=colour, markersize=5)
    last.set_yticks(range(len(SENSORS)), SENSORS, fontsize=8.5)
    last.invert_yaxis()
    last.set(xscale="log", title="sensors", xlabel="relative field error")
    for axes in (grid[0], grid[3]):
        axes.set_ylabel("relative field error")
    drawn.legend(*grid[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return drawn


def tables(summary: Summary) -> list[Table]:
    names = [LOOKS[key][0] for key in METHODS]
    rows = [
        [residual, percent(noise), *(spread(summary["curves"][residual][key][i]) for key in METHODS),
         number(summary["floor"][i]) if residual == "linear" else "-"]
        for residual in RESIDUALS
        for i, noise in enumerate(summary["noises"])
    ]  # fmt: skip
    sensors = [[sensor, *(spread(summary["sensors"][sensor][key]) for key in METHODS)] for sensor in SENSORS]
    doubles = [
        [percent(n), *(spread(summary["double"][key][i]) for key in METHODS)] for i, n in enumerate(DOUBLE_NOISES)
    ]
    return [
        Table("Relative field error by residual and noise", ["residual", "noise", *names, "Cramer-Rao"], rows),
        Table("Relative field error by sensor, linear residual, 1 % noise", ["sensor", *names], sensors),
        Table("Double pendulum, visited states", ["noise", *names], doubles),
    ]
