"""Checks of the arguments of `Physics`: names, right-hand sides as text, SymPy expressions or numbers, arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Real

import numpy as np
import sympy as sp
from sympy.core.function import AppliedUndef

from tinyude.errors import TinyUDEError
from tinyude.physics.expressions import (
    NON_SMOOTH_FUNCTIONS,
    SMOOTH_FUNCTIONS,
    Array,
    expression_text,
    in_basic_functions,
    is_finite_real,
)
from tinyude.physics.parsing import RESERVED_NAMES
from tinyude.physics.syntax import check_name

MAX_NAMES = 200  # of states, inputs and parameters together
_NON_SMOOTH = (sp.DiracDelta, sp.floor, sp.ceiling, sp.frac, sp.Mod)
_ARITHMETIC = (sp.Symbol, sp.Number, sp.NumberSymbol, sp.Add, sp.Mul, sp.Pow)
_FUNCTIONS = SMOOTH_FUNCTIONS | NON_SMOOTH_FUNCTIONS
_ALLOWED_NODES = (*_ARITHMETIC, *(f for f in _FUNCTIONS.values() if isinstance(f, type)))


def name_of(item: str | sp.Symbol, kind: str) -> str:
    if isinstance(item, AppliedUndef):
        raise TinyUDEError(f"The {kind} {item} is a function of time; name it plainly, e.g. sp.Symbol('{item.func}').")
    if not isinstance(item, str | sp.Symbol):
        raise TinyUDEError(f"The {kind} {item!r} is neither a name nor a SymPy symbol.")
    name = item if isinstance(item, str) else item.name
    return check_name(name, kind, RESERVED_NAMES)


def names(items: Sequence[str | sp.Symbol], kind: str) -> tuple[str, ...]:
    if isinstance(items, str | sp.Symbol):
        raise TinyUDEError(f"{kind}s is {items!r}; give a list, e.g. [{str(items)!r}].")
    return tuple(name_of(item, kind) for item in items)


def check_names_differ(states: tuple[str, ...], inputs: tuple[str, ...], parameters: tuple[str, ...]) -> None:
    """An error where two things have one name, or where there are too many."""
    count = len(states) + len(inputs) + len(parameters)
    if count > MAX_NAMES:
        raise TinyUDEError(f"There are {count:,} states, inputs and parameters, more than {MAX_NAMES}; name fewer.")
    role: dict[str, str] = {}
    for kind, names in (("state", states), ("input", inputs), ("parameter", parameters)):
        for name in names:
            if name in role:
                raise TinyUDEError(f"The {kind} {name} is already the name of a {role[name]}; rename one of them.")
            role[name] = kind


def right_hand_sides(
    rhs: Sequence[sp.Expr | str | float] | Mapping[str | sp.Symbol, sp.Expr | str | float],
    states: tuple[str, ...],
    others: tuple[str, ...],
) -> tuple[str, ...]:
    """The right-hand side of each state as text; they may contain states, inputs and parameters."""
    if isinstance(rhs, Mapping):
        rhs = _in_order_of(states, {str(name): item for name, item in rhs.items()})
    if callable(rhs) or (isinstance(rhs, Sequence) and any(map(_is_function, rhs))):
        raise TinyUDEError(
            "rhs is a Python function, which cannot be differentiated or put on a board; write the rates as text "
            "or SymPy expressions, e.g. rhs=['omega', '-9.81*sin(theta)']."
        )
    if isinstance(rhs, str | sp.Basic):
        raise TinyUDEError(f"rhs is {rhs!r}; give a list with one right-hand side for each state.")
    texts = tuple(_right_hand_side(item, (*states, *others)) for item in rhs)
    if len(texts) != len(states):
        raise TinyUDEError(
            f"{len(texts)} right-hand sides for {len(states)} states ({', '.join(states)}); "
            "give dx/dt of each state, in the same order."
        )
    return texts


def _in_order_of(states: tuple[str, ...], named: Mapping[str, sp.Expr | str | float]) -> list[sp.Expr | str | float]:
    """Right-hand sides given by the names of their states."""
    if set(named) != set(states):
        raise TinyUDEError(f"rhs names {', '.join(named) or 'nothing'}; it must name each state: {', '.join(states)}.")
    return [named[name] for name in states]


def check_learned_are_used(rhs: Sequence[sp.Expr], learned: Sequence[str]) -> None:
    """An error where a parameter is to be learned that no equation contains."""
    used = {symbol.name for expr in rhs for symbol in expr.free_symbols}
    for name in learned:
        if name not in used:
            raise TinyUDEError(f"The parameter {name} is to be learned, but no equation contains it; set learn=False.")


def check_finite(equations: Iterable[tuple[str, sp.Expr]], values: Mapping[sp.Symbol, float]) -> None:
    """An error where a value makes an equation infinite, as 0 does that is divided by."""
    numbers = {symbol: sp.Float(value) for symbol, value in values.items()}
    for state, expr in equations if numbers else ():
        if expr.xreplace(numbers).has(sp.zoo, sp.nan, sp.oo, -sp.oo):
            raise TinyUDEError(f"d({state})/dt is not finite with these values of the parameters; change them.")


def columns_of(values: Array, names: tuple[str, ...], what: str) -> Array:
    """Values whose last axis has one entry for each name."""
    array = np.asarray(values)
    if array.ndim == 0 or array.shape[-1] != len(names):
        raise TinyUDEError(
            f"{what} has shape {array.shape}; its last axis must be {len(names)} ({', '.join(names) or 'none'})."
        )
    return array


def _is_function(item: object) -> bool:
    return callable(item) and not isinstance(item, sp.Basic)


def _right_hand_side(item: sp.Expr | str | float, known: Sequence[str]) -> str:
    """A right-hand side as text, after the checks that only a SymPy expression allows."""
    if isinstance(item, str):
        return item
    if isinstance(item, Real) and not isinstance(item, bool):
        item = sp.Integer(int(item)) if isinstance(item, int | np.integer) else sp.Float(float(item))
    if not isinstance(item, sp.Expr):
        raise TinyUDEError(
            f"The right-hand side {item!r} is neither a SymPy expression nor text nor a number; "
            'write e.g. "-(g/L)*sin(theta)".'
        )
    _check_supported(item)
    unknown = sorted({s.name for s in item.free_symbols} - set(known))
    if unknown:
        raise TinyUDEError(
            f"The right-hand side {item} contains the unknown {', '.join(unknown)}; add it to states=, to inputs= "
            f"if it is a signal, or to parameters= if it is a constant. Known: {', '.join(known)}."
        )
    return expression_text(item.xreplace({s: sp.Symbol(s.name) for s in item.free_symbols}))


def _check_supported(expr: sp.Expr) -> None:
    for node in sp.preorder_traversal(in_basic_functions(expr)):
        if isinstance(node, AppliedUndef | sp.Derivative):
            raise TinyUDEError(
                f"The right-hand side {expr} contains {node}, a function of time; "
                "substitute a plain symbol for it: expr.subs(theta(t), theta)."
            )
        if isinstance(node, _NON_SMOOTH):
            raise TinyUDEError(
                f"The right-hand side {expr} contains {node.func.__name__}, which is not supported; "
                "leave that term to the network, or use abs, sign, max and min."
            )
        if not isinstance(node, _ALLOWED_NODES) or (node.is_number and not is_finite_real(node)):
            raise TinyUDEError(
                f"The right-hand side {expr} contains {node}, which is not supported; "
                f"use finite real numbers, arithmetic and {', '.join(sorted(SMOOTH_FUNCTIONS))}."
            )
