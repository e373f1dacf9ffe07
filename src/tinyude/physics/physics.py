"""The known part of a model, stated once in SymPy: NumPy field, Jacobians and generated C all come from it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
import sympy as sp
from sympy.core.function import AppliedUndef

from tinyude.errors import TinyUDEError
from tinyude.physics.expressions import (
    SMOOTH_FUNCTIONS,
    Array,
    expression_text,
    in_basic_functions,
    is_finite_real,
    numpy_function,
)
from tinyude.physics.parsing import RESERVED_NAMES, parse_expression
from tinyude.physics.programs import Program, program
from tinyude.physics.syntax import canonical_text, check_name

_NON_SMOOTH = (
    sp.Abs, sp.sign, sp.Heaviside, sp.DiracDelta, sp.Piecewise, sp.Max, sp.Min, sp.floor, sp.ceiling, sp.frac, sp.Mod,
)  # fmt: skip
_ARITHMETIC = (sp.Symbol, sp.Number, sp.NumberSymbol, sp.Add, sp.Mul, sp.Pow)
_ALLOWED_NODES = (*_ARITHMETIC, *(f for f in SMOOTH_FUNCTIONS.values() if isinstance(f, type)))


@dataclass(frozen=True)
class Parameter:
    """A physical constant; with `learn=True` it is fitted along with the network, between `min` and `max`."""

    value: float
    learn: bool = False
    min: float = -math.inf
    max: float = math.inf

    def __post_init__(self) -> None:
        for name in ("value", "min", "max"):
            number = getattr(self, name)
            if isinstance(number, bool) or not isinstance(number, Real) or math.isnan(number):
                raise TinyUDEError(f"A parameter's {name} is {number!r}; give a number.")
            object.__setattr__(self, name, float(number))
        if not isinstance(self.learn, bool | np.bool_):
            raise TinyUDEError(f"A parameter's learn is {self.learn!r}; give True or False.")
        if not math.isfinite(self.value):
            raise TinyUDEError(f"A parameter's value is {self.value}; give a finite number.")
        if not self.min <= self.value <= self.max:
            raise TinyUDEError(f"A parameter's value {self.value:g} is outside [{self.min:g}, {self.max:g}]; widen it.")


class Physics:
    """Known dynamics dx/dt = f(x, u; parameters), with one right-hand side for each state.

    States, inputs and parameters are names or SymPy symbols (told apart by name; their assumptions are dropped);
    right-hand sides are SymPy expressions or text. `angles` names the states that live on a circle; by default those
    that enter only as whole multiples inside sin, cos or tan.

    A state that no equation uses and whose own right-hand side is 0 is taken for a mistake. One that nothing depends
    on but that has dynamics of its own, such as a cart's position, is welcome.

    Immutable; all methods take arrays with any leading axes, real or complex.
    """

    def __init__(
        self,
        states: Sequence[str | sp.Symbol],
        rhs: Sequence[sp.Expr | str | float],
        inputs: Sequence[str | sp.Symbol] = (),
        parameters: Mapping[str | sp.Symbol, float | Parameter] | None = None,
        angles: Sequence[str | sp.Symbol] | None = None,
    ) -> None:
        self.states = _names(states, "state")
        self.inputs = _names(inputs, "input")
        self.parameters = {
            _name(key, "parameter"): value if isinstance(value, Parameter) else Parameter(value)
            for key, value in (parameters or {}).items()
        }
        _refuse_shared_names(self.states, self.inputs, tuple(self.parameters))
        if not self.states:
            raise TinyUDEError("Physics needs at least one state, e.g. states=['theta', 'omega'].")
        if isinstance(rhs, str | sp.Basic):
            raise TinyUDEError(f"rhs is {rhs!r}; give a list with one right-hand side for each state.")
        self.texts = tuple(_text(item, self) for item in rhs)
        if len(self.texts) != len(self.states):
            raise TinyUDEError(
                f"{len(self.texts)} right-hand sides for {len(self.states)} states ({', '.join(self.states)}); "
                "give dx/dt of each state, in the same order."
            )
        self.rhs = tuple(parse_expression(text, self._symbols) for text in self.texts)
        self.texts = tuple(map(canonical_text, self.texts))  # what is shown and written into generated code
        self.learned = tuple(name for name, parameter in self.parameters.items() if parameter.learn)
        self._refuse_unused()
        self.angles = self._detected_angles() if angles is None else _names(angles, "angle")
        for name in self.angles:
            if name not in self.states:
                raise TinyUDEError(f"The angle {name} is not a state; the states are {', '.join(self.states)}.")

    @property
    def n_states(self) -> int:
        return len(self.states)

    @property
    def n_inputs(self) -> int:
        return len(self.inputs)

    @property
    def kinematic(self) -> tuple[int | None, ...]:
        """For each state the index of the state that is exactly its rate, or None."""
        return tuple(self.states.index(e.name) if e.is_Symbol and e.name in self.states else None for e in self.rhs)

    def field(self, x: Array, u: Array | None = None, p: Array | None = None) -> Array:
        """f(x, u; p) as (..., n); p are values of the learned parameters, by default their current ones."""
        return self._field(self._arguments(x, u, p))

    def jacobian(self, x: Array, u: Array | None = None, p: Array | None = None) -> Array:
        """df/dx as (..., n, n)."""
        flat = self._jacobian(self._arguments(x, u, p))
        return flat.reshape(*flat.shape[:-1], self.n_states, self.n_states)

    def parameter_jacobian(self, x: Array, u: Array | None = None, p: Array | None = None) -> Array:
        """df/dp as (..., n, number of learned parameters)."""
        flat = self._parameter_jacobian(self._arguments(x, u, p))
        return flat.reshape(*flat.shape[:-1], self.n_states, len(self.learned))

    def field_program(self) -> Program:
        """The field as straight-line code; its inputs are the states, the inputs, then the learned parameters."""
        return program(self._numeric_rhs, self._variables)

    def jacobian_program(self) -> Program:
        """df/dx as straight-line code, row by row, with the same inputs as `field_program`."""
        return program(self._derivatives(self.states), self._variables)

    def with_parameters(self, values: Mapping[str, float]) -> Physics:
        """The same physics with other parameter values."""
        unknown = set(values) - set(self.parameters)
        if unknown:
            raise TinyUDEError(
                f"Unknown parameters {', '.join(sorted(unknown))}; these are {', '.join(self.parameters) or 'none'}."
            )
        changed = {name: replace(self.parameters[name], value=float(value)) for name, value in values.items()}
        return Physics(self.states, self.texts, self.inputs, self.parameters | changed, self.angles)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; expressions as text."""
        return {
            "states": list(self.states),
            "rhs": list(self.texts),
            "inputs": list(self.inputs),
            "parameters": {name: _parameter_dict(parameter) for name, parameter in self.parameters.items()},
            "angles": list(self.angles),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Physics:
        """The inverse of `to_dict`. Safe on untrusted data: text is parsed by a whitelist and never executed."""
        try:
            parameters = {str(name): Parameter(**fields) for name, fields in data["parameters"].items()}
            lists = [data[key] for key in ("states", "rhs", "inputs", "angles")]
        except (KeyError, TypeError, AttributeError) as error:
            raise TinyUDEError(f"Not a description of physics ({error!r}); give what Physics.to_dict() gave.") from None
        if not all(isinstance(items, list) and all(isinstance(item, str) for item in items) for items in lists):
            raise TinyUDEError("Not a description of physics: states, rhs, inputs and angles must be lists of text.")
        states, rhs, inputs, angles = lists
        return cls(states, rhs, inputs, parameters, angles)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Physics) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    def __reduce__(self) -> tuple[Callable[[Mapping[str, Any]], Physics], tuple[dict[str, Any]]]:
        return Physics.from_dict, (self.to_dict(),)

    def __deepcopy__(self, memo: dict[int, Any]) -> Physics:
        return self

    def __repr__(self) -> str:
        equations = ", ".join(f"d{s}/dt = {text}" for s, text in zip(self.states, self.texts, strict=True))
        return f"Physics({equations})"

    @cached_property
    def _identity(self) -> tuple[Any, ...]:
        return self.states, self.rhs, self.inputs, tuple(self.parameters.items()), self.angles

    @cached_property
    def _symbols(self) -> dict[str, sp.Symbol]:
        return {name: sp.Symbol(name) for name in (*self.states, *self.inputs, *self.parameters)}

    @cached_property
    def _variables(self) -> list[sp.Symbol]:
        return [self._symbols[name] for name in (*self.states, *self.inputs, *self.learned)]

    @cached_property
    def _numeric_rhs(self) -> list[sp.Expr]:
        fixed = {self._symbols[n]: sp.Float(p.value) for n, p in self.parameters.items() if not p.learn}
        return [expr.xreplace(fixed) for expr in self.rhs]

    def _derivatives(self, names: Iterable[str]) -> list[sp.Expr]:
        symbols = [self._symbols[name] for name in names]
        return [sp.diff(expr, symbol) for expr in self._numeric_rhs for symbol in symbols]

    @cached_property
    def _field(self) -> Callable[[Array], Array]:
        return numpy_function(self._numeric_rhs, self._variables)

    @cached_property
    def _jacobian(self) -> Callable[[Array], Array]:
        return numpy_function(self._derivatives(self.states), self._variables)

    @cached_property
    def _parameter_jacobian(self) -> Callable[[Array], Array]:
        return numpy_function(self._derivatives(self.learned), self._variables)

    def _arguments(self, x: Array, u: Array | None, p: Array | None) -> Array:
        """States, inputs and learned parameters side by side, broadcast against each other."""
        if p is None and self.learned:
            p = np.array([self.parameters[name].value for name in self.learned])
        if u is None and self.inputs:
            raise TinyUDEError(f"This physics has inputs ({', '.join(self.inputs)}); pass their values as u.")
        parts = [_columns(x, self.states, "x")]
        if u is not None:
            parts.append(_columns(u, self.inputs, "u"))
        if p is not None:
            parts.append(_columns(p, self.learned, "p"))
        if len(parts) == 1:
            return parts[0]
        lead = np.broadcast_shapes(*(part.shape[:-1] for part in parts))
        return np.concatenate([np.broadcast_to(part, (*lead, part.shape[-1])) for part in parts], axis=-1)

    def _refuse_unused(self) -> None:
        used = {symbol.name for expr in self.rhs for symbol in expr.free_symbols}
        for name, expr in zip(self.states, self.rhs, strict=True):
            if name not in used and expr.is_zero:
                raise TinyUDEError(
                    f"The state {name} is unused: no equation contains it and its own right-hand side is 0; "
                    "remove it, or state its dynamics."
                )
        for name in self.learned:
            if name not in used:
                raise TinyUDEError(
                    f"The parameter {name} is to be learned, but no equation contains it; set learn=False."
                )

    def _detected_angles(self) -> tuple[str, ...]:
        return tuple(name for name in self.states if _enters_as_angle(self._symbols[name], self.rhs))


