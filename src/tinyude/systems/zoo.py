"""A zoo of plants from many fields, each with a term or two that the known physics lacks.

Split in two by their place in the list: even ones for tuning, odd ones for reporting. Nothing of the estimator may be
chosen by looking at the reporting half.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from tinyude.errors import TinyUDEError
from tinyude.physics import Physics
from tinyude.physics.expressions import numpy_function
from tinyude.physics.parsing import parse_expression
from tinyude.systems.signals import sensor_noise

Array = NDArray[Any]


def _levels(seed: int, size: float) -> Array:
    return size * np.random.default_rng(seed).uniform(-1.0, 1.0, 400)


WAVES: dict[str, Callable[[Array], Array]] = {
    "none": lambda t: np.zeros((len(t), 0)),
    "tones": lambda t: (np.sin(1.3 * t) + 0.6 * np.sin(3.1 * t + 1.0) + 0.3 * np.sin(7.9 * t))[:, None],
    "steps": lambda t: _levels(5, 1.0)[(t / 0.7).astype(int) % 400][:, None],
    "flow": lambda t: (1.0 + 0.8 * np.random.default_rng(6).uniform(-1.0, 1.0, 400)[(t / 3.0).astype(int) % 400])[
        :, None
    ],
}


@dataclass(frozen=True, eq=False)
class Plant:
    """States with their known right-hand sides, and what these lack."""

    name: str
    domain: str
    states: str
    known: tuple[str, ...]
    missing: Mapping[str, str]  # by state
    starts: tuple[tuple[float, ...], ...]  # one run each
    period: float
    samples: int  # of each run
    chaotic: bool = False
    wave: str = "none"  # of the input u
    inside: bool = True  # the missing term is one of the plain library's
    angles: tuple[str, ...] | None = None
    measured: tuple[str, ...] | None = None
    note: str = field(default="")

    @property
    def inputs(self) -> tuple[str, ...]:
        return () if self.wave == "none" else ("u",)

    @cached_property
    def physics(self) -> Physics:
        """The physics given to the learner."""
        return Physics(self.states.split(), self.known, inputs=self.inputs, angles=self.angles)

    def lacking(self, x: Array, u: Array) -> Array:
        """The missing terms at states (..., states) and inputs: the value of a perfect residual."""
        return self._lacking(np.concatenate([x, u], axis=-1))

    @cached_property
    def _lacking(self) -> Callable[[Array], Array]:
        symbols = {name: sp.Symbol(name, real=True) for name in (*self.states.split(), *self.inputs)}
        terms = [parse_expression(self.missing.get(s, "0"), symbols, smooth=False) for s in self.states.split()]
        return numpy_function(terms, list(symbols.values()))

    def clean(self) -> list[tuple[Array, Array]]:
        """Exact states and inputs of every run."""
        return [_trajectory(self, k) for k in range(len(self.starts))]

    def record(self, noise: float, seed: int = 0) -> tuple[list[Array], list[Array]]:
        """Noisy samples of the measured states and inputs of every run; noise relative to each channel's RMS."""
        rng = np.random.default_rng(np.random.SeedSequence([seed, sum(map(ord, self.name))]))
        runs = self.clean()
        whole = np.concatenate([states for states, _ in runs])
        noisy = sensor_noise(whole, noise, rng)
        names = self.states.split()
        columns = [names.index(name) for name in (self.measured or names)]
        cut = np.cumsum([len(states) for states, _ in runs])[:-1]
        return [part[:, columns] for part in np.split(noisy, cut)], [inputs for _, inputs in runs]

    def error(self, residual: Callable[[Array, Array | None], Array]) -> float:
        """Relative RMS error of the missing terms over the visited states of all runs."""
        x = np.concatenate([states for states, _ in self.clean()])
        u = np.concatenate([inputs for _, inputs in self.clean()])
        wanted = self.lacking(x, u)
        found = residual(x, u if self.inputs else None)
        scale = float(np.sqrt(np.mean(np.sum(wanted**2, axis=-1))))
        if scale == 0.0:  # the known physics is complete: against the field
            wanted, scale = np.zeros_like(found), float(np.sqrt(np.mean(np.sum(self._field(x, u) ** 2, axis=-1))))
        return float(np.sqrt(np.mean(np.sum((found - wanted) ** 2, axis=-1)))) / scale

    def _field(self, x: Array, u: Array) -> Array:
        return np.asarray(self.physics.field(x, u if self.inputs else None)) + self.lacking(x, u)


@lru_cache(maxsize=256)
def _trajectory(plant: Plant, index: int) -> tuple[Array, Array]:
    times = np.arange(plant.samples) * plant.period
    inputs = WAVES[plant.wave](times)

    def rates(t: float, x: Array) -> Array:
        held = inputs[min(int(t / plant.period + 1e-9), len(inputs) - 1)]
        return plant._field(x, held)

    if plant.inputs:  # held from sample to sample
        states = np.empty((len(times), len(plant.starts[index])))
        states[0] = plant.starts[index]
        for k in range(len(times) - 1):
            states[k + 1] = _held_step(plant, states[k], inputs[k])
        return states, inputs
    found = solve_ivp(
        rates, (0.0, times[-1]), plant.starts[index], method="DOP853", t_eval=times, rtol=1e-10, atol=1e-12
    )
    if not found.success or not np.all(np.isfinite(found.y)):
        raise TinyUDEError(f"{plant.name} could not be simulated: {found.message}")
    return found.y.T, inputs


def _held_step(plant: Plant, x: Array, u: Array, steps: int = 4) -> Array:
    h = plant.period / steps
    for _ in range(steps):
        k1 = plant._field(x, u)
        k2 = plant._field(x + 0.5 * h * k1, u)
        k3 = plant._field(x + 0.5 * h * k2, u)
        k4 = plant._field(x + h * k3, u)
        x = x + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return x
