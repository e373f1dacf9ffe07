"""A fitted hybrid model as plain arrays and text: evaluated with NumPy, whichever engine trained it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from tinyude.physics import Physics
from tinyude.physics.expressions import numpy_function
from tinyude.reference.network.mlp import mlp_forward
from tinyude.reference.signal.angle import turn_states

Array = NDArray[Any]


@dataclass(frozen=True)
class Model:
    """dx/dt = f_known(x, u) + terms + network."""

    physics: Physics  # with learned parameters at their fitted value
    on: tuple[int, ...]
    sees: tuple[int, ...]
    hidden: tuple[int, ...]
    weights: Array  # averaged network parameters, flat
    network_on: Array  # (on,) 1 or 0
    x_scale: Array
    u_scale: Array
    dx_scale: Array
    terms: tuple[sp.Expr, ...]
    coefficients: Array  # (on, terms)
    errors: Array  # (on, terms) standard errors, 0 for a term that is out
    parameter_errors: Array  # (learned parameters,)
    angles: tuple[int, ...] = ()  # states of which only the turn around 0 was learned: the others are like it

    def field(self, x: Array, u: Array | None = None) -> Array:
        """dx/dt, shaped like x."""
        return np.asarray(self.physics.field(x, u), dtype=np.float64) + self.residual(x, u)

    def residual(self, x: Array, u: Array | None = None) -> Array:
        """What was learned: N(x, u), shaped like x."""
        return self.library(x, u) + self.network(x, u)

    def library(self, x: Array, u: Array | None = None) -> Array:
        answer = np.zeros(x.shape)
        if len(self._kept):
            answer[..., list(self.on)] = self._terms(self._rows(x, u)) @ self.coefficients[:, self._kept].T
        return answer

    def term_values(self, x: Array, u: Array | None = None) -> Array:
        """The library's terms at states x (..., terms), 0 for those that are out."""
        values = np.zeros((*x.shape[:-1], len(self.terms)))
        if len(self._kept):
            values[..., self._kept] = self._terms(self._rows(x, u))
        return values

    def network(self, x: Array, u: Array | None = None) -> Array:
        answer = np.zeros(x.shape)
        if self.hidden and self.network_on.any():
            output = self._layer(x, u, -1)
            answer[..., list(self.on)] = output * self.dx_scale[list(self.on)] * self.network_on
        return answer

    def features(self, x: Array, u: Array | None = None) -> Array:
        """What the network's last layer weighs (..., units + 1): the units before it, and 1."""
        if not (self.hidden and self.network_on.any()):
            return np.zeros((*x.shape[:-1], 0))
        return np.concatenate([self._layer(x, u, -2), np.ones((*x.shape[:-1], 1))], axis=-1)

    def _layer(self, x: Array, u: Array | None, which: int) -> Array:
        scale = np.concatenate([self.x_scale, self.u_scale])
        seen = (self._rows(x, u) / scale)[..., list(self.sees)]
        sizes = (len(self.sees), *self.hidden, len(self.on))
        units = mlp_forward(self.weights, sizes, seen.reshape(-1, len(self.sees)))[which]
        return units.reshape(*x.shape[:-1], -1)

    @cached_property
    def _kept(self) -> Array:
        """Columns of the terms that stayed for some state."""
        return np.flatnonzero(self.coefficients.any(axis=0))

    @cached_property
    def _terms(self) -> Callable[[Array], Array]:
        names = (*self.physics.states, *self.physics.inputs)
        return numpy_function([self.terms[i] for i in self._kept], [sp.Symbol(name, real=True) for name in names])

    def _rows(self, x: Array, u: Array | None) -> Array:
        x = turn_states(x, self.angles)
        if u is None or not self.physics.n_inputs:
            return x
        return np.concatenate([x, np.broadcast_to(u, (*x.shape[:-1], self.physics.n_inputs))], axis=-1)
