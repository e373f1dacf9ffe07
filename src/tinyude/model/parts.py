"""The learned residual is a sum of parts: library terms, a kernel network, a multilayer perceptron.

All parts have the same interface, so that simulation, refinement and export need one loop over the parts
instead of one case for each kind: value, unknowns, derivative by the unknowns, and instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol, Self

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from tinyude.physics.expressions import numpy_function
from tinyude.physics.programs import Emitter
from tinyude.reference.network.mlp import mlp_forward, mlp_layers

Array = NDArray[Any]


class Part(Protocol):
    """One summand of the residual, for the states `on`."""

    @property
    def on(self) -> tuple[int, ...]:
        """States to which it contributes."""

    @property
    def unknowns(self) -> Array:
        """The learned numbers, as one flat array."""

    def with_unknowns(self, values: Array) -> Self:
        """The same part with other numbers."""

    def evaluate(self, columns: Array) -> Array:
        """Its contribution (..., on) at rows of states, then inputs (..., columns)."""

    def jacobian(self, columns: Array) -> Array:
        """Derivative of the contribution by the unknowns (..., on, unknowns)."""

    def emit(self, emitter: Emitter, columns: Sequence[int], unknowns: Sequence[int] | None = None) -> list[int]:
        """Write its instructions; returns the register of its contribution to each state of `on`.

        columns: registers of the states, then the inputs. unknowns: registers of its unknowns; constants by default.
        """


@dataclass(frozen=True)
class Terms:
    """A sparse sum of library terms; `forms` may contain shape parameters, whose values are unknowns too."""

    on: tuple[int, ...]
    names: tuple[str, ...]  # of the states, then the inputs
    forms: tuple[sp.Expr, ...]
    coefficients: Array  # (on, forms); 0: the term is out
    shapes: Mapping[str, float] = field(default_factory=dict)

    def __getstate__(self) -> dict[str, Any]:
        """Only plain arrays and text: compiled functions are rebuilt when needed."""
        return {entry.name: getattr(self, entry.name) for entry in fields(self)}

    @property
    def terms(self) -> tuple[sp.Expr, ...]:
        """The forms with the shape parameters at their value."""
        values = {_real(name): sp.Float(value) for name, value in self.shapes.items()}
        return tuple(sp.sympify(form).xreplace(values) for form in self.forms)

    @property
    def unknowns(self) -> Array:
        kept = self.coefficients[self._places]
        return np.concatenate([kept, np.array(list(self.shapes.values()), dtype=np.float64)])

    def with_unknowns(self, values: Array) -> Terms:
        coefficients = np.zeros(self.coefficients.shape)
        count = len(self._places[0])
        coefficients[self._places] = values[:count]
        shapes = dict(zip(self.shapes, map(float, values[count:]), strict=True))
        return replace(self, coefficients=coefficients, shapes=shapes)

    def evaluate(self, columns: Array) -> Array:
        if not len(self._kept):
            return np.zeros((*columns.shape[:-1], len(self.on)))
        return np.asarray(self.values(columns)[..., self._kept] @ self.coefficients[:, self._kept].T)

    def values(self, columns: Array) -> Array:
        """The forms at rows of states and inputs (..., forms), 0 for those that are out."""
        answer = np.zeros((*columns.shape[:-1], len(self.forms)), np.result_type(columns, np.float64))
        if len(self._kept):
            answer[..., self._kept] = self._values(self._with_shapes(columns))
        return answer

    def jacobian(self, columns: Array) -> Array:
        rows, kept = self._places
        answer = np.zeros((*columns.shape[:-1], len(self.on), len(self.unknowns)))
        values = self.values(columns)
        for unknown, (row, term) in enumerate(zip(rows, kept, strict=True)):
            answer[..., row, unknown] = values[..., term]
        if self.shapes:
            slopes = self._slopes(self._with_shapes(columns))
            slopes = slopes.reshape(*slopes.shape[:-1], len(self._kept), len(self.shapes))
            answer[..., len(rows) :] = np.einsum("ik,...ks->...is", self.coefficients[:, self._kept], slopes)
        return answer

    def emit(self, emitter: Emitter, columns: Sequence[int], unknowns: Sequence[int] | None = None) -> list[int]:
        registers = list(unknowns) if unknowns is not None else [emitter.constant(v) for v in self.unknowns.tolist()]
        rows, kept = self._places
        known = dict(zip(map(_real, (*self.names, *self.shapes)), (*columns, *registers[len(rows) :]), strict=True))
        answer = [emitter.constant(0.0)] * len(self.on)
        for row, term, coefficient in zip(rows.tolist(), kept.tolist(), registers, strict=False):
            product = emitter.write("mul", coefficient, emitter.expression(self.forms[term], known))
            empty = answer[row] == emitter.constant(0.0)
            answer[row] = product if empty else emitter.write("add", answer[row], product)
        return answer

    @cached_property
    def _places(self) -> tuple[Array, Array]:
        rows, terms = np.nonzero(self.coefficients)
        return rows, terms

    @cached_property
    def _kept(self) -> Array:
        return np.flatnonzero(self.coefficients.any(axis=0))

    @cached_property
    def _symbols(self) -> list[sp.Symbol]:
        return [_real(name) for name in (*self.names, *self.shapes)]

    @cached_property
    def _values(self) -> Callable[[Array], Array]:
        return numpy_function([self.forms[k] for k in self._kept], self._symbols)

    @cached_property
    def _slopes(self) -> Callable[[Array], Array]:
        slopes = [sp.diff(self.forms[k], _real(name)) for k in self._kept for name in self.shapes]
        return numpy_function(slopes, self._symbols)

    def _with_shapes(self, columns: Array) -> Array:
        shapes = np.array(list(self.shapes.values()), dtype=np.float64)
        return np.concatenate([columns, np.broadcast_to(shapes, (*columns.shape[:-1], len(shapes)))], axis=-1)


@dataclass(frozen=True)
class MLP:
    """The network that the streaming learner trains: tanh layers, a linear last one."""

    on: tuple[int, ...]
    sees: tuple[int, ...]  # columns
    hidden: tuple[int, ...]
    weights: Array  # flat
    active: Array  # (on,) 1 or 0
    scale: Array  # (columns,) of its inputs
    unit: Array  # (on,) of its outputs

    @property
    def sizes(self) -> tuple[int, ...]:
        return (len(self.sees), *self.hidden, len(self.on))

    @property
    def last_layer(self) -> int:
        """Weights and biases of the last layer, the last of all: the output is linear in them."""
        return self.sizes[-1] * (self.sizes[-2] + 1)

    @property
    def unknowns(self) -> Array:
        return self.weights

    def with_unknowns(self, values: Array) -> MLP:
        return replace(self, weights=np.array(values, dtype=np.float64))

    def evaluate(self, columns: Array) -> Array:
        return np.asarray(self.layer(columns, -1) * self.unit * self.active)

    def features(self, columns: Array) -> Array:
        """Inputs of the last layer (..., units + 1): the units before it, and 1."""
        return np.concatenate([self.layer(columns, -2), np.ones((*columns.shape[:-1], 1))], axis=-1)

    def layer(self, columns: Array, which: int) -> Array:
        """Activations of one layer; -1 is the output."""
        seen = (columns / self.scale)[..., list(self.sees)]
        units = mlp_forward(self.weights, self.sizes, seen.reshape(-1, len(self.sees)))[which]
        return units.reshape(*columns.shape[:-1], -1)

    def jacobian(self, columns: Array) -> Array:
        """By the chain rule, layer by layer."""
        lead, seen = columns.shape[:-1], (columns / self.scale)[..., list(self.sees)].reshape(-1, len(self.sees))
        acts = mlp_forward(self.weights, self.sizes, seen)
        layers = list(mlp_layers(self.weights, self.sizes))
        bar = np.broadcast_to(np.diag(self.unit * self.active), (len(seen), len(self.on), len(self.on)))
        found: list[Array] = []
        for index in range(len(layers) - 1, -1, -1):
            outer = bar[..., :, None] * acts[index][:, None, None, :]
            found.append(np.concatenate([outer.reshape(len(seen), len(self.on), -1), bar], axis=-1))
            bar = (bar @ layers[index][0]) * (1.0 - acts[index] ** 2)[:, None, :]
        return np.concatenate(found[::-1], axis=-1).reshape(*lead, len(self.on), -1)

    def emit(self, emitter: Emitter, columns: Sequence[int], unknowns: Sequence[int] | None = None) -> list[int]:
        weights = list(unknowns) if unknowns is not None else [emitter.constant(v) for v in self.weights.tolist()]
        units = [emitter.write("mul", columns[c], emitter.constant(float(1.0 / self.scale[c]))) for c in self.sees]
        start = 0
        for depth, (fan_in, fan_out) in enumerate(pairwise(self.sizes)):
            sums = [
                _affine(emitter, units, weights[start + k * fan_in :], weights[start + fan_out * fan_in + k])
                for k in range(fan_out)
            ]
            units = sums if depth == len(self.hidden) else [emitter.write("tanh", s) for s in sums]
            start += fan_out * (fan_in + 1)
        outputs = (self.unit * self.active).tolist()
        return [emitter.write("mul", u, emitter.constant(float(s))) for u, s in zip(units, outputs, strict=True)]


def _affine(emitter: Emitter, units: Sequence[int], weights: Sequence[int], bias: int) -> int:
    total = bias
    for unit, weight in zip(units, weights, strict=False):
        total = emitter.write("add", total, emitter.write("mul", weight, unit))
    return total


def _real(name: str) -> sp.Symbol:
    return sp.Symbol(name, real=True)
