"""A fitted model in SymPy: to read, to differentiate, to print in another language."""

from __future__ import annotations

from typing import Any

import sympy as sp

from tinyude.model.model import Model
from tinyude.model.program import model_program
from tinyude.physics.programs import program_walk


def to_sympy(model: Model) -> dict[str, sp.Expr]:
    """dx/dt of every state as an expression of real symbols with the names of states and inputs.

    Parameters
    ----------
    model : Model
        A fitted model.

    Returns
    -------
    dict of str to sympy.Expr
        The state's name and its right-hand side; parameters and coefficients are numbers.
    """
    names = (*model.physics.states, *model.physics.inputs)
    symbols = [sp.Symbol(name, real=True) for name in names]
    operations = _OPERATIONS | {name: _wave(function, symbols) for name, function in _WAVES.items()}
    field = program_walk(model_program(model), symbols, operations, _number)
    return {name: sp.sympify(rhs) for name, rhs in zip(model.physics.states, field, strict=True)}


_WAVES: dict[str, Any] = {"sin": sp.sin, "cos": sp.cos, "tan": sp.tan}
_OPERATIONS: dict[str, Any] = {
    "add": sp.Add, "sub": lambda a, b: a - b, "mul": sp.Mul, "div": lambda a, b: a / b, "neg": lambda a: -a,
    "sqrt": sp.sqrt, "exp": sp.exp, "log": sp.log, "tanh": sp.tanh, "atan": sp.atan, "asin": sp.asin, "acos": sp.acos,
    "sinh": sp.sinh, "cosh": sp.cosh, "abs": sp.Abs, "sign": sp.sign,
}  # fmt: skip


def _number(value: float) -> sp.Expr:
    return sp.Integer(int(value)) if value.is_integer() and abs(value) < 2.0**31 else sp.Float(value)


def _wave(function: Any, symbols: list[sp.Symbol]) -> Any:
    """sin, cos or tan, in whose argument whole multiples of an angle need no wrapping."""

    def apply(argument: sp.Expr) -> sp.Expr:
        for angle in symbols:
            wrapped = sp.atan(sp.tan(angle / 2))
            times = sp.sympify(argument).coeff(wrapped) / 2
            if times != 0 and times.is_integer:
                argument = argument.xreplace({wrapped: angle / 2})
        return function(argument)

    return apply
