"""Computations of a fitted UDE: rates, the learned residual, free runs, linearisations, exports to other tools."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from tinyude.data.frames import column_named, numbers, seconds
from tinyude.errors import TinyUDEError
from tinyude.model.equations import NORMAL, interval_factor
from tinyude.model.model import Model
from tinyude.model.program import model_program
from tinyude.model.result import FitResult
from tinyude.model.simulation import check_divergence, extrapolation, free_runs
from tinyude.model.uncertainty import posterior_error, residual_error
from tinyude.physics.derivatives import program_derivative
from tinyude.physics.programs import program_numpy

Array = NDArray[Any]


class Predicting:
    """The part of `UDE` that evaluates a fitted model."""

    if TYPE_CHECKING:
        result_: FitResult

        def _fitted(self) -> Model: ...

    def predict(self, X: Any, u: Any = None) -> Array:
        """Rates dx/dt at states.

        Parameters
        ----------
        X : array_like of shape (..., states), or data frame
            The states; a frame's columns are found by name.
        u : array_like of shape (..., inputs), optional
            The inputs there. May be omitted if they are columns of the data frame X.

        Returns
        -------
        ndarray of shape (..., states)
            The rates.

        Examples
        --------
        >>> ude.predict([0.0, 1.0]).round(1)
        array([ 1. , -0.4])
        """
        model, states, held = self._arguments(X, u)
        return model.field(states, held)

    def residual(self, X: Any, u: Any = None) -> Array:
        """The learned residual, beyond the known physics.

        Parameters
        ----------
        X : array_like of shape (..., states)
            The states.
        u : array_like of shape (..., inputs), optional
            The inputs there.

        Returns
        -------
        ndarray of shape (..., states)
            The learned part of the rates.

        Examples
        --------
        >>> ude.residual([[0.5, 2.0]]).round(1)
        array([[ 0. , -0.8]])
        """
        model, states, held = self._arguments(X, u)
        return model.residual(states, held)

    def residual_interval(self, X: Any, u: Any = None, level: float = 0.9) -> tuple[Array, Array]:
        """An interval that contains the true residual with the given confidence, given the chosen terms and shapes.

        Parameters
        ----------
        X : array_like of shape (..., states)
            The states.
        u : array_like of shape (..., inputs), optional
            The inputs there.
        level : float, optional
            Confidence between 0 and 1.

        Returns
        -------
        low, high : ndarray of shape (..., states)
            Its ends.

        Raises
        ------
        TinyUDEError
            If the level is not between 0 and 1, or the model comes from partial_fit().

        Examples
        --------
        >>> low, high = ude.residual_interval([0.0, 1.0])
        >>> bool(low[1] < ude.residual([0.0, 1.0])[1] < high[1])
        True
        """
        model, states, held = self._arguments(X, u)
        if not (isinstance(level, Real) and 0.0 < level < 1.0):
            raise TinyUDEError(f"level is {level!r}; give a number between 0 and 1, e.g. 0.9.")
        middle = model.residual(states, held)
        if model.covariance is not None:
            half = interval_factor(NORMAL, level) * posterior_error(model, states, held)
            return middle - half, middle + half
        spread = self.result_.spread
        if spread is None:
            raise TinyUDEError(
                "Intervals of the residual are available after fit(), not after partial_fit(); fit a record."
            )
        half = interval_factor(len(spread.terms), level) * residual_error(model, spread, states, held)
        return middle - half, middle + half

    def simulate(self, x0: Any, times: Any, u: Any = None, *, hold: str | None = None) -> Array:
        """Free (simulation) runs: the states at the given times.

        Parameters
        ----------
        x0 : array_like of shape (states,) or (runs, states)
            The state at times[0], of one run or of each of several runs.
        times : array_like of shape (times,)
            Rising, in seconds; integration steps between them are adaptive.
        u : array_like of shape (times, inputs) or (runs, times, inputs), or callable, optional
            The inputs at these times, or a function of the time that returns them; needed by physics with inputs.
        hold : {"held", "linear", "cubic"}, optional
            What inputs do from one time to the next: held, in a straight line, or along a spline. By default as found
            by, or given to, the fit.

        Returns
        -------
        ndarray of shape (times, states), or (runs, times, states) for several starts
            With several runs, a run that diverges is NaN from that time on.

        Raises
        ------
        TinyUDEError
            If a single run diverges; the message says when. `extrapolation` shows whether a run left the range of the
            record.

        Examples
        --------
        >>> ude.simulate([1.0, 0.0], times=[0.0, 0.5, 1.0]).shape
        (3, 2)
        """
        model = self._fitted()
        start = numbers(x0, model.physics.states, "x0")
        between = self.result_.diagnostics.get("holds", {}) if hold is None else hold
        instants = seconds(times, "times")
        if callable(u):
            u = np.array([np.atleast_1d(u(instant)) for instant in np.atleast_1d(instants).tolist()])
        held = None if u is None else numbers(u, model.physics.inputs, "u")
        runs = free_runs(model.dynamics, np.atleast_2d(start), instants, model.x_scale, held, hold=between)
        if start.ndim == 2:
            return runs.states
        check_divergence(runs)
        return np.asarray(runs.states[0])

    def extrapolation(self, X: Any, u: Any = None, times: Any = None) -> list[str]:
        """Which states and inputs are outside the range visited in training.

        Parameters
        ----------
        X : array_like of shape (..., states)
            The states.
        u : array_like of shape (..., inputs), optional
            The inputs there.
        times : array_like, optional
            Time of each row; the sentences then state the time.

        Returns
        -------
        list of str
            A sentence for each signal that leaves its range; empty if none does.

        Examples
        --------
        >>> ude.extrapolation([[0.1, 0.1]])
        []
        """
        model, states, held = self._arguments(X, u)
        columns = (
            states
            if held is None
            else np.concatenate([states, np.broadcast_to(held, (*states.shape[:-1], held.shape[-1]))], axis=-1)
        )
        names = (*model.physics.states, *(model.physics.inputs if held is not None else ()))
        ranges = self.result_.diagnostics["visited"]
        return extrapolation(columns, names, ranges, model.physics.angles, None if times is None else np.asarray(times))

    def linearize(self, x: Any, u: Any = None) -> tuple[Array, Array]:
        """Derivatives of the field at a state: dx/dt = f + A (x - x0) + B (u - u0).

        Parameters
        ----------
        x : array_like of shape (states,)
            The operating point.
        u : array_like of shape (inputs,), optional
            The inputs there; 0 by default.

        Returns
        -------
        A : ndarray of shape (states, states)
            By the states.
        B : ndarray of shape (states, inputs)
            By the inputs.

        Examples
        --------
        >>> A, B = ude.linearize([0.0, 0.0])
        >>> A.round(1)
        array([[ 0. ,  1. ],
               [-9.8, -0.4]])
        """
        physics = self._fitted().physics
        held = np.zeros(physics.n_inputs) if u is None and physics.n_inputs else u
        model, state, at = self._arguments(x, held)
        if state.ndim != 1:
            raise TinyUDEError(f"x has shape {state.shape}; give one state of {physics.n_states} numbers.")
        width = physics.n_states + physics.n_inputs
        point = state if at is None else np.concatenate([state, np.atleast_1d(at)])
        slopes = program_numpy(program_derivative(model_program(model), range(width)), point)
        slopes = slopes.reshape(physics.n_states, width)
        return slopes[:, : physics.n_states], slopes[:, physics.n_states :]

    def to_sympy(self) -> dict[str, sp.Expr]:
        """The model in SymPy.

        Returns
        -------
        dict of str to sympy.Expr
            The rate dx/dt of every state.

        Examples
        --------
        >>> sorted(ude.to_sympy())
        ['omega', 'theta']
        """
        from tinyude.export.sympy_model import to_sympy

        return to_sympy(self._fitted())

    def to_casadi(self, name: str = "field") -> Any:
        """The model in CasADi (extra `casadi`).

        Parameters
        ----------
        name : str, optional
            The function's name.

        Returns
        -------
        casadi.Function
            `name(x, u) -> dx`.
        """
        from tinyude.export.casadi_model import to_casadi

        return to_casadi(self._fitted(), name)

    def to_control(self, at: Any = None, u: Any = None) -> Any:
        """The model in python-control (extra `control`).

        Parameters
        ----------
        at : array_like of shape (states,), optional
            Linearise about this state; by default the system stays nonlinear.
        u : array_like of shape (inputs,), optional
            The inputs there.

        Returns
        -------
        control.NonlinearIOSystem or control.StateSpace
            The system.
        """
        from tinyude.export.control_model import to_control

        return to_control(self._fitted(), at, u)

    def to_jax(self) -> Any:
        """The model in JAX (extra `jax`).

        Returns
        -------
        callable
            The rate dx/dt as a function of states, inputs and what was learned.
        """
        from tinyude.export.jax_model import to_jax

        return to_jax(self._fitted())

    def _arguments(self, X: Any, u: Any) -> tuple[Model, Array, Array | None]:
        model = self._fitted()
        states = numbers(X, model.physics.states, "X")
        if states.ndim == 0 or states.shape[-1] != model.physics.n_states:
            raise TinyUDEError(
                f"X has shape {states.shape}; its last axis must hold the states {', '.join(model.physics.states)}."
            )
        if not np.all(np.isfinite(states)):
            raise TinyUDEError("X holds non-finite values; drop those rows.")
        if (
            u is None
            and model.physics.n_inputs
            and all(column_named(X, name) is not None for name in model.physics.inputs)
        ):
            u = X  # a data frame with the inputs too
        if u is None and model.physics.n_inputs:
            raise TinyUDEError(f"This physics has inputs ({', '.join(model.physics.inputs)}); pass their values as u.")
        held = None if u is None else numbers(u, model.physics.inputs, "u")
        if held is not None and held.ndim == states.ndim - 1 and model.physics.n_inputs == 1:
            held = held[..., None]
        if held is not None and held.ndim > 1 and held.shape[:-1] != states.shape[:-1]:
            raise TinyUDEError(
                f"u has shape {held.shape} and X has {states.shape}; give one row of the inputs "
                f"({', '.join(model.physics.inputs)}) for each row of X."
            )
        return model, states, held
