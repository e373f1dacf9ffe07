"""SymPy expressions as text that reads back exactly, and as vectorised NumPy functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, reduce
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray
from sympy.printing.str import StrPrinter

from tinyude.errors import TinyUDEError

Array = NDArray[Any]
MAX_SUMMANDS = 1_000  # of an expression that is multiplied out


def complex_safe_abs(x: Array) -> Array:
    return np.where(np.real(x) < 0.0, -x, x)  # np.abs would drop the imaginary part of a complex step


def complex_safe_sign(x: Array) -> Array:
    return np.asarray(np.sign(np.real(x)))


SMOOTH_FUNCTIONS: dict[str, Any] = {
    f.__name__: f
    for f in (sp.sin, sp.cos, sp.tan, sp.exp, sp.log, sp.tanh, sp.sinh, sp.cosh, sp.atan, sp.asin, sp.acos)
} | {"sqrt": sp.sqrt}
NON_SMOOTH_FUNCTIONS: dict[str, Any] = {"abs": sp.Abs, "sign": sp.sign}
SEVERAL_ARGUMENTS: dict[str, Any] = {"max": sp.Max, "min": sp.Min}

_RECIPROCALS: tuple[tuple[Any, Callable[[sp.Expr], sp.Expr]], ...] = (
    (sp.cot, lambda a: sp.cos(a) / sp.sin(a)),
    (sp.sec, lambda a: 1 / sp.cos(a)),
    (sp.csc, lambda a: 1 / sp.sin(a)),
    (sp.coth, lambda a: sp.cosh(a) / sp.sinh(a)),
    (sp.sech, lambda a: 1 / sp.cosh(a)),
    (sp.csch, lambda a: 1 / sp.sinh(a)),
)


def in_basic_functions(expr: sp.Expr) -> sp.Expr:
    """The expression in what programs have: quotients for cot, sec, csc and their hyperbolic kin (SymPy makes some
    itself), abs and sign for Max, Min, Heaviside and Piecewise.
    """
    for function, quotient in _RECIPROCALS:
        if expr.has(function):
            expr = expr.replace(function, quotient)
    for function, pieces in _BY_PIECES:
        if expr.has(function):
            expr = expr.replace(function, pieces)
    return expr


@lru_cache(maxsize=1024)
def derivative(expr: sp.Expr, symbol: sp.Symbol) -> sp.Expr:
    """d expr / d symbol; abs and sign are differentiated on either side of their corner."""
    if not expr.has(sp.Abs, sp.sign):
        return sp.diff(expr, symbol)
    real = {s: sp.Symbol(s.name, real=True) for s in expr.free_symbols | {symbol}}
    slope = sp.diff(expr.xreplace(real), real[symbol]).replace(sp.DiracDelta, lambda *_: sp.Integer(0))
    if slope.has(sp.re, sp.im, sp.Derivative):
        raise TinyUDEError(
            f"{expr} cannot be differentiated by {symbol}; write abs or sign of a plain real expression."
        )
    return slope.xreplace({value: key for key, value in real.items()})


def expanded(expr: sp.Expr) -> sp.Expr:
    """The expression multiplied out; as it is where that makes more than MAX_SUMMANDS: SymPy may take hours for it."""
    inner = [item for part in expr.atoms(sp.Function, sp.Pow) for item in part.args]
    return sp.expand(expr) if max(map(_summands, (expr, *inner))) <= MAX_SUMMANDS else expr


def _summands(expr: sp.Expr) -> int:
    """Terms of the sum that an expression becomes when it is multiplied out."""
    if expr.is_Add:
        return sum(map(_summands, expr.args))
    if expr.is_Mul:
        return math.prod(map(_summands, expr.args))
    if expr.is_Pow and expr.exp.is_Integer:
        power = abs(int(expr.exp))
        return math.comb(_summands(expr.base) + power - 1, power)
    return 1


def _either(high: sp.Expr, low: sp.Expr, sign: int) -> sp.Expr:
    return (high + low + sign * sp.Abs(high - low)) / 2


def _folded(sign: int) -> Callable[..., sp.Expr]:
    return lambda *items: reduce(lambda a, b: _either(a, b, sign), items)


def above(high: sp.Expr, low: sp.Expr) -> sp.Expr:
    """1 where high > low, else 0."""
    side = sp.sign(high - low)
    return side * (side + 1) / 2


def any_of(truths: Iterable[sp.Expr]) -> sp.Expr:
    """1 where one of some truths, each 1 or 0, is 1."""
    return 1 - sp.Mul(*(1 - truth for truth in truths))


def first_of(pieces: Sequence[tuple[sp.Expr, sp.Expr]]) -> sp.Expr:
    """Of pairs (expression, truth) the expression of the first whose truth is 1; 0 where there is none."""
    value = sp.Integer(0)
    for expr, truth in reversed(pieces):
        value = truth * expr + (1 - truth) * value
    return value


def _truth(condition: Any) -> sp.Expr:
    """1 where a condition holds and 0 where it does not."""
    if condition in (sp.true, sp.false):
        return sp.Integer(int(bool(condition)))
    if isinstance(condition, sp.And):
        return sp.Mul(*(_truth(part) for part in condition.args))
    if isinstance(condition, sp.Or):
        return any_of(_truth(part) for part in condition.args)
    if isinstance(condition, sp.Not):
        return 1 - _truth(condition.args[0])
    if isinstance(condition, sp.Gt | sp.Le):
        over = above(condition.lhs, condition.rhs)
        return over if isinstance(condition, sp.Gt) else 1 - over
    if isinstance(condition, sp.Lt | sp.Ge):
        under = above(condition.rhs, condition.lhs)
        return under if isinstance(condition, sp.Lt) else 1 - under
    raise TinyUDEError(f"The condition {condition} is not supported; compare with <, <=, > or >=.")


_BY_PIECES: tuple[tuple[Any, Callable[..., sp.Expr]], ...] = (
    (sp.Piecewise, lambda *pieces: first_of([(expr, _truth(condition)) for expr, condition in pieces])),
    (sp.Max, _folded(1)),
    (sp.Min, _folded(-1)),
    (sp.Heaviside, lambda a, *_: (1 + sp.sign(a)) / 2),
)


class _ExactPrinter(StrPrinter):  # type: ignore[misc]
    """Python syntax that reads back to the same numbers: floats with all their digits, constants by value."""

    def _print_Float(self, expr: sp.Float) -> str:
        return repr(float(expr))

    def _print_Exp1(self, expr: sp.Expr) -> str:
        return "exp(1)"

    def _print_NumberSymbol(self, expr: sp.Expr) -> str:
        return "pi" if expr is sp.pi else repr(float(expr))

    _print_Pi = _print_GoldenRatio = _print_EulerGamma = _print_Catalan = _print_NumberSymbol


def expression_text(expr: sp.Expr) -> str:
    """The expression as text for `parse_expression`."""
    return str(_ExactPrinter().doprint(in_basic_functions(expr)))


def numpy_function(exprs: Sequence[sp.Expr], symbols: Sequence[sp.Symbol]) -> Callable[[Array], Array]:
    """A function from an array (..., len(symbols)) to (..., len(exprs)); real or complex, constants broadcast."""
    return _numpy_function(tuple(exprs), tuple(symbols))


@lru_cache(maxsize=256)
def _numpy_function(exprs: tuple[sp.Expr, ...], symbols: tuple[sp.Symbol, ...]) -> Callable[[Array], Array]:
    """Compiled once: a fit moves learned parameters, which are arguments, through many copies of one physics."""
    basic = [in_basic_functions(e) for e in exprs]
    safe = {"Abs": complex_safe_abs, "sign": complex_safe_sign}
    function = sp.lambdify(list(symbols), basic, modules=[safe, "numpy"], cse=True)
    count, width = len(exprs), len(symbols)

    def evaluate(x: Array) -> Array:
        x = float_or_complex(x)
        if x.ndim == 0 or x.shape[-1] != width:
            raise TinyUDEError(
                f"Got an array of shape {x.shape}, whose last axis must be {width}: "
                f"one column for each of {', '.join(map(str, symbols)) or 'no symbols'}."
            )
        columns = x if x.ndim == 1 else np.moveaxis(x, -1, 0)  # scalars are faster than arrays of no axes
        out = np.empty((*x.shape[:-1], count), x.dtype)
        for k, value in enumerate(function(*columns)):
            out[..., k] = value
        return out

    return evaluate


def float_or_complex(x: Array) -> Array:
    return np.asarray(x, np.complex128 if np.iscomplexobj(x) else np.float64)


def is_finite_real(number: sp.Expr) -> bool:
    """Whether a constant expression has a value that fits a floating-point number."""
    try:
        return math.isfinite(float(number))
    except (TypeError, OverflowError):
        return False


def enters_as_angle(symbol: sp.Symbol, rhs: Sequence[sp.Expr]) -> bool:
    """Whether the symbol occurs, and only as a whole multiple inside sin, cos or tan: 2 pi more changes nothing."""
    waves = {w for expr in rhs for w in expr.atoms(sp.sin, sp.cos, sp.tan) if w.has(symbol)}
    if not waves or not all(sp.diff(wave.args[0], symbol).is_Integer for wave in waves):
        return False
    hidden = {wave: sp.Dummy() for wave in waves}
    return not any(expr.xreplace(hidden).has(symbol) for expr in rhs)
