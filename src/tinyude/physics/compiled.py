"""Right-hand sides as NumPy functions and straight-line programs, each compiled on first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import sympy as sp

from tinyude.errors import TinyUDEError
from tinyude.physics.arguments import columns_of
from tinyude.physics.expressions import Array, derivative, numpy_function
from tinyude.physics.programs import Program, program


@dataclass(frozen=True)
class CompiledPhysics:
    """Field and derivatives of a `Physics`, whose methods of the same names explain them.

    Arguments of functions and programs are the states, the inputs, then the learned parameters; the other parameters
    are numbers.
    """

    rhs: tuple[sp.Expr, ...]
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    values: Mapping[str, float]  # of all parameters
    learned: tuple[str, ...]

    def field(self, x: Array, u: Array | None, p: Array | None) -> Array:
        return self._field(self._arguments(x, u, p))

    def jacobian(self, x: Array, u: Array | None, p: Array | None) -> Array:
        flat = self._jacobian(self._arguments(x, u, p))
        return flat.reshape(*flat.shape[:-1], len(self.states), len(self.states))

    def parameter_jacobian(self, x: Array, u: Array | None, p: Array | None) -> Array:
        flat = self._parameter_jacobian(self._arguments(x, u, p))
        return flat.reshape(*flat.shape[:-1], len(self.states), len(self.learned))

    def field_program(self) -> Program:
        return program(self._numeric_rhs, self._variables)

    def jacobian_program(self) -> Program:
        return program(self._derivatives(self.states), self._variables)

    def _arguments(self, x: Array, u: Array | None, p: Array | None) -> Array:
        """States, inputs and learned parameters side by side, broadcast against each other."""
        if p is None and self.learned:
            p = np.array([self.values[name] for name in self.learned])
        if u is None and self.inputs:
            raise TinyUDEError(f"This physics has inputs ({', '.join(self.inputs)}); pass their values as u.")
        parts = [columns_of(x, self.states, "x")]
        if u is not None:
            parts.append(columns_of(u, self.inputs, "u"))
        if p is not None:
            parts.append(columns_of(p, self.learned, "p"))
        if len(parts) == 1:
            return parts[0]
        lead = np.broadcast_shapes(*(part.shape[:-1] for part in parts))
        return np.concatenate([np.broadcast_to(part, (*lead, part.shape[-1])) for part in parts], axis=-1)

    @cached_property
    def _variables(self) -> list[sp.Symbol]:
        return [sp.Symbol(name) for name in (*self.states, *self.inputs, *self.learned)]

    @cached_property
    def _numeric_rhs(self) -> list[sp.Expr]:
        fixed = {sp.Symbol(name): sp.Float(value) for name, value in self.values.items() if name not in self.learned}
        return [expr.xreplace(fixed) for expr in self.rhs]

    def _derivatives(self, names: tuple[str, ...]) -> list[sp.Expr]:
        symbols = [sp.Symbol(name) for name in names]
        return [derivative(expr, symbol) for expr in self._numeric_rhs for symbol in symbols]

    @cached_property
    def _field(self) -> Callable[[Array], Array]:
        return numpy_function(self._numeric_rhs, self._variables)

    @cached_property
    def _jacobian(self) -> Callable[[Array], Array]:
        return numpy_function(self._derivatives(self.states), self._variables)

    @cached_property
    def _parameter_jacobian(self) -> Callable[[Array], Array]:
        return numpy_function(self._derivatives(self.learned), self._variables)
