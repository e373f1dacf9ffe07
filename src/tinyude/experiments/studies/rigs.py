"""Simulated rigs for calibrating the verdict: plants with an incomplete known part, without a fault or with one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.experiments.studies.rig_plants import PLANTS, UNSEEN, Plant
from tinyude.experiments.studies.rig_trials import BLIND, TUNING
from tinyude.model.dynamics import known_dynamics
from tinyude.model.simulation import free_run
from tinyude.physics import Parameter, Physics

Array = NDArray[Any]


@dataclass(frozen=True)
class Rig:
    """What a user provides: physics, samples, sample period, inputs, and how inputs behave between samples."""

    physics: Physics
    Y: Array
    period: float
    u: Array | None
    measured: tuple[str, ...] | None
    hold: str = "auto"


ALL = PLANTS | UNSEEN | TUNING | BLIND
FAULTS = (
    "missing input", "flipped sign", "degrees", "millimetres", "grams", "milliseconds", "late input", "late sensor",
    "wrong hold", "too short", "stuck", "quantised", "no excitation", "hidden actuator", "bounded parameter",
    "wrong parameter", "swapped columns", "clipped",
)  # fmt: skip


def can_occur(plant: Plant, fault: str) -> bool:
    """Whether the fault can occur in the plant."""
    needs: dict[str, Any] = {
        "missing input": plant.undriven,
        "flipped sign": plant.flipped,
        "degrees": plant.angle,
        "millimetres": plant.length,
        "grams": plant.mass,
        "late input": plant.drive,
        "late sensor": plant.measured is None and any(known in plant.states for known in plant.known),
        "wrong hold": plant.drive and plant.period > 0.003,
        "no excitation": plant.drive,
        "hidden actuator": plant.drive,
        "swapped columns": len(plant.measured or plant.states) > 1,
    }
    return bool(needs.get(fault, True))


def make_rig(name: str, fault: str, seed: int) -> Rig:
    """The rig of a plant with a fault ("" for a sound one); the seed draws noise, excitation and parameters."""
    rng = np.random.default_rng([seed, sum(map(ord, name + fault))])
    plant = ALL[name]
    values = {p: v * float(rng.uniform(0.85, 1.2)) for p, v in plant.parameters.items()}
    if fault == "too short":
        plant = replace(plant, seconds=max(0.004 * plant.seconds, 24.0 * plant.period))  # 80 samples may suffice
    if fault == "wrong hold":
        plant = replace(plant, period=8.0 * plant.period)
    t = np.arange(0.0, plant.seconds, plant.period)
    inputs = ["u"] if plant.drive else []
    logged, applied, fine = _drive(plant, fault, t, rng)
    truth = known_dynamics(Physics(plant.states, plant.truth, inputs, values, ()))
    start = np.array(plant.start) * rng.uniform(0.8, 1.1, len(plant.start))
    scale = np.maximum(np.abs(start), 1.0)
    X = free_run(truth, start, fine, scale, None if applied is None else applied[:, None])
    X = X[:: max(1, (len(fine) + len(t) - 1) // len(t))][: len(t)]
    measured = plant.measured
    columns = [plant.states.index(s) for s in (measured or plant.states)]
    Y = X[:, columns] + X[:, columns].std(axis=0) * float(rng.uniform(*plant.noise)) * rng.normal(
        size=(len(t), len(columns))
    )
    known, period = plant.known, plant.period
    u = None if logged is None else logged[:, None]
    parameters: dict[str, Any] = dict(values)
    names = measured or plant.states
    if fault == "missing input":
        known, inputs, u = plant.undriven or (), [], None
    elif fault == "flipped sign":
        known = plant.flipped or ()
    elif fault in ("degrees", "millimetres"):
        chosen, factor = (plant.angle, 180.0 / np.pi) if fault == "degrees" else (plant.length, 1000.0)
        Y = Y * np.where([n in chosen for n in names], factor, 1.0)
    elif fault == "grams":
        parameters[plant.mass] = 1000.0 * values[plant.mass]
    elif fault == "milliseconds":
        period = 1000.0 * period
    elif fault == "late sensor":
        late = max(2, len(t) // 400)
        Y[:, -1] = np.concatenate([np.repeat(Y[:1, -1], late), Y[:-late, -1]])
    elif fault == "stuck":
        for begin in rng.integers(0, int(0.9 * len(t)), 3):
            Y[begin : begin + len(t) // 40, 0] = Y[begin, 0]
    elif fault == "quantised":
        step = 0.15 * Y.std(axis=0)
        Y = np.round(Y / step) * step
    elif fault == "swapped columns":
        Y = Y[:, [1, 0, *range(2, Y.shape[1])]]
    elif fault == "clipped":
        Y[:, 0] = np.minimum(Y[:, 0], np.quantile(Y[:, 0], 0.85))
    elif fault == "wrong parameter":
        first = next(p for p in plant.parameters if p != "g")
        parameters[first] = 2.0 * values[first]
    elif fault == "bounded parameter":
        first = next(p for p in plant.parameters if p != "g")
        parameters[first] = Parameter(1.6 * values[first], True, 1.4 * values[first], 2.0 * values[first])
    physics = Physics(plant.states, known, inputs, {p: v for p, v in parameters.items() if _uses(known, p)})
    return Rig(physics, Y, period, u, measured, "held" if fault == "wrong hold" else "auto")


def _uses(known: tuple[str, ...], parameter: str) -> bool:
    import re

    return any(re.search(rf"\b{parameter}\b", text) for text in known)


def _drive(plant: Plant, fault: str, t: Array, rng: np.random.Generator) -> tuple[Array | None, Array | None, Array]:
    """The input as logged and as applied, and the times of the latter."""
    if plant.drive is None:
        return None, None, t
    if fault == "no excitation":
        steady = np.full(len(t), float(np.mean(plant.drive(t, rng))))
        return steady, steady, t
    if fault == "wrong hold":  # a smooth input, sampled at the plant's period
        fine = np.arange(0.0, t[-1] + 0.5 * plant.period, plant.period / 16)
        smooth = plant.drive(fine, rng)
        width = 33
        smooth = np.convolve(np.pad(smooth, width, mode="edge"), np.ones(width) / width, mode="same")[width:-width]
        return smooth[::16][: len(t)], smooth, fine
    applied = plant.drive(t, rng)
    if fault == "late input":
        late = max(3, round(0.1 * _slowest(plant) / plant.period))
        return applied, np.concatenate([np.repeat(applied[:1], late), applied[:-late]]), t
    if fault == "hidden actuator":
        pole = plant.period / (0.08 * _slowest(plant))
        slow = np.empty_like(applied)
        level = applied[0]
        for row, value in enumerate(applied):
            level += min(pole, 1.0) * (value - level)
            slow[row] = level
        return applied, slow, t
    return applied, applied, t


def _slowest(plant: Plant) -> float:
    """Approximate period of the motion in seconds."""
    return plant.seconds / 20.0
