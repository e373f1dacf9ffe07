"""The records that tools/vary_constants.py fits: prints their errors, with the imported package, as JSON."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import numpy as np
from board_lives import figures as board
from constant_studies import STUDIES

import tinyude as tu
from tinyude.experiments.studies import choice
from tinyude.experiments.studies.choice_plants import TUNING
from tinyude.experiments.studies.zoo import plant_named

# From the zoo's tuning half: plant, noise, settings.
PLANTS: tuple[tuple[str, float, dict[str, Any]], ...] = (
    ("spring, cubic stiffening", 0.01, {}),
    ("mass on a magnet", 0.01, {}),
    ("pendulum, drag by position", 0.01, {}),
    ("two masses, soft coupling", 0.05, {}),
    ("stirred tank, Arrhenius", 0.01, {"network": "kernel", "library": None}),
    ("van der Pol", 0.001, {}),
    ("Lorenz, coarse", 0.05, {}),
)
MOTIONS = ("motor pendulum", "heater with a slow sensor")  # of the tuning plants of `reproduce choice`: free runs
STREAMED = ("spring, cubic stiffening", "van der Pol", "diode clipper")  # of the zoo's tuning half, at 1 %
PENDULUMS = {"angle only, 250 Hz": (4, 1), "angle and rate, outliers": (4, 2), "angle only, 20 Hz": (50, 1)}
SEED, SECONDS = 3, 20.0


def residuals(refine: bool) -> Iterator[tuple[str, float]]:
    """Relative error of the missing terms, by plant."""
    for name, noise, settings in PLANTS:
        plant = plant_named(name)
        samples, inputs = plant.record(noise)
        ude = tu.UDE(plant.physics, refine=refine, **settings)
        ude.fit(samples, u=inputs if plant.inputs else None, t=plant.period)
        yield name, plant.error(ude.residual)


def free_runs(refine: bool) -> Iterator[tuple[str, float]]:
    """Free-run error over motions not used for fitting, of plants that no model explains in full."""
    for name in MOTIONS:
        plant, rng = TUNING[name], np.random.default_rng(0)
        t, Y, u, _ = zip(*(choice.record(plant, motion, rng) for motion in plant.training), strict=True)
        held_out = [choice.record(plant, motion, rng) for motion in plant.held_out]
        physics = choice.stated_physics(plant)
        ude = tu.UDE(physics, measured=plant.measured, refine=refine).fit(list(Y), t=list(t), u=list(u))
        yield name, choice.error(ude.simulate, plant, held_out)


def streamed() -> Iterator[tuple[str, float]]:
    """Results of the streaming learner by its NumPy engine, which needs no compiler."""
    for name in STREAMED:
        plant = plant_named(name)
        samples, inputs = plant.record(0.01)
        ude = tu.UDE(plant.physics, settings={}, engine="reference", hidden=(), refine=False)
        ude.fit(samples, u=inputs if plant.inputs else None, t=plant.period)
        yield name, plant.error(ude.residual)
    yield from pendulums(settings={}, engine="reference", hidden=(), refine=False)


def pendulums(**settings: Any) -> Iterator[tuple[str, float]]:
    """Relative error of the friction of pendulums that are sampled in several ways."""
    plant = tu.systems.pendulum("A")
    t, samples = plant.stream(noise=0.01, seed=SEED, seconds=SECONDS)
    visited = plant.clean(SEED, SECONDS)[1][::20]
    wanted = plant.missing(visited, SECONDS)
    for name, (stride, measured) in PENDULUMS.items():
        Y = samples[::stride, :measured].copy()
        if "outliers" in name:
            Y[np.random.default_rng(0).random(Y.shape) < 0.003] += 2.0
        ude = tu.UDE(plant.physics, measured=plant.physics.states[:measured], **settings)
        error = ude.fit(Y, t=float(t[stride] - t[0])).residual(visited) - wanted
        yield name, float(np.sqrt(np.mean(error**2) / np.mean(wanted**2)))


ROOMS: dict[str, Callable[[], Iterator[tuple[str, float]]]] = {
    "windows": lambda: chain(residuals(False), free_runs(False), pendulums(refine=False)),
    "refinement": lambda: chain(residuals(True), free_runs(True), pendulums()),
    "streaming": streamed,
    "board": board,
} | STUDIES

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(dict(ROOMS[sys.argv[1]]())))
