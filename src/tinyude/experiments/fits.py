"""One fit as plain data: the configuration gives plant, sensor and method; the result feeds tables and figures."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.random import default_rng
from numpy.typing import NDArray

import tinyude as tu
from tinyude.errors import TinyUDEError
from tinyude.experiments.experiment import Config, Result, Unit, plain
from tinyude.experiments.studies.weak_sindy import WeakSindy
from tinyude.systems import System, signals

Array = NDArray[np.float64]

NOISES = (0.0, 0.001, 0.005, 0.01, 0.02, 0.05)  # the paper's six levels
QUICK_ITERATIONS = 300  # of the solver, instead of 1,200
SECONDS_A_STEP = 1.2e-3  # of one solver step in one iteration, forward and backward, on one core
OUTLIER_SHARE, OUTLIER_SIZE = 0.01, 20.0  # of the samples; in standard deviations of the noise
DROPOUT_SHARE = 0.01
JITTER = 0.2  # of a sample period, in either direction
SENSORS = (
    "gaussian", "laplace", "outliers", "8 bits", "10 bits", "12 bits", "1 ms late", "5 ms late", "dropouts", "jitter",
)  # fmt: skip
_SECONDS = {
    "paper-v1": 0.5,
    "paper-v2": 1.0,
    "network": 2.5,
    "skip": 2.5,
    "default": 2.5,
    "sindy": 1.5,
}  # of a fit, roughly
_JET: dict[str, Config] = {
    "paper-v1": {"preset": "paper-v1"},
    "paper-v2": {"preset": "paper-v2"},
    "network": {"library": None, "skip": False},  # only the network, which the solver trains too
    "skip": {"library": None, "network": "mlp"},
    "default": {},
}

PLANTS = ("tinyude.systems", "tinyude.systems.signals")
_THROUGH = {  # methods that do not use our learner
    "adjoint": ("tinyude.baselines", *PLANTS),
    "sindy": ("tinyude.experiments.studies.weak_sindy", *PLANTS),
}


def jet_unit(
    method: str, noise: float, seed: int, system: str = "pendulum", *, case: str = "A", residual: str = "linear",
    sensor: str = "gaussian", seconds: float | None = None, settings: Config | None = None, cost: float | None = None,
) -> Unit:  # fmt: skip
    """A fit with every choice explicit, so that equal fits are the same unit in all experiments."""
    config = {
        "method": method, "system": system, "case": case, "residual": residual, "sensor": sensor, "noise": noise,
        "seed": seed, "seconds": seconds, "settings": settings or {},
    }  # fmt: skip
    slower = 2.0 if system != "pendulum" else 1.0
    cost = slower * _SECONDS.get(method, 1.0) if cost is None else cost
    return Unit(run_fit, config, cost, _THROUGH.get(method, ()))


def solver_unit(noise: float, seed: int, quick: bool, steps: int = 40, **choices: Any) -> Unit:
    """A fit of the solver baseline; `settings` are further arguments of MultipleShooting."""
    iterations = QUICK_ITERATIONS if quick else 1200
    settings = {"steps": steps, "iterations": iterations, **choices.pop("settings", {})}
    cost = SECONDS_A_STEP * settings["steps"] * iterations
    return jet_unit("adjoint", noise, seed, settings=settings, cost=cost, **choices)


def run_fit(config: Config) -> Result:
    """Train and measure; a fit that fails returns its error message."""
    try:
        system, model = train(config)
        return measure(config, system, model)
    except TinyUDEError as error:
        return {"failed": str(error)}


def train(config: Config) -> tuple[System, Any]:
    """The plant and the fitted model."""
    system = make_system(config["system"], config["case"], config["residual"])
    times, samples = observe(system, config["sensor"], config["noise"], config["seed"], config["seconds"])
    settings = dict(config["settings"])
    if config["method"] in _JET:
        chosen = {**_JET[config["method"]], **settings}
        own = {name: chosen.pop(name) for name in list(chosen) if name in tu.UDE._get_param_names()}
        ude = tu.UDE(system.physics, settings=chosen or None, random_state=config["seed"], **own)
        if config["method"] == "paper-v1":  # it has no gate; by the paper's figures its windows contained no kick
            return system, ude.fit(np.split(samples, _kicks(system, samples)), t=1.0 / system.rate)
        return system, ude.fit(samples, t=times if config["sensor"] == "jitter" else 1.0 / system.rate)
    samples = bridged(samples)  # the other methods support neither lost samples nor irregular time stamps
    if config["method"] == "sindy":
        return system, WeakSindy(system.physics, **settings).fit(samples, 1.0 / system.rate, _kicks(system, samples))
    shooting = tu.MultipleShooting(system.physics, random_state=config["seed"], **settings)
    return system, shooting.fit(samples, t=1.0 / system.rate)


def _kicks(system: System, samples: Array) -> list[int]:
    """Indices of the first sample after each kick."""
    return [round(time * system.rate) for time in system.jump_times(len(samples) / system.rate)]


@lru_cache(maxsize=16)
def make_system(name: str, case: str = "A", residual: str = "linear") -> System:
    return tu.systems.pendulum(case, residual) if name == "pendulum" else tu.systems.double_pendulum(case)


def observe(system: System, sensor: str, noise: float, seed: int, seconds: float | None) -> tuple[Array, Array]:
    """Time stamps and samples of one run, with the given sensor fault."""
    if sensor == "gaussian":
        return system.stream(noise, seed, seconds)
    rng = default_rng([seed, SENSORS.index(sensor)])
    times, clean = system.clean(seed, seconds)
    if sensor == "jitter":
        times = signals.jittered_times(len(times), 1.0 / system.rate, JITTER, rng)
        return times, signals.sensor_noise(system.states_at(times, seed), noise, rng)
    if sensor == "laplace":
        return times, signals.laplace_noise(clean, noise, rng)
    samples = system.stream(noise, seed, seconds)[1]
    if sensor == "outliers":
        return times, signals.outliers(samples, OUTLIER_SHARE, OUTLIER_SIZE * signals.noise_sigma(clean, noise), rng)
    if sensor == "dropouts":
        return times, signals.dropouts(samples, DROPOUT_SHARE, rng)
    amount = int(sensor.split()[0])
    if sensor.endswith("bits"):
        return times, signals.quantise(samples, amount)
    return times, signals.delay(samples, system.velocities[0], round(amount * 1e-3 * system.rate))


def bridged(samples: Array) -> Array:
    """Interpolate lost samples linearly."""
    filled = samples.copy()
    index = np.arange(len(samples))
    for column in filled.T:
        good = np.isfinite(column)
        column[~good] = np.interp(index[~good], index[good], column[good])
    return filled


def measure(config: Config, system: System, model: Any) -> Result:
    """Errors against the truth, the learned damping, and what the method reports."""
    seed = config["seed"]
    states = system.grid(seed)
    visited = system.clean(seed, config["seconds"])[1][::10]
    result = {
        "error": system.field_error(model.predict, states),
        "visited_error": system.field_error(model.predict, visited),
        "damping": system.damping(model.residual, states),
        "by_speed": error_by_speed(system, model, visited),
        "diagnostics": {key: value for key, value in model.diagnostics_.items() if key != "samples"},
        "loss": model.history_["loss"][-1] if len(getattr(model, "history_", {}).get("loss", ())) else None,
    }
    if system.box is None:
        result["elsewhere"] = [system.field_error(model.predict, system.grid(other)) for other in range(3)]
    else:
        result["slices"] = slices(system, model)
    return dict(plain(result))


def error_by_speed(system: System, model: Any, visited: Array) -> Result:
    """RMS of the field's error over the RMS of the field on all visited states, in eight bins of increasing speed."""
    speed = np.linalg.norm(visited[:, list(system.velocities)], axis=1)
    truth = system.truth(visited)
    miss = np.sum((model.predict(visited) - truth) ** 2, axis=1)
    scale = np.sum(truth**2, axis=1).mean()
    parts = np.array_split(np.argsort(speed), 8)
    return {
        "speed": [float(speed[part].mean()) for part in parts],
        "error": [float(np.sqrt(miss[part].mean() / scale)) for part in parts],
    }


def slices(system: System, model: Any, points: int = 41) -> list[Result]:
    """The residual of the acceleration along each axis of the grid, with the other state at 0."""
    assert system.box is not None
    found = []
    for axis, (low, high) in enumerate(system.box):
        states = np.zeros((points, len(system.box)))
        states[:, axis] = np.linspace(low, high, points)
        column = system.velocities[0]
        learned, true = model.residual(states)[:, column], system.missing(states)[:, column]
        found.append({"at": states[:, axis].tolist(), "learned": learned.tolist(), "true": true.tolist()})
    return found