def _enters_as_angle(symbol: sp.Symbol, rhs: Sequence[sp.Expr]) -> bool:
    """Whether the symbol occurs, and only as a whole multiple inside sin, cos or tan: 2 pi more changes nothing."""
    waves = {w for expr in rhs for w in expr.atoms(sp.sin, sp.cos, sp.tan) if w.has(symbol)}
    if not waves or not all(sp.diff(wave.args[0], symbol).is_Integer for wave in waves):
        return False
    hidden = {wave: sp.Dummy() for wave in waves}
    return not any(expr.xreplace(hidden).has(symbol) for expr in rhs)


def _name(item: str | sp.Symbol, kind: str) -> str:
    if isinstance(item, AppliedUndef):
        raise TinyUDEError(f"The {kind} {item} is a function of time; name it plainly, e.g. sp.Symbol('{item.func}').")
    if not isinstance(item, str | sp.Symbol):
        raise TinyUDEError(f"The {kind} {item!r} is neither a name nor a SymPy symbol.")
    name = item if isinstance(item, str) else item.name
    return check_name(name, kind, RESERVED_NAMES)


def _names(items: Sequence[str | sp.Symbol], kind: str) -> tuple[str, ...]:
    if isinstance(items, str | sp.Symbol):
        raise TinyUDEError(f"{kind}s is {items!r}; give a list, e.g. [{str(items)!r}].")
    return tuple(_name(item, kind) for item in items)


