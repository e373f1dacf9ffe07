"""A fitted model as a CasADi function: for optimal control, estimation and CasADi's integrators."""

from __future__ import annotations

from typing import Any

from tinyude.data.extras import needed
from tinyude.model.model import Model
from tinyude.model.program import model_program
from tinyude.physics.programs import program_walk


def to_casadi(model: Model, name: str = "field") -> Any:
    """dx/dt as a CasADi function of the states and the inputs.

    Parameters
    ----------
    model : Model
        A fitted model.
    name : str, optional
        The function's name.

    Returns
    -------
    casadi.Function
        `name(x, u) -> dx`, all column vectors; u has no rows when the physics has no inputs.

    Raises
    ------
    TinyUDEError
        When CasADi is not installed.
    """
    casadi = needed("casadi", "casadi")
    operations = {
        "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
        "neg": lambda a: -a, "abs": casadi.fabs,
    }  # fmt: skip
    operations |= {op: getattr(casadi, op) for op in _SAME}
    x, u = casadi.SX.sym("x", model.physics.n_states), casadi.SX.sym("u", model.physics.n_inputs)
    columns = [*casadi.vertsplit(x), *casadi.vertsplit(u)]
    dx = casadi.vertcat(*program_walk(model_program(model), columns, operations, casadi.SX))
    return casadi.Function(name, [x, u], [dx], ["x", "u"], ["dx"])


_SAME = ("sqrt", "sin", "cos", "tan", "exp", "log", "tanh", "atan", "asin", "acos", "sinh", "cosh", "sign")
