"""The kernel network: radial units with a length scale for every input, plus a linear part.

A unit has the value exp(-|z - c|^2 / 2) for scaled inputs z. Its weight and the linear part are linear unknowns with a
Gaussian posterior, which gives the network an interval. An angle enters as its sine and cosine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.physics.programs import Emitter

Array = NDArray[Any]
NOTHING = np.finfo(np.float64).tiny ** 0.5
JITTER = 1e-6  # added to the diagonal, so that close units stay distinguishable


@dataclass(frozen=True)
class KernelNetwork:
    """A smooth curve of some states and inputs for the residual states `on`.

    Each residual state has its own units: row i of `centres`, `inverse_lengths`, `weights` and `linear` is for on[i].
    """

    on: tuple[int, ...]
    sees: tuple[int, ...]  # columns of the states, then the inputs
    angles: tuple[int, ...]  # those of `sees` that enter as sine and cosine
    offset: Array  # (features,) subtracted from its inputs
    centres: Array  # (on, units, features)
    inverse_lengths: Array  # (on, features); 0: the state does not depend on it
    weights: Array  # (on, units)
    linear: Array  # (on, features + 1): the constant first

    @property
    def units(self) -> int:
        """Radial units of each residual state."""
        return int(self.weights.shape[1])

    @property
    def unknowns(self) -> Array:
        """Weights, constant and slopes of the first residual state, then of the next."""
        return np.concatenate([self.weights, self.linear], axis=1).ravel()

    def with_unknowns(self, values: Array) -> KernelNetwork:
        """The same units with other weights."""
        rows = np.asarray(values, dtype=np.float64).reshape(len(self.on), -1)
        return replace(self, weights=rows[:, : self.units].copy(), linear=rows[:, self.units :].copy())

    def scaled(self, factors: Array) -> KernelNetwork:
        """The same curves, each times its factor."""
        rows = np.asarray(factors, dtype=np.float64)[:, None]
        return replace(self, weights=self.weights * rows, linear=self.linear * rows)

    def inputs(self, columns: Array) -> Array:
        """Rows of states and inputs (..., columns) to centred features (..., features)."""
        parts = []
        for column in self.sees:
            value = columns[..., column]
            parts += [np.sin(value), np.cos(value)] if column in self.angles else [value]
        return np.stack(parts, axis=-1) - self.offset

    def features(self, columns: Array) -> Array:
        """The columns that the unknowns multiply (..., on, units + features + 1)."""
        z = self.inputs(columns)
        ones = np.ones((*z.shape[:-1], 1))
        rows = []
        for centres, inverse in zip(self.centres, self.inverse_lengths, strict=True):
            rows.append(np.concatenate([kernel_values(z, centres, inverse), ones, z], axis=-1))
        return np.stack(rows, axis=-2)

    def evaluate(self, columns: Array) -> Array:
        """The curve at rows of states and inputs (..., on)."""
        rows = np.concatenate([self.weights, self.linear], axis=1)
        return np.asarray(np.einsum("...ik,ik->...i", self.features(columns), rows))

    def jacobian(self, columns: Array) -> Array:
        """Derivative by the unknowns (..., on, unknowns)."""
        features = self.features(columns)
        count, width = features.shape[-2:]
        answer = np.zeros((*features.shape[:-2], count, count * width))
        for i in range(count):
            answer[..., i, i * width : (i + 1) * width] = features[..., i, :]
        return answer

    def prior_precision(self) -> Array:
        """Prior precision of the unknowns: a smooth curve around 0 of the network's own size."""
        count, width = len(self.on), self.units + self.linear.shape[1]
        answer = np.zeros((count, width, count, width))
        for i, (centres, inverse) in enumerate(zip(self.centres, self.inverse_lengths, strict=True)):
            among = kernel_values(centres, centres, inverse) + JITTER * np.eye(self.units)
            square = float(self.weights[i] @ among @ self.weights[i]) / max(self.units, 1)
            linear = 1.0 / np.maximum(np.square(self.linear[i]), NOTHING)
            answer[i, :, i] = np.diag(np.concatenate([np.zeros(self.units), linear]))
            answer[i, : self.units, i, : self.units] = among / max(square, NOTHING)
        return answer.reshape(count * width, count * width)

    def depends_on(self, row: int) -> tuple[int, ...]:
        """The columns that residual state on[row] depends on."""
        found, place = [], 0
        for column in self.sees:
            width = 2 if column in self.angles else 1
            own = slice(place, place + width)
            if self.inverse_lengths[row, own].any() or self.linear[row, 1:][own].any():
                found.append(column)
            place += width
        return tuple(found)

    def lengths(self) -> dict[int, float]:
        """The shortest length scale of its radial units in each column that they see; it is linear in all others."""
        wide = [2 if column in self.angles else 1 for column in self.sees]
        inverse = np.split(self.inverse_lengths.max(axis=0), np.cumsum(wide)[:-1])
        return {
            column: 1.0 / float(parts.max()) for column, parts in zip(self.sees, inverse, strict=True) if parts.any()
        }

    def emit(self, emitter: Emitter, columns: Sequence[int], unknowns: Sequence[int] | None = None) -> list[int]:
        """Instructions of the curve; see Part.emit."""
        registers = list(unknowns) if unknowns is not None else [emitter.constant(v) for v in self.unknowns.tolist()]
        features: list[int] = []
        for column in self.sees:
            register = columns[column]
            waves = [emitter.write("sin", register), emitter.write("cos", register)]
            features += waves if column in self.angles else [register]
        z = [emitter.write("sub", f, emitter.constant(o)) for f, o in zip(features, self.offset.tolist(), strict=True)]
        width = self.units + len(z) + 1
        return [self._emit_row(emitter, i, z, registers[i * width : (i + 1) * width]) for i in range(len(self.on))]

    def _emit_row(self, emitter: Emitter, row: int, z: Sequence[int], unknowns: Sequence[int]) -> int:
        inverse = self.inverse_lengths[row].tolist()
        active = [d for d, value in enumerate(inverse) if value]
        scaled = {d: emitter.write("mul", z[d], emitter.constant(inverse[d])) for d in active}
        total = unknowns[self.units]
        for slope, value in zip(unknowns[self.units + 1 :], z, strict=True):
            total = emitter.write("add", total, emitter.write("mul", slope, value))
        for centre, weight in zip(self.centres[row].tolist(), unknowns, strict=False):
            square = emitter.constant(0.0)
            for d in active:
                apart = emitter.write("sub", scaled[d], emitter.constant(centre[d] * inverse[d]))
                both = emitter.write("mul", apart, apart)
                square = both if d == active[0] else emitter.write("add", square, both)
            unit = emitter.write("exp", emitter.write("mul", emitter.constant(-0.5), square))
            total = emitter.write("add", total, emitter.write("mul", weight, unit))
        return total


def kernel_values(z: Array, centres: Array, inverse_lengths: Array) -> Array:
    """exp(-|z - c|^2 / 2) of scaled distances, (..., units); inputs of inverse length 0 have no effect."""
    active = np.flatnonzero(inverse_lengths)
    scaled, about = z[..., active] * inverse_lengths[active], centres[:, active] * inverse_lengths[active]
    square = np.sum(scaled**2, axis=-1)[..., None] + np.sum(about**2, axis=-1) - 2.0 * (scaled @ about.T)
    return np.asarray(np.exp(-0.5 * np.maximum(square, 0.0)))
