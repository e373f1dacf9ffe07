"""Two engines with one interface: the compiled core, and the NumPy reference that specifies it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import ArrayLike, NDArray

from tinyude import native
from tinyude.errors import TinyUDEError
from tinyude.model.kernel import KernelNetwork
from tinyude.physics import Physics
from tinyude.reference import calibration, training, view
from tinyude.reference import learner as stream
from tinyude.reference.config import Config
from tinyude.reference.start import StartModel, learner_start
from tinyude.reference.state import Known, learner_init
from tinyude.training.known import Ranges, known_functions, known_programs
from tinyude.training.operations import START_REJECTED, Engine

Array = NDArray[Any]


def make_engine(
    engine: str,
    precision: str,
    config: Config,
    physics: Physics,
    terms: Sequence[sp.Expr],
    frozen: Sequence[KernelNetwork] = (),
    visited: Ranges | None = None,
) -> tuple[Engine, str]:
    """The requested engine and its name; without the compiled core the reference is used, with one warning.

    frozen, visited: parts of a fitted model that are not changed, and their ranges; see known_programs.
    """
    if precision not in ("float64", "float32"):
        raise TinyUDEError(f"precision is {precision!r}; use 'float64' or 'float32'.")
    if engine == "native" and native.available():
        programs = known_programs(physics, terms, config.on, frozen, visited)
        return native.NativeLearner(config, programs, precision), "native"
    if engine not in ("native", "reference"):
        raise TinyUDEError(f"engine is {engine!r}; use 'native' or 'reference'.")
    if engine == "native":
        warnings.warn(
            "The compiled core is missing (there was no compiler at installation): the NumPy reference engine serves "
            "instead, with the same results, slower. Install a C compiler and reinstall tinyude for the fast one.",
            RuntimeWarning,
            stacklevel=3,
        )
    if precision == "float32":
        raise TinyUDEError("precision='float32' needs the compiled core; the reference engine is float64.")
    return ReferenceLearner(config, known_functions(physics, terms, config.on, frozen, visited)), "reference"


class ReferenceLearner(Engine):
    """The NumPy learner with the interface of the native one."""

    def __init__(self, config: Config, known: Known) -> None:
        self._learner = learner_init(config, known)

    def call(self, name: str, *arguments: Any) -> Any:
        module = next(module for module in (stream, calibration, training, view) if hasattr(module, f"learner_{name}"))
        return getattr(module, f"learner_{name}")(self._learner, *arguments)

    def start(self, model: StartModel) -> None:
        """Start from a fitted model, before the first sample."""
        if not learner_start(self._learner, model):
            raise TinyUDEError(START_REJECTED.format(model))

    def push(self, rows: ArrayLike) -> None:
        self.call("push_many", np.asarray(rows, dtype=np.float64))

    def residual(self, x: ArrayLike, u: ArrayLike | None = None) -> NDArray[np.float64]:
        x = np.asarray(x, dtype=np.float64)
        held = np.zeros((len(x), 0)) if u is None else np.asarray(u, dtype=np.float64)
        return np.asarray(self.call("residual", x, held))

    def set_network(self, weights: ArrayLike, rate: float) -> bool:
        return bool(self.call("set_network", np.asarray(weights, dtype=np.float64), rate))

    def take_losses(self) -> tuple[float, int]:
        total, count = self.call("take_losses")
        return total, count

    def state(self) -> dict[str, Any]:
        state: dict[str, Any] = self.call("view")
        return state
