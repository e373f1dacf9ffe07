"""Exports on an emulated Cortex-M4F: the cost of a push and of a work slice, and whether learning disturbs sampling.

A motor and a heated block, whose sensors return the value at the time they are read, at three processor clock rates,
compared with the same learner sampled exactly on time.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude import native
from tinyude.estimator.ude import UDE
from tinyude.experiments.experiment import Table
from tinyude.export import Chip, chip_of_model, chip_of_physics
from tinyude.export.life import MIPS, Life, build_life, count_life, pace_life
from tinyude.physics import Physics
from tinyude.systems import pendulum

Array = NDArray[Any]
Moved = Callable[[int, int], None]
FINE = 16  # sensor rows per sample period
UNWORN = 0.8  # factor on the terms that a board starts from
SAVE_EVERY = 4000  # samples


@dataclass(frozen=True)
class Paced:
    """A plant with one measured state and one held input, and the rate that its model lacks."""

    name: str
    physics: Physics
    measured: tuple[str, ...]
    library: tuple[str, ...]
    period: float  # s
    hold: int  # sample periods for which an input is held
    swing: tuple[float, float]  # of the input
    noise: float
    samples: int  # of a run
    field: Callable[[Array, float], Array]  # the truth

    def record(self, samples: int, seed: int) -> tuple[Array, Array]:
        """Clean rows (samples * FINE + 1) of sensor and input, and noise (samples + 1)."""
        rng = np.random.default_rng(seed)
        x, step, rows = np.zeros(len(self.physics.states)), self.period / FINE, []
        u = 0.0
        for index in range(samples * FINE + 1):
            if index % (FINE * self.hold) == 0:
                u = rng.uniform(*self.swing)
            rows.append([x[0], u])
            one = self.field(x, u)
            two = self.field(x + step / 2 * one, u)
            three = self.field(x + step / 2 * two, u)
            x = x + step / 6 * (one + 2 * two + 2 * three + self.field(x + step * three, u))
        return np.array(rows), self.noise * rng.standard_normal((samples + 1, 1))


def ideal_rows(clean: Array, noise: Array) -> Array:
    """Rows sampled exactly on time, beginning one period after the start."""
    rows = clean[FINE::FINE].copy()
    rows[:, :1] += noise[1:]
    return np.asarray(rows, np.float32)


PLANTS = (
    Paced(
        "motor, 500 Hz, angle alone", Physics(["angle", "speed"], ["speed", "40.0*V"], inputs=["V"]), ("angle",),
        ("speed", "tanh(20*speed)"), 0.002, 100, (-3.0, 3.0), 1e-3, 10_000,
        lambda x, u: np.array([x[1], 40.0 * u - 4.0 * x[1] - 6.0 * np.tanh(20.0 * x[1])]),
    ),
    Paced(  # above the temperature around it, in K, heated with kW
        "heated block, 1 Hz", Physics(["T"], ["0.5*P"], inputs=["P"]), ("T",),
        ("T", "T**2"), 1.0, 120, (0.0, 2.0), 0.05, 2000,
        lambda x, u: np.array([0.5 * u - 0.01 * x[0] - 5e-5 * x[0] ** 2]),
    ),
)  # fmt: skip


def paced_chip(plant: Paced, samples: int = 4000) -> Chip:
    """The fitted model of a record of the plant, with its coefficients scaled by UNWORN as the board's start.

    A board keeps a model until its windows contradict it; here they do.
    """
    rows = ideal_rows(*plant.record(samples, seed=1))
    ude = UDE(plant.physics, library=list(plant.library), measured=list(plant.measured), hidden=(4,), updates=50)
    chip = chip_of_model(ude.fit(rows[:, :1], t=plant.period, u=rows[:, 1:]))
    assert chip.start is not None
    start = replace(chip.start, coefficients=UNWORN * chip.start.coefficients)
    return replace(chip, start=start, config=replace(chip.config, block=25))  # the library is solved within seconds


def run_paced(plant: Paced, chip: Chip, elf: Path, samples: int, shift: int) -> tuple[Life, dict[str, Any]]:
    """A run in real time, and the learner's state after ideal sampling."""
    clean, noise = plant.record(samples, seed=2)
    ideal = native.NativeLearner(chip.config, chip.programs, "float32")
    assert chip.start is not None
    ideal.start(chip.start)
    ideal.push(ideal_rows(clean, noise))
    return pace_life(elf, plant.period, clean, noise, FINE, shift), ideal.state()


