"""Whether the model that refinement keeps predicts other motions as well as the best single method.

On plants that no candidate explains in full. Compared with the known physics as given, the grey-box fit, the windows
without refinement and the streaming learner. An error is the geometric mean of RMS error / standard deviation over free
runs of motions that were not used for fitting, each from its true initial state.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tinyude.baselines import GreyBox
from tinyude.errors import TinyUDEError
from tinyude.estimator.ude import UDE
from tinyude.experiments.experiment import Config, Outcome, Result, Summary, Table, Unit, number
from tinyude.experiments.studies.choice_plants import REPORTING, TUNING, Motion, Plant
from tinyude.model.dynamics import known_dynamics
from tinyude.model.simulation import free_run
from tinyude.physics import Parameter, Physics

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "choice"
TITLE = "The model kept, where none explains the record in full"
SEEDS = 3
FIRST = 9000  # seed of the first record; no constant was tuned on these
RAN_AWAY = 10.0  # error of a run that diverged, and upper limit of all
OPPONENTS = ("known", "grey-box", "windows", "streaming")
Array = NDArray[Any]
Simulate = Callable[[Array, Array, Array], Array]


def units(quick: bool) -> list[Unit]:
    seeds = 1 if quick else SEEDS
    halves = {"tuning": list(TUNING), "reporting": list(REPORTING)}
    plants = [(half, name) for half, names in halves.items() for name in (names[:1] if quick else names)]
    return [
        Unit(run_plant, {"half": half, "plant": name, "seed": FIRST + k}, 20.0)
        for half, name in plants
        for k in range(seeds)
    ]


def run_plant(config: Config) -> Result:
    """The error of the default over held-out motions, and that of each other method."""
    plant = (TUNING if config["half"] == "tuning" else REPORTING)[config["plant"]]
    rng = np.random.default_rng([config["seed"], len(config["plant"])])
    training = [record(plant, motion, rng) for motion in plant.training]
    held_out = [record(plant, motion, rng) for motion in plant.held_out]
    Y = [samples for _, samples, _, _ in training]
    t, u = [times for times, _, _, _ in training], [inputs for _, _, inputs, _ in training]
    physics = stated_physics(plant)
    found: Result = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ude = UDE(physics, measured=plant.measured).fit(Y, t=t, u=u)
        found["default"] = error(ude.simulate, plant, held_out)
        found["kept"] = next(c.name for c in ude.candidates_ if c.best)
        found["candidates"] = {c.name: error(_simulate(c.model), plant, held_out) for c in ude.candidates_}
        found["known"] = error(_simulate(None, physics), plant, held_out)
        for name, options in (("windows", {"refine": False}), ("streaming", {"settings": {}})):
            found[name] = error(
                UDE(physics, measured=plant.measured, **options).fit(Y, t=t, u=u).simulate, plant, held_out
            )
        found["grey-box"] = error(GreyBox(physics, plant.measured).fit(Y, t=t, u=u).simulate, plant, held_out)
    return found


def stated_physics(plant: Plant) -> Physics:
    """The physics as the user states it."""
    states = plant.states[: len(plant.known)]
    parameters = {name: Parameter(guess, learn=True) for name, guess in plant.learned.items()}
    return Physics(states, plant.known, inputs=["u"], parameters=parameters)


def record(plant: Plant, motion: Motion, rng: np.random.Generator) -> tuple[Array, Array, Array, Array]:
    """Times, samples, input and the user's states without noise, of one motion."""
    t = plant.period * np.arange(round(motion.seconds / plant.period) + 1)
    driven = motion.drive(t, rng)[:, None]
    dynamics, scale = known_dynamics(Physics(plant.states, plant.truth, inputs=["u"])), np.full(len(plant.states), 1e3)
    if motion.control is None:
        states = free_run(dynamics, motion.start, t, scale, driven)
        return t, _sensed(plant, states, rng), driven, states[:, : len(plant.known)]
    x, u = np.tile(np.array(motion.start), (len(t), 1)), np.zeros(driven.shape)
    samples = np.zeros((0, len(plant.measured)))
    for k in range(len(t)):
        samples = np.vstack([samples, _sensed(plant, x[k : k + 1], rng)])
        u[k] = motion.control(float(driven[k, 0]), samples, plant.period)
        if k + 1 < len(t):
            x[k + 1] = free_run(dynamics, x[k], t[:2], scale, u[[k, k]])[-1]
    return t, samples, u, x[:, : len(plant.known)]


def _sensed(plant: Plant, states: Array, rng: np.random.Generator) -> Array:
    """Noisy samples, quantised if the sensor is coarse."""
    columns = [plant.states.index(name) for name in plant.measured]
    samples = states[:, columns] + plant.noise * rng.standard_normal((len(states), len(columns)))
    return np.round(samples / plant.step) * plant.step if plant.step else samples


def error(simulate: Simulate, plant: Plant, held_out: list[tuple[Array, Array, Array, Array]]) -> float:
    """Geometric mean over motions of RMS error / standard deviation of the measured states, against the truth."""
    columns = [plant.states.index(name) for name in plant.measured]
    logs = []
    for t, _, u, states in held_out:
        try:
            miss = simulate(states[0], t, u)[:, columns] - states[:, columns]
            size = float(np.sqrt(np.mean((miss / states[:, columns].std(axis=0)) ** 2)))
        except TinyUDEError:
            size = RAN_AWAY
        logs.append(np.log(np.clip(size, 1e-6, RAN_AWAY)))
    return float(np.exp(np.mean(logs)))


def _simulate(model: Any, physics: Physics | None = None) -> Simulate:
    dynamics = model.dynamics if physics is None else known_dynamics(physics)
    scale = model.x_scale if physics is None else np.full(physics.n_states, 1e3)
    return lambda x0, t, u: free_run(dynamics, x0, t, scale, u)


def summarise(outcomes: list[Outcome], quick: bool) -> Summary:
    rows: list[dict[str, Any]] = []
    for half, names in (("tuning", TUNING), ("reporting", REPORTING)):
        for name in names:
            found = [r for c, r in outcomes if (c["half"], c["plant"]) == (half, name)]
            if not found:  # in a quick run
                continue
            row = {key: _mean([r[key] for r in found]) for key in ("default", *OPPONENTS)}
            best = _mean([min(r[key] for key in OPPONENTS) for r in found])
            kept = ", ".join(sorted({r["kept"] for r in found}))
            rows.append({"half": half, "plant": name, **row, "ratio": row["default"] / best, "kept": kept})
    notes = []
    for half in ("tuning", "reporting"):
        own = [row for row in rows if row["half"] == half]
        notes.append(
            f"{half.capitalize()} half: the default's error over that of the best opponent of each record is "
            f"{number(_mean([row['ratio'] for row in own]))} in the geometric mean, "
            f"{number(max(row['ratio'] for row in own))} at worst."
        )
    return {"rows": rows, "quick": quick, "quick_words": "a plant of each half, one record each", "notes": notes}


def _mean(values: list[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))


def figure(summary: Summary) -> Figure | None:
    return None


def tables(summary: Summary) -> list[Table]:
    header = ["half", "plant", "default", *OPPONENTS, "default / best opponent", "kept"]
    rows = [
        [row["half"], row["plant"], *(number(row[key]) for key in ("default", *OPPONENTS, "ratio")), row["kept"]]
        for row in summary["rows"]
    ]
    return [Table("Free-run error over held-out motions, RMS error / standard deviation", header, rows)]