def _refuse_shared_names(states: tuple[str, ...], inputs: tuple[str, ...], parameters: tuple[str, ...]) -> None:
    role: dict[str, str] = {}
    for kind, names in (("state", states), ("input", inputs), ("parameter", parameters)):
        for name in names:
            if name in role:
                raise TinyUDEError(f"The {kind} {name} is already the name of a {role[name]}; rename one of them.")
            role[name] = kind


def _text(item: sp.Expr | str | float, physics: Physics) -> str:
    """A right-hand side as text, after the checks that only a SymPy expression allows."""
    if isinstance(item, str):
        return item
    if isinstance(item, Real) and not isinstance(item, bool):
        item = sp.Integer(int(item)) if isinstance(item, int | np.integer) else sp.Float(float(item))
    if not isinstance(item, sp.Expr):
        raise TinyUDEError(f"The right-hand side {item!r} is neither a SymPy expression nor text nor a number.")
    _refuse_unsuitable(item)
    known = (*physics.states, *physics.inputs, *physics.parameters)
    unknown = sorted({s.name for s in item.free_symbols} - set(known))
    if unknown:
        raise TinyUDEError(
            f"The right-hand side {item} contains the unknown {', '.join(unknown)}; add it to states=, to inputs= "
            f"if it is a signal, or to parameters= if it is a constant. Known: {', '.join(known)}."
        )
    return expression_text(item.xreplace({s: sp.Symbol(s.name) for s in item.free_symbols}))


