"""Two engines behind one surface: the compiled core, and the NumPy reference that specifies it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from tinyude import native
from tinyude.errors import TinyUDEError
from tinyude.physics import Physics
from tinyude.reference.config import Config
from tinyude.reference.learner import (
    learner_around,
    learner_calibrated,
    learner_choose,
    learner_conclude,
    learner_finish,
    learner_gap,
    learner_push,
    learner_residual,
    learner_rewind,
    learner_step,
)
from tinyude.reference.network.reservoir import reservoir_count
from tinyude.reference.regression.targets import teach_judge, teach_solve
from tinyude.reference.signal.gates import REASONS
from tinyude.reference.signal.noise import noise_sigma
from tinyude.reference.start import StartModel, learner_start
from tinyude.reference.state import Known, learner_init
from tinyude.training.known import known_functions, known_programs

Array = NDArray[Any]


class Engine(Protocol):
    """What the estimator asks of a learner; `state()` is a dictionary with the names of tu_view in tinyude.h."""

    def start(self, model: StartModel) -> None: ...
    def push(self, rows: Array) -> None: ...
    def gap(self) -> None: ...
    def rewind(self) -> None: ...
    def calibrated(self) -> None: ...
    def step(self, count: int) -> None: ...
    def solve(self) -> None: ...
    def judge(self) -> None: ...
    def conclude(self) -> None: ...
    def around(self) -> bool: ...
    def choose(self) -> None: ...
    def finish(self) -> None: ...
    def losses(self) -> tuple[int, float, int]: ...
    def residual(self, x: Array, u: Array) -> Array: ...
    def state(self) -> dict[str, Any]: ...


def make_engine(
    engine: str, precision: str, config: Config, physics: Physics, terms: Sequence[sp.Expr]
) -> tuple[Engine, str]:
    """The engine asked for, and its name; without the compiled core the reference serves, with one warning."""
    if precision not in ("float64", "float32"):
        raise TinyUDEError(f"precision is {precision!r}; use 'float64' or 'float32'.")
    if engine == "native" and native.available():
        return native.NativeLearner(config, known_programs(physics, terms, config.on), precision), "native"
    if engine not in ("native", "reference"):
        raise TinyUDEError(f"engine is {engine!r}; use 'native' or 'reference'.")
    if engine == "native":
        warnings.warn(
            "The compiled core is not there (no compiler when this was installed): the NumPy reference engine serves "
            "instead, with the same results, slower. Install a C compiler and reinstall tinyude for the fast one.",
            RuntimeWarning,
            stacklevel=3,
        )
    if precision == "float32":
        raise TinyUDEError("precision='float32' needs the compiled core; the reference engine is float64.")
    return ReferenceLearner(config, known_functions(physics, terms, config.on)), "reference"


class ReferenceLearner:
    """The NumPy learner with the surface of the native one."""

    def __init__(self, config: Config, known: Known) -> None:
        self._learner = learner_init(config, known)
        self._read = 0  # losses already handed out

    def start(self, model: StartModel) -> None:
        if not learner_start(self._learner, model):
            raise TinyUDEError("The model does not fit the configuration; give the configuration it was fitted with.")

    def push(self, rows: Array) -> None:
        channels = self._learner.config.channels
        for row in rows:
            learner_push(self._learner, row[:channels], row[channels:])

    def gap(self) -> None:
        learner_gap(self._learner)

    def rewind(self) -> None:
        learner_rewind(self._learner)

    def calibrated(self) -> None:
        learner_calibrated(self._learner)

    def step(self, count: int) -> None:
        for _ in range(count):
            learner_step(self._learner)

    def solve(self) -> None:
        teach_solve(self._learner)

    def judge(self) -> None:
        teach_judge(self._learner)

    def conclude(self) -> None:
        learner_conclude(self._learner)

    def around(self) -> bool:
        return learner_around(self._learner)

    def choose(self) -> None:
        learner_choose(self._learner)

    def finish(self) -> None:
        learner_finish(self._learner)

    def losses(self) -> tuple[int, float, int]:
        """Updates so far; the sum and the number of losses since the last call."""
        fresh = self._learner.losses[self._read :]
        self._read = len(self._learner.losses)
        return self._learner.counters.updates, float(np.sum(fresh)), len(fresh)

    def residual(self, x: Array, u: Array) -> Array:
        return learner_residual(self._learner, x, u)

    def state(self) -> dict[str, Any]:
        learner = self._learner
        counters, library, scales, window = learner.counters, learner.library, learner.scales, learner.window
        states = learner.config.states
        ready = scales is not None and window is not None
        return {
            "calibrated": int(ready),
            "window_half": window.half if window else 0,
            "window_spacing": window.spacing if window else 0,
            "second_order": learner.second_order,
            "snr2": learner.snr2,
            "sigma_scale": learner.sigma_scale,
            "sigma": noise_sigma(learner.noise),
            "step": learner.noise.step.copy(),
            "x_scale": scales.x if scales else np.ones(states),
            "dx_scale": scales.dx if scales else np.ones(states),
            "ddx_scale": scales.ddx if scales else np.ones(states),
            "u_scale": scales.u if scales else np.ones(learner.config.inputs),
            "params": learner.params.copy(),
            "average": learner.average.copy(),
            "coefficients": library.coefficients.copy(),
            "errors": library.errors.copy(),
            "deficient": library.deficient,
            "network_on": learner.network_on.astype(np.int32),
            "reservoir": learner.reservoir.entries[: reservoir_count(learner.reservoir)].copy(),
            "samples": counters.samples,
            "filled": counters.filled,
            "replaced": counters.replaced,
            "windows": counters.windows,
            "accepted": counters.accepted,
            "rejected": np.array([learner.gates.rejected[reason] for reason in REASONS]),
            "updates": counters.updates,
            "rolled_back": counters.rolled_back,
            "revisions": counters.revisions,
            "changes": len(counters.changes),
            "changed_at": np.array(counters.changes, dtype=np.int64),
            "loss": learner.losses[-1] if learner.losses else 0.0,
        }
