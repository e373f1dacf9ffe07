"""Compiled radial units over the nodes of windows (native/units.c)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.native.core import loaded

Array = NDArray[Any]


class NativeUnits:
    """The same as training.batch.units.Units."""

    def __init__(self, z: Array, centres: Array, weights: Array, starts: Array) -> None:
        self._z, self._centres = z, centres
        self._weights, self._starts = (
            np.ascontiguousarray(weights, np.float64),
            np.append(starts, len(z)).astype(np.int64),
        )
        self._values = np.empty((len(z), len(centres)))
        self._core = loaded("float64")

    def sums(self, inverse_lengths: Array) -> Array:
        """Values of the units, summed over the nodes of each window by their weights (windows, units)."""
        answer = np.empty((len(self._starts) - 1, len(self._centres)))
        alive = self._scaled(inverse_lengths)
        self._core.lib.tu_units_sums(alive[0], self._real(self._values), self._real(answer))
        return answer

    def by_length(self, slopes: Array, inverse_lengths: Array) -> Array:
        """Derivative of sum(slopes x sums) by the logarithm of each length, at the lengths of the last sums."""
        answer = np.empty((len(inverse_lengths), len(self._centres)))
        alive, slopes = self._scaled(inverse_lengths), np.ascontiguousarray(slopes)
        self._core.lib.tu_units_by_length(alive[0], self._real(self._values), self._real(slopes), self._real(answer))
        return np.asarray(answer.sum(axis=1))

    def _scaled(self, inverse_lengths: Array) -> tuple[Any, ...]:
        """The struct for these lengths, then the arrays it points to."""
        z = np.ascontiguousarray(self._z * inverse_lengths)
        centres = np.ascontiguousarray((self._centres * inverse_lengths).T)
        units = self._core.ffi.new("tu_units *")
        units.windows, units.features, units.units = len(self._starts) - 1, z.shape[1], len(self._centres)
        units.starts = self._core.ffi.from_buffer("int64_t[]", self._starts)
        units.weights, units.z, units.centres = self._real(self._weights), self._real(z), self._real(centres)
        return units, z, centres

    def _real(self, array: Array) -> Any:
        return self._core.ffi.from_buffer("tu_real[]", array)