def largest_difference(life: Life, ideal: dict[str, Any]) -> float:
    """The largest difference between a coefficient and that of ideal sampling, in standard errors of the latter."""
    coefficients, errors = ideal["coefficients"], ideal["errors"]
    kept = np.flatnonzero(coefficients).tolist()
    if sorted(life.terms) != kept:
        return np.inf
    return float(max((abs(life.terms[j][0] - coefficients[j]) / errors[j] for j in kept), default=0.0))


def changing_life(samples: int = 24_000) -> tuple[Chip, Array]:
    """A pendulum at 1 kHz with a full reservoir, a step change in its damping, then noisier sensors."""
    plant = pendulum(damping_change=(9.0, 1.6))
    rows = plant.stream(noise=0.01, seed=1, seconds=samples / 1000.0)[1].astype(np.float32)
    worse = np.random.default_rng(0).standard_normal(rows.shape) * 0.08 * np.sqrt(np.mean(rows**2, axis=0))
    rows[16_000:] += worse[16_000:].astype(np.float32)
    chip = chip_of_physics(plant.physics)
    settings: dict[str, Any] = {"calibration": 3000, "stride": 2, "reservoir": 2048, "block": 100, "updates": 200}
    return replace(chip, config=replace(chip.config, **settings)), rows


def measure(moved: Moved) -> dict[str, Any]:
    """Costs over whole runs with and without a network, and runs in real time at every clock rate."""
    found: dict[str, Any] = {"life": {}, "paced": {}}
    total, done = 2 + len(PLANTS) * len(MIPS), 0
    chip, rows = changing_life()
    for name, small in (("network", chip), ("no network", chip.without_network())):
        with tempfile.TemporaryDirectory() as folder:
            life = count_life(build_life(small, Path(folder)), rows, SAVE_EVERY)
        push, piece = life.cost("push"), life.cost("slice")
        found["life"][name] = life.figures | {"push_mean": push.mean, "slice_mean": piece.mean}
        done += 1
        moved(done, total)
    for plant in PLANTS:
        small = paced_chip(plant).without_network()
        with tempfile.TemporaryDirectory() as folder:
            elf = build_life(small, Path(folder))
            for shift in MIPS:
                life, ideal = run_paced(plant, small, elf, plant.samples, shift)
                found["paced"][f"{plant.name}/{MIPS[shift]:g}"] = life.figures | {
                    "difference": largest_difference(life, ideal)
                }
                done += 1
                moved(done, total)
    return found


def tables(found: dict[str, Any]) -> dict[str, str]:
    """The generated blocks `life` and `paced` of a document."""
    costs = Table(
        "Instructions on an emulated Cortex-M4F over a whole life: calibration, a full reservoir, a change, a "
        "recalibration, observer, telemetry, saves",
        ["learner", "push, mean", "push, longest", "slice, mean", "slice, longest", "saved state [B]"],
        [
            [name, *(f"{f[key]:,.0f}" for key in (
                "push_mean", "push_longest", "slice_mean", "slice_longest", "save_bytes"))]
            for name, f in found["life"].items()
        ],
    )  # fmt: skip
    paced = Table(
        "Sampling in true time while learning, against samples exactly on time",
        ["plant", "MIPS", "samples", "lost", "most that waited", "coefficients apart [standard errors]"],
        [
            [*name.split("/"), *(f"{f[key]:,}" for key in ("samples", "lost", "deepest")), f"{f['difference']:.2g}"]
            for name, f in found["paced"].items()
        ],
    )
    return {"life": costs.markdown(), "paced": paced.markdown()}
