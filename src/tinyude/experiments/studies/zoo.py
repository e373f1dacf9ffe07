"""Plants from many fields with one or two missing terms: the default, other settings and pysindy's weak form."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import tinyude as tu
from tinyude.errors import TinyUDEError
from tinyude.experiments.drawing import panels
from tinyude.experiments.experiment import Config, Outcome, Result, Summary, Table, Unit, number, percent, select
from tinyude.experiments.studies.weak_sindy import available
from tinyude.experiments.studies.zoo_peer import TunedWeakSindy
from tinyude.report.figures import styled
from tinyude.systems.zoo import Plant
from tinyude.systems.zoo_plants import PLANTS, REPORTING

NAME = "zoo"
TITLE = "A zoo of plants"
NOISES = (0.001, 0.01, 0.05)
SOLVED = 0.05  # relative RMS error of the missing terms over the visited states
METHODS: dict[str, dict[str, Any] | None] = {  # settings of a UDE; None: pysindy
    "default": {},
    "solver-free": {"refine": False},
    "network": {"library": None, "refine": False},
    "streaming": {"network": "mlp", "refine": False},
    "pysindy": None,
}
COLOURS = {"default": "#0b6e4f", "network": "#2b6cb0", "streaming": "#b7791f", "pysindy": "#9b2c2c"}
HALVES = ("tuning", "reporting")
QUICK = 2  # plants of a quick run


def units(quick: bool) -> list[Unit]:
    plants, noises = (REPORTING[:QUICK], (0.01,)) if quick else (PLANTS, NOISES)
    return [
        Unit(run, {"plant": plant.name, "noise": noise, "method": method}, 2.0)
        for noise in noises
        for plant in plants
        for method in METHODS
        if METHODS[method] is not None or available()
    ]


def run(config: Config) -> Result:
    """One fit, evaluated on the true states that the record visited."""
    plant = plant_named(config["plant"])
    samples, inputs = plant.record(config["noise"])
    settings = METHODS[config["method"]]
    given = inputs if plant.inputs else None
    started = time.process_time()
    if settings is None:
        peer = TunedWeakSindy(plant.physics, plant.measured).fit(samples, given, plant.period)
        return {"error": plant.error(peer.residual)}
    ude = tu.UDE(plant.physics, measured=plant.measured, **settings)
    try:
        ude.fit(samples, u=given, t=plant.period)
    except TinyUDEError as error:
        return {"failed": str(error)}
    seconds = time.process_time() - started
    verdict = ude.verdict_.status
    found = {"error": plant.error(ude.residual), "seconds": seconds, "verdict": verdict}
    return found | {"equations": ude.equations()}


def plant_named(name: str) -> Plant:
    """The plant with that name."""
    return next(plant for plant in PLANTS if plant.name == name)


def summarise(outcomes: list[Outcome], quick: bool) -> Summary:
    reporting = {plant.name for plant in REPORTING}
    noises = sorted({config["noise"] for config, _ in outcomes})
    names = [plant.name for plant in PLANTS if any(config["plant"] == plant.name for config, _ in outcomes)]
    errors = {
        f"{method} {noise}": [_error(select(outcomes, plant=n, noise=noise, method=method)) for n in names]
        for method in METHODS
        for noise in noises
    }
    failures = []
    for noise in noises:
        for name, error in zip(names, errors[f"default {noise}"], strict=True):
            if error is None or error > SOLVED:
                found = select(outcomes, plant=name, noise=noise, method="default")[0]
                failures.append(f"{name} ({percent(noise)}): {_diagnosis(found)}")
    notes = []
    for noise in noises:
        results = select(outcomes, noise=noise, method="default")
        fits = [r for r in results if r.get("error", np.inf) < SOLVED]
        seconds = [r["seconds"] for r in results if "seconds" in r] or [0.0]
        alarms = sum(r.get("verdict") != "good" for r in fits)
        notes.append(
            f"{percent(noise)} noise: of the {len(fits)} plants that the default solves, {alarms} do not get the "
            f'verdict "good"; its fits took {np.median(seconds):.1f} s of one core (median), {max(seconds):.1f} s '
            "at most."
        )
    return {
        "plants": names, "noises": noises, "errors": errors, "failures": failures,
        "reporting": [name in reporting for name in names], "quick": quick, "quick_words": f"{QUICK} plants",
        "notes": notes,
    }  # fmt: skip


def _error(results: list[Result]) -> float | None:
    """None if the fit failed, or if pysindy is not installed."""
    return results[0].get("error") if results else None


def _shares(summary: Summary, noise: float, half: str) -> list[str]:
    """Number of plants of a half that each method solves."""
    shares = []
    for method in METHODS:
        of_all = zip(summary["errors"][f"{method} {noise}"], summary["reporting"], strict=True)
        errors = [error for error, reporting in of_all if reporting == (half == "reporting")]
        solved = sum(error is not None and error < SOLVED for error in errors)
        shares.append("-" if all(error is None for error in errors) else f"{solved} of {len(errors)}")
    return shares


def _diagnosis(result: Result) -> str:
    return str(result["failed"]) if "failed" in result else "; ".join(result["equations"])


@styled
def figure(summary: Summary) -> Figure:
    drawn, axes = panels(1, 0.9 + 0.16 * len(summary["plants"]), summary, "Error of the missing terms, 1 % noise.")
    noise = 0.01 if 0.01 in summary["noises"] else summary["noises"][0]
    places = np.arange(len(summary["plants"]))
    for method, colour in COLOURS.items():
        values = [np.nan if e is None else max(e, 1e-6) for e in summary["errors"][f"{method} {noise}"]]
        axes[0].plot(values, places, "o", color=colour, markersize=4, label=method)
    axes[0].axvline(SOLVED, color="#1b1f24", linewidth=0.8, linestyle="--")
    axes[0].set_yticks(places, summary["plants"], fontsize=6)
    axes[0].set(xscale="log", xlabel="relative RMS error of the missing terms")
    drawn.legend(loc="outside upper center", ncols=len(COLOURS))
    return drawn


def tables(summary: Summary) -> list[Table]:
    by_plant = [
        Table(
            f"Error of the missing terms by plant, {percent(noise)} noise",
            ["plant", "half", *METHODS],
            [
                [name, HALVES[held], *(number(summary["errors"][f"{method} {noise}"][k], 2) for method in METHODS)]
                for k, (name, held) in enumerate(zip(summary["plants"], summary["reporting"], strict=True))
            ],
        )
        for noise in summary["noises"]
    ]
    failed = [[text] for text in summary["failures"]] or [["none"]]
    shares = [[percent(noise), half, *_shares(summary, noise, half)] for noise in summary["noises"] for half in HALVES]
    return [
        Table(f"Plants whose missing terms are found within {percent(SOLVED)}", ["noise", "half", *METHODS], shares),
        *by_plant,
        Table("Plants that the default does not solve, and what it found", ["plant"], failed),
    ]
