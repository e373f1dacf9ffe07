"""Coverage of 90 % intervals: parameters, terms and residual of randomly drawn pendulums."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import binom

from tinyude.estimator.ude import UDE
from tinyude.experiments.experiment import Config, Outcome, Result, Summary, Table, Unit, percent
from tinyude.physics import Parameter, Physics
from tinyude.systems import pendulum

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "coverage"
TITLE = "How often 90 % intervals hold the truth"
SETUPS: dict[str, dict[str, Any]] = {
    "angle and rate, 250 Hz, 1 %": {"stride": 4, "measured": ["theta", "omega"], "options": {"hidden": ()}},
    "angle only, 250 Hz, 1 %": {"stride": 4, "measured": ["theta"], "options": {"hidden": ()}},
    "angle only, 20 Hz, 1 %": {"stride": 50, "measured": ["theta"], "options": {"hidden": ()}},
    "a term beside a network, 1 %": {
        "stride": 4, "measured": ["theta", "omega"], "wave": 0.4, "options": {"library": ["omega"], "keep": True},
    },
}  # fmt: skip
PLANTS, SECONDS, NOISE = 120, 20.0, 0.01
FIRST = 7000  # seed of the first plant; no constant was tuned on these
VISITED = 200  # states at which the residual's interval is evaluated
WANTED = (0.85, 0.95)


def units(quick: bool) -> list[Unit]:
    plants = 6 if quick else PLANTS
    return [Unit(run_plant, {"setup": name, "seed": FIRST + k}, 3.0) for name in SETUPS for k in range(plants)]


def run_plant(config: Config) -> Result:
    """Which intervals of one plant contain the truth: 0 or 1 for a number, a share for the residual."""
    setup, seed = SETUPS[config["setup"]], config["seed"]
    rng = np.random.default_rng(seed)
    gravity, damping = float(rng.uniform(6.0, 14.0)), float(rng.uniform(0.2, 0.8))
    wave = float(setup.get("wave", 0.0))

    def friction(theta: Any, omega: Any) -> Any:
        return -damping * omega - wave * np.exp(-2.0 * (theta - 0.3) ** 2)  # a bump that no library term has

    plant = pendulum("A", friction, gravity=gravity)
    t, Y = plant.stream(noise=NOISE, seed=seed, seconds=SECONDS)
    _, clean = plant.stream(noise=0.0, seed=seed, seconds=SECONDS)
    strength = gravity if wave else Parameter(1.2 * gravity, learn=True)
    physics = Physics(["theta", "omega"], ["omega", "-k*sin(theta)"], parameters={"k": strength})
    stride, measured = setup["stride"], setup["measured"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ude = UDE(physics, measured=measured, **setup["options"])
        ude.fit(Y[::stride, : len(measured)], t=float(t[stride] - t[0]))
    return _held(ude, gravity, damping, friction, clean[:: max(1, len(clean) // VISITED)], bool(wave))


def _held(ude: UDE, gravity: float, damping: float, friction: Any, states: Any, network: bool) -> Result:
    held: Result = {}
    if not network:
        ((_, _, low, high),) = ude.diagnostics_["parameters"]
        held["parameter"] = float(low <= gravity <= high)
    found = [entry for entry in ude.diagnostics_["terms"] if entry["term"] == "omega"]
    only = len(ude.diagnostics_["terms"]) == 1
    held["term"] = float(found[0]["low"] <= -damping <= found[0]["high"]) if found and only else None
    low, high = ude.residual_interval(states)
    truth = friction(states[:, 0], states[:, 1])
    held["residual"] = float(np.mean((low[:, 1] <= truth) & (truth <= high[:, 1])))
    return held


def summarise(outcomes: list[Outcome], quick: bool) -> Summary:
    rows = []
    for name in SETUPS:
        found = [result for config, result in outcomes if config["setup"] == name]
        row: dict[str, Any] = {"setup": name, "plants": len(found)}
        for key in ("parameter", "term", "residual"):
            values = [result[key] for result in found if result.get(key) is not None]
            row[key] = float(np.mean(values)) if values else None
        row["other_terms"] = sum(1 for result in found if "term" in result and result["term"] is None)
        rows.append(row)
    low, high = WANTED
    outside = [
        f"{row['setup']}: {key} {percent(round(row[key], 3))}"
        for row in rows
        for key in ("parameter", "term", "residual")
        if row[key] is not None and not low <= row[key] <= high
    ]
    plants = max(row["plants"] for row in rows)
    few, many = (int(count) for count in binom.interval(0.9, plants, 0.9))
    notes = [
        f"Between {percent(low)} and {percent(high)} is wanted; outside: {'; '.join(outside) or 'none'}.",
        f"Exact intervals of {plants} plants hold {percent(round(few / plants, 3))} to "
        f"{percent(round(many / plants, 3))} of the numbers nine times in ten, by chance alone.",
    ]
    return {"rows": rows, "quick": quick, "quick_words": "six plants each", "notes": notes}


def figure(summary: Summary) -> Figure | None:
    return None


def tables(summary: Summary) -> list[Table]:
    def share(value: float | None) -> str:
        return "-" if value is None else percent(round(value, 3))

    rows = [
        [row["setup"], str(row["plants"]), *(share(row[key]) for key in ("parameter", "term", "residual")),
         str(row["other_terms"])]
        for row in summary["rows"]
    ]  # fmt: skip
    header = ["record", "plants", "parameter", "term", "residual", "fits with other terms"]
    return [Table("Share of 90 % intervals that hold the truth", header, rows)]
