"""A fitted model for python-control: nonlinear, or linearised about a state."""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyude.data.extras import needed
from tinyude.errors import TinyUDEError
from tinyude.model.model import Model
from tinyude.model.program import model_program
from tinyude.physics.derivatives import program_derivative
from tinyude.physics.programs import program_numpy


def to_control(model: Model, at: Any = None, u: Any = None) -> Any:
    """The model as a system of python-control, whose outputs are its states.

    Parameters
    ----------
    model : Model
        A fitted model.
    at : array_like, optional
        A state: the system is linearised there, by exact derivatives.
    u : array_like, optional
        The inputs there; 0 by default.

    Returns
    -------
    control.NonlinearIOSystem or control.StateSpace
        The linear one is in deviations from `at` and `u`; give an equilibrium.

    Raises
    ------
    TinyUDEError
        When python-control is not installed, or `at` or `u` have other lengths than states and inputs.
    """
    control = needed("control", "control")
    program, physics = model_program(model), model.physics
    names: dict[str, Any] = {"states": list(physics.states), "outputs": list(physics.states)}
    names["inputs"] = list(physics.inputs)
    if at is None:
        return control.nlsys(
            lambda t, x, held, params: program_numpy(program, np.concatenate([x, held])), None, **names
        )  # without an output function the outputs are the states
    point = _row(at, physics.states, "at"), _row(np.zeros(physics.n_inputs) if u is None else u, physics.inputs, "u")
    width = physics.n_states + physics.n_inputs
    flat = program_numpy(program_derivative(program, range(width)), np.concatenate(point))
    slopes = flat.reshape(physics.n_states, width)
    a, b = slopes[:, : physics.n_states], slopes[:, physics.n_states :]
    return control.ss(a, b, np.eye(physics.n_states), np.zeros(b.shape), **names)


def _row(values: Any, names: tuple[str, ...], what: str) -> Any:
    row = np.atleast_1d(np.asarray(values, dtype=np.float64))
    if row.shape != (len(names),) or not np.all(np.isfinite(row)):
        raise TinyUDEError(f"{what} is {values!r}; give {len(names)} finite numbers ({', '.join(names) or 'none'}).")
    return row