def _refuse_unsuitable(expr: sp.Expr) -> None:
    for node in sp.preorder_traversal(in_basic_functions(expr)):
        if isinstance(node, AppliedUndef | sp.Derivative):
            raise TinyUDEError(
                f"The right-hand side {expr} contains {node}, a function of time; "
                "substitute a plain symbol for it: expr.subs(theta(t), theta)."
            )
        if isinstance(node, _NON_SMOOTH):
            raise TinyUDEError(
                f"The right-hand side {expr} contains {node.func.__name__}, which is not smooth; "
                "leave that term to the network, or use a smooth form such as tanh(k*x) for sign(x)."
            )
        if not isinstance(node, _ALLOWED_NODES) or (node.is_number and not is_finite_real(node)):
            raise TinyUDEError(
                f"The right-hand side {expr} contains {node}, which is not supported; "
                f"use finite real numbers, arithmetic and {', '.join(sorted(SMOOTH_FUNCTIONS))}."
            )


def _columns(values: Array, names: tuple[str, ...], what: str) -> Array:
    array = np.asarray(values)
    if array.ndim == 0 or array.shape[-1] != len(names):
        raise TinyUDEError(
            f"{what} has shape {array.shape}; its last axis must be {len(names)} ({', '.join(names) or 'none'})."
        )
    return array


def _parameter_dict(parameter: Parameter) -> dict[str, Any]:
    """Without infinite bounds, which JSON cannot write."""
    fields = {"value": parameter.value, "learn": bool(parameter.learn), "min": parameter.min, "max": parameter.max}
    return {key: value for key, value in fields.items() if math.isfinite(value)}
