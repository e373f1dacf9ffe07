"""The effect of failing sensors on a learner on a board: a fitted model, good minutes, a fault, ten good minutes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tinyude import native
from tinyude.estimator.ude import UDE
from tinyude.experiments.experiment import Config, Outcome, Result, Summary, Table, Unit, number
from tinyude.export.chip import Chip, chip_of_model
from tinyude.model.dynamics import known_dynamics
from tinyude.model.simulation import free_run
from tinyude.physics import Physics
from tinyude.physics.library import given_terms
from tinyude.reference.signal.gates import REASONS
from tinyude.training.resume import with_terms

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[Any]
NAME = "withstand"
TITLE = "Failing sensors on a board"
GOOD, AFTER = 2.0, 10.0  # minutes before and after a fault
LIMIT = 0.1  # of the true residual, RMS, ten good minutes after a fault
NAMED = 0.1  # excess over the share of windows rejected in a sound stream from which a reason names a fault
COUNTERS = ("no_signal", "recalibrations", "changes", "returned")


@dataclass(frozen=True)
class Plant:
    states: tuple[str, ...]
    truth: tuple[str, ...]
    known: tuple[str, ...]
    terms: tuple[str, ...]
    start: tuple[float, ...]
    period: float
    minute: float  # its length in seconds; longer for a slow plant
    levels: tuple[float, float, float]  # of the input u: lowest, highest, hold time in seconds
    box: tuple[tuple[float, float], ...]  # range of states over which the residual is compared
    noise: tuple[float, ...]  # of each channel
    stuck: tuple[float, ...]  # values at which the channels freeze
    unplugged: float  # noise of an open input
    measured: tuple[str, ...] | None = None

    @property
    def sensed(self) -> list[int]:
        """The state of each channel."""
        return [self.states.index(name) for name in self.measured or self.states]


# A bump that no library term has: the deployed model has a frozen kernel network in addition to its terms.
_BUMP = ("w", "8*u - 1.5*w - 1.6*exp(-(w - 1)**2/0.2)")
_MOTOR: dict[str, Any] = {
    "states": ("theta", "w"), "truth": ("w", "8*u - 1.5*w - 0.8*tanh(2*w)"), "known": ("w", "8*u"),
    "terms": ("w", "tanh(2*w)"), "start": (0.0, 0.0), "period": 0.005, "minute": 60.0, "levels": (-1.0, 1.0, 0.35),
    "box": ((-1.0, 1.0), (-3.0, 3.0)), "unplugged": 1.0,
}  # fmt: skip
PLANTS = {
    "motor, angle and rate": Plant(**_MOTOR, noise=(0.005, 0.03), stuck=(0.3, 0.7)),
    "motor, angle alone": Plant(**_MOTOR, noise=(0.002,), stuck=(0.3,), measured=("theta",)),
    "motor with a bump, angle and rate": Plant(**_MOTOR | {"truth": _BUMP}, noise=(0.005, 0.03), stuck=(0.3, 0.7)),
    "motor with a bump, angle alone": Plant(
        **_MOTOR | {"truth": _BUMP}, noise=(0.002,), stuck=(0.3,), measured=("theta",)
    ),
    "thermal, two masses": Plant(
        ("a", "b"), ("0.5*u - 0.25*(a - b) - 0.05*a", "0.2*(a - b) - 0.06*b - 0.0005*b**2"),
        ("0.5*u - 0.25*(a - b)", "0.2*(a - b)"), ("a", "b", "b**2"), (15.0, 10.0), 0.05, 300.0, (0.0, 20.0, 12.0),
        ((10.0, 40.0), (10.0, 35.0)), (0.1, 0.1), (32.0, 21.0), 10.0,
    ),
    "heater with a bump": Plant(
        ("T",), ("0.5*u - 0.1*T - 1.5*exp(-(T - 25)**2/40)",), ("0.5*u",), ("1", "T"), (30.0,), 0.05, 300.0,
        (0.0, 10.0, 8.0), ((12.0, 38.0),), (0.2,), (25.0,), 10.0,
    ),
    "heater": Plant(
        ("T",), ("0.5*u - 0.1*T",), ("0.5*u",), ("1", "T"), (30.0,), 0.05, 300.0, (0.0, 10.0, 8.0), ((20.0, 80.0),),
        (0.2,), (50.0,), 10.0,
    ),
}  # fmt: skip

Rows = Callable[[Plant, Array, Array, Array], Array]  # of plant, clean rows, noise, and a ramp from 0 to 1


def _last(rows: Array, values: Array) -> Array:
    return np.column_stack([rows[:, :-1], values])


FAULTS: dict[str, Rows] = {
    "none": lambda plant, rows, noise, ramp: rows + noise,
    "frozen, with dither": lambda plant, rows, noise, ramp: np.array(plant.stuck) + noise,
    "one frozen, with dither": lambda plant, rows, noise, ramp: (
        np.column_stack([np.full(len(rows), plant.stuck[0]), rows[:, 1:]]) + noise
    ),
    "held": lambda plant, rows, noise, ramp: np.tile(plant.stuck, (len(rows), 1)),
    "unplugged": lambda plant, rows, noise, ramp: plant.unplugged * noise / np.array(plant.noise),
    "noise x20": lambda plant, rows, noise, ramp: rows + 20.0 * noise,
    "gain drifts to 1.6": lambda plant, rows, noise, ramp: _last(
        rows + noise, (rows + noise)[:, -1] * (1 + 0.6 * ramp)
    ),
    "offset drifts by 1.5 sd": lambda plant, rows, noise, ramp: _last(
        rows + noise, (rows + noise)[:, -1] + 1.5 * rows[:, -1].std() * ramp
    ),
    "swapped": lambda plant, rows, noise, ramp: (rows + noise)[:, ::-1],
}
BOTH = ("one frozen, with dither", "swapped")  # faults of two channels


def units(quick: bool) -> list[Unit]:
    plants, minutes = list(PLANTS)[-1 if quick else 0 :], [1.0] if quick else [1.0, 10.0]
    return [
        Unit(run_plant, {"plant": name, "network": network, "minutes": m}, 20.0)
        for name in plants for network in (False, True)[: 1 if quick else 2] for m in minutes
    ]  # fmt: skip


def run_plant(config: Config) -> Result:
    """Every fault of one plant, each with a new learner that starts from the same fitted model."""
    plant = PLANTS[config["plant"]]
    chip = fitted(plant, config["network"])
    return {fault: _run_fault(plant, chip, FAULTS[fault], config["minutes"]) for fault in faults_of(plant)}


def faults_of(plant: Plant) -> list[str]:
    """The faults that its sensors can have."""
    return [fault for fault in FAULTS if len(plant.noise) > 1 or fault not in BOTH]


def faulty_stream(plant: Plant, fault: Rows, before: float, during: float, after: float) -> tuple[Array, Array, Array]:
    """Samples, inputs and true states: good minutes, a fault, good minutes."""
    states, noise, u = _simulated(plant, before + during + after, seed=2)
    rows = states[:, plant.sensed]
    begin, end = (round(m * plant.minute / plant.period) for m in (before, before + during))
    faulty = fault(plant, rows[begin:end], noise[begin:end], np.linspace(0.0, 1.0, end - begin))
    return np.concatenate([(rows + noise)[:begin], faulty, (rows + noise)[end:]]), u, states


def _simulated(plant: Plant, minutes: float, seed: int) -> tuple[Array, Array, Array]:
    """True states, noise of the channels, and the input held between samples."""
    rng = np.random.default_rng(seed)
    low, high, stay = plant.levels
    t = np.arange(round(minutes * plant.minute / plant.period)) * plant.period
    u = rng.uniform(low, high, int(t[-1] / stay) + 1)[(t / stay).astype(int)][:, None]
    start = np.array(plant.start)
    states = free_run(known_dynamics(_physics(plant, plant.truth)), start, t, np.maximum(np.abs(start), 1.0), u)
    return states, np.array(plant.noise) * rng.standard_normal((len(states), len(plant.noise))), u


def _physics(plant: Plant, rhs: tuple[str, ...]) -> Physics:
    return Physics(plant.states, rhs, ["u"])


def fitted(plant: Plant, network: bool) -> Chip:
    """A board's model, fitted to three good minutes, with or without a network in addition to its terms.

    The fit is restricted to what the board has: without its perceptron, a model would be incomplete.
    """
    states, noise, u = _simulated(plant, 3.0, seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kind, terms = "auto" if network else "kernel", list(plant.terms)
        ude = UDE(_physics(plant, plant.known), measured=plant.measured, library=terms, network=kind)
        ude.fit(states[:, plant.sensed] + noise, t=plant.period, u=u)
    if ude.model_.kernel is not None:
        ude.result_ = with_terms(ude.result_, given_terms(ude.physics, terms))
    chip = chip_of_model(ude)
    return chip if network else chip.without_network()


def _run_fault(plant: Plant, chip: Chip, fault: Rows, minutes: float) -> Result:
    learner = native.NativeLearner(chip.config, chip.programs, "float32")
    assert chip.start
    learner.start(chip.start)
    sensed, u, _ = faulty_stream(plant, fault, GOOD, minutes, AFTER)
    begin, end = (round(m * plant.minute / plant.period) for m in (GOOD, GOOD + minutes))
    result: Result = {}
    before = learner.state()
    for name, piece in (("before", slice(begin)), ("at its end", slice(begin, end)), ("after", slice(end, None))):
        learner.push(np.hstack([sensed, u])[piece])
        result[name] = _error(plant, chip, learner)
        state = learner.state()
        windows = state["windows"] - before["windows"]
        shares = (state["rejected"] - before["rejected"]) / max(windows, 1)
        result[f"rejected {name}"] = dict(zip(REASONS, shares.tolist(), strict=True))
        before = state
    return result | {"counters": {name: int(before[name]) for name in COUNTERS}}


def _error(plant: Plant, chip: Chip, learner: native.NativeLearner) -> float:
    """RMS of the residual's error over the box, relative to the true residual."""
    axes = [np.linspace(low, high, 7) for low, high in plant.box]
    states = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
    u = np.zeros((len(states), 1))
    known = _physics(plant, plant.known).field(states, u)
    truth = (_physics(plant, plant.truth).field(states, u) - known)[:, list(chip.config.on)]
    learned = learner.residual(states, u)
    if chip.kernel is not None:
        learned = learned + chip.kernel.evaluate(np.hstack([states, u]))
    return float(np.linalg.norm(learned - truth) / np.linalg.norm(truth))


