"""The benefit of every mechanism of the streaming learner: each one off against on, over many kinds of records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from tinyude import native
from tinyude.experiments.drawing import panels
from tinyude.experiments.experiment import (
    Config,
    Outcome,
    Result,
    Summary,
    Table,
    Unit,
    geometric_mean,
    number,
    ratio,
    select,
)
from tinyude.export.boards.memory_presets import board_config
from tinyude.physics.library import default_terms, linear_terms
from tinyude.report.figures import styled
from tinyude.systems import System, double_pendulum, pendulum
from tinyude.training.known import known_programs
from tinyude.training.restart import restart

Array = NDArray[Any]
NAME = "mechanisms"
TITLE = "What each mechanism of the streaming learner is worth"
SEEDS, UPDATES, LEVEL = 6, 400, 0.01
WORSE = 5.0  # times the noise
ON = "on"
# Off: fields of the configuration; the network alone where a library would hide the network's effect.
OFF: dict[str, dict[str, Any]] = {
    "repair": {"repair": False},
    "angle/rate fusion, carried angle": {"rate_channel": ()},  # both integrate the rate
    "angle wrapping": {"wrap": ()},
    "change detection": {"follow": False},
    "recalibration": {"recalibrate": False},
    "hold-out test": {"holdout": 0},
    "nodes": {"physics_nodes": 1, "network_nodes": 1},
    "last-layer solve": {"last_layer": False},
    "second start": {},
}
NETWORK_ALONE = ("angle wrapping", "nodes", "last-layer solve", "second start")
# A board that needs its network: no term of the velocity, judged while it streams, without an end of the record.
LIVE = "a change, network needed"
LIVE_SETTINGS: dict[str, Any] = {"judged": True, "hidden": (8, 8), "network_nodes": 1, "block": 100}
PAYS, HURTS = 1.1, 0.9  # ratios of the geometric mean error, off over on
QUICK = ("kicked", "outliers")


def _outliers(rows: Array, rng: np.random.Generator) -> Array:
    rows[rng.random(rows.shape) < 0.002] *= 3.0
    rows[rng.random(rows.shape) < 0.002] += 2.0
    return rows


def _dropouts(rows: Array, rng: np.random.Generator) -> Array:
    rows[rng.random(rows.shape) < 0.01] = np.nan
    return rows


def _worse(rows: Array, rng: np.random.Generator) -> Array:
    """After a third of the record the sensor noise is multiplied by WORSE."""
    later = rows[len(rows) // 3 :]
    later += rng.normal(size=later.shape) * np.sqrt(WORSE**2 - 1.0) * LEVEL * rows.std(axis=0)
    return rows


def _unchanged(rows: Array, rng: np.random.Generator) -> Array:
    return rows


# name: plant, seconds, decimation factor, sensor fault
RECORDS: dict[str, tuple[Callable[[], System], float, int, Callable[[Array, np.random.Generator], Array]]] = {
    "kicked": (lambda: pendulum("A"), 24.0, 2, _unchanged),
    "smooth": (lambda: pendulum("A"), 3.9, 1, _unchanged),
    "dry friction": (lambda: pendulum("A", residual="dry"), 24.0, 2, _unchanged),
    "rotating": (lambda: pendulum("A", residual="cogging"), 24.0, 2, _unchanged),
    "chaotic": (double_pendulum, 10.0, 1, _unchanged),
    "outliers": (lambda: pendulum("A"), 24.0, 2, _outliers),
    "dropouts": (lambda: pendulum("A"), 24.0, 2, _dropouts),
    "a change": (lambda: pendulum("A", damping_change=(16.0, 1.6)), 40.0, 2, _unchanged),
    LIVE: (lambda: pendulum("A", damping_change=(90.0, 1.6)), 180.0, 2, _unchanged),
    "a worse sensor": (lambda: pendulum("A"), 60.0, 2, _worse),
    "a worse sensor, then a change": (lambda: pendulum("A", damping_change=(60.0, 1.6)), 90.0, 2, _worse),
    "slow sampling": (lambda: pendulum("A"), 60.0, 20, _unchanged),
}


def units(quick: bool) -> list[Unit]:
    records, seeds = (QUICK, 1) if quick else (tuple(RECORDS), SEEDS)
    return [
        Unit(run, {"record": record, "seed": seed, "off": off, "alone": alone, "updates": UPDATES}, 2.0)
        for record in records
        for seed in range(seeds)
        for alone in (False, True)
        for off in (ON, *(name for name in OFF if (name in NETWORK_ALONE) is alone))
    ]


def run(config: Config) -> Result:
    """One stream through one learner, evaluated at the true states that it visited."""
    make, longest, every, sensors = RECORDS[config["record"]]
    seconds = min(longest, config.get("seconds", longest))
    plant = make()
    _, rows = plant.stream(LEVEL, config["seed"], seconds)
    _, clean = plant.clean(config["seed"], seconds)
    rows = sensors(rows[::every].copy(), np.random.default_rng(config["seed"]))
    live = config["record"] == LIVE
    terms = linear_terms(plant.physics)[:2] if live else [] if config["alone"] else default_terms(plant.physics, {})
    period = every / plant.rate
    settings = board_config(
        plant.physics, samples=len(rows), period=period, terms=terms, calibration=len(rows) // (16 if live else 4),
        stride=max(1, 4 // every), max_half=min(250, max(16, len(rows) // 16)), holdout=256, seed=config["seed"],
        updates=(5 if live else 1) * config["updates"], **(LIVE_SETTINGS if live else {"network_nodes": 3}),
    )  # fmt: skip
    settings = replace(settings, **OFF.get(config["off"], {}))
    learner = native.NativeLearner(settings, known_programs(plant.physics, terms, settings.on), "float64")
    learner.push(rows)
    if not live:
        learner.finish()
    if config["alone"] and config["off"] != "second start" and not live:
        restart(learner, settings, lambda: learner.step(settings.updates))
    state = learner.state()
    visited, on = clean[-len(clean) // 3 :: 50], list(settings.on)
    missing = plant.missing(visited, seconds)[:, on]
    error = learner.residual(visited) - missing
    return {
        "error": float(np.sqrt(np.mean(error**2) / np.mean(missing**2))),
        "accepted": int(state["accepted"]),
        "replaced": int(state["replaced"]),
        "recalibrations": int(state["recalibrations"]),
        "changes": int(state["changes"]),
    }


def summarise(outcomes: list[Outcome], quick: bool) -> Summary:
    records = [name for name in RECORDS if any(config["record"] == name for config, _ in outcomes)]
    means = {
        name: [
            ratio(*(_rms(select(outcomes, record=record, off=off, alone=name in NETWORK_ALONE)) for off in (name, ON)))
            for record in records
        ]
        for name in OFF
    }
    overall = {name: geometric_mean(values) for name, values in means.items()}
    spreads = {name: _spread(values) for name, values in means.items()}
    notes = [f"{name}: {_error_ratio(overall[name], means[name], records)}" for name in OFF]
    return {
        "records": records, "means": means, "overall": overall, "spreads": spreads, "notes": notes, "quick": quick,
        "quick_words": f"{len(QUICK)} records, one seed",
    }  # fmt: skip


def _rms(results: list[Result]) -> float:
    """RMS over seeds: the error of one coefficient with one seed may be near 0, with an arbitrary logarithm."""
    return float(np.sqrt(np.mean([result["error"] ** 2 for result in results])))


def _spread(values: list[float | None]) -> float | None:
    """Geometric standard deviation over the records."""
    known = [value for value in values if value]
    return float(np.exp(np.std(np.log(known)))) if len(known) > 1 else None


def _error_ratio(overall: float | None, means: list[float | None], records: list[str]) -> str:
    gains = [record for record, mean in zip(records, means, strict=True) if mean and mean > PAYS]
    harms = [record for record, mean in zip(records, means, strict=True) if mean and mean < HURTS]
    said = [f"without it the error is {number(overall, 3)} times as large (geometric mean over the records)"]
    said += [f"it helps on {', '.join(gains)}"] if gains else ["it helps nowhere"]
    said += [f"it hurts on {', '.join(harms)}"] if harms else []
    return "; ".join(said) + "."


@styled
def figure(summary: Summary) -> Figure:
    drawn, axes = panels(1, 3.2, summary, "Error without a mechanism over error with it; above 1 it pays.")
    places = np.arange(len(OFF))
    for record, column in zip(summary["records"], np.arange(len(summary["records"])), strict=True):
        values = [summary["means"][name][column] or np.nan for name in OFF]
        axes[0].plot(values, places, "o", markersize=4, label=record)
    axes[0].axvline(1.0, color="#1b1f24", linewidth=0.8)
    axes[0].set_yticks(places, list(OFF))
    axes[0].set(xscale="log", xlabel="error off / error on")
    drawn.legend(loc="outside upper center", ncols=3)
    return drawn


def tables(summary: Summary) -> list[Table]:
    rows = [
        [record, *(number(summary["means"][name][k], 3) for name in OFF)] for k, record in enumerate(summary["records"])
    ]
    rows.append(["all", *(number(summary["overall"][name], 3) for name in OFF)])
    rows.append(["spread", *("x/ " + number(summary["spreads"][name], 2) for name in OFF)])
    title = "Error without a mechanism over error with it (root mean squares over seeds)"
    return [Table(title, ["record", *OFF], rows)]