def raised_by(result: Result, sound: Result) -> list[str]:
    """Reasons and counters that a fault raises above their values in the sound stream."""
    reasons = [r for r in REASONS if result["rejected at its end"][r] > sound["rejected at its end"][r] + NAMED]
    return [*reasons, *(name for name in COUNTERS if result["counters"][name] > sound["counters"][name])]


def summarise(outcomes: list[Outcome], quick: bool) -> Summary:
    rows = []
    for config, results in outcomes:
        for fault, result in results.items():
            figures = {key: result[key] for key in ("before", "at its end", "after")}
            named = raised_by(result, results["none"]) if fault != "none" else []
            rows.append({**config, "fault": fault, **figures, "named": named})
    faulty = [row for row in rows if row["fault"] != "none"]
    kept = sum(row["after"] < LIMIT for row in faulty)
    count = sum(bool(row["named"]) for row in faulty)
    return {
        "rows": rows,
        "notes": [
            f"Ten good minutes after a fault the residual is within 10 % of the truth: {kept} of {len(faulty)} cases.",
            f"{count} of {len(faulty)} faults are named in the counters; for a motor without gravity, a slow drift of "
            "the angle's offset cannot be distinguished from a slow motion.",
        ],
    }


def figure(summary: Summary) -> Figure | None:
    return None


def tables(summary: Summary) -> list[Table]:
    errors = ["error before", "at its end", "ten good minutes later"]
    header = ["plant", "learner", "fault", "minutes", *errors, "named by"]
    rows = [
        [
            row["plant"], "terms and network" if row["network"] else "terms", row["fault"], f"{row['minutes']:g}",
            *(number(row[key], 2) for key in ("before", "at its end", "after")), ", ".join(row["named"]) or "-",
        ]
        for row in summary["rows"]
    ]  # fmt: skip
    return [Table("Error of the residual, relative to the true one, before, during and after a fault", header, rows)]
