"""Radial units over the nodes of windows, with derivatives by their lengths: inner loop of the kernel's evidence."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tinyude import native
from tinyude.model.kernel import kernel_values

Array = NDArray[Any]


class Units(Protocol):
    """Units at some centres, evaluated at the nodes of windows."""

    def sums(self, inverse_lengths: Array) -> Array:
        """Values of the units, summed over the nodes of each window by their weights (windows, units)."""

    def by_length(self, slopes: Array, inverse_lengths: Array) -> Array:
        """Derivative of sum(slopes x sums) by the logarithm of each length, at the lengths of the last sums."""


def make_units(z: Array, centres: Array, weights: Array, starts: Array) -> Units:
    """Compiled if possible; z (nodes, features), weights (nodes,), starts: the first node of every window."""
    return (native.NativeUnits if native.available() else NumpyUnits)(z, centres, weights, starts)


class NumpyUnits:
    """The same in NumPy."""

    def __init__(self, z: Array, centres: Array, weights: Array, starts: Array) -> None:
        self._z, self._centres, self._weights, self._starts = z, centres, weights[:, None], starts
        self._owner = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(z)))
        self._values = np.zeros((len(z), len(centres)))

    def sums(self, inverse_lengths: Array) -> Array:
        self._values = kernel_values(self._z, self._centres, inverse_lengths)
        return np.asarray(np.add.reduceat(self._values * self._weights, self._starts, axis=0))

    def by_length(self, slopes: Array, inverse_lengths: Array) -> Array:
        share = slopes[self._owner] * self._weights * self._values
        return squared_distances(share, self._z, self._centres, inverse_lengths)


def squared_distances(share: Array, z: Array, centres: Array, inverse_lengths: Array) -> Array:
    """sum over nodes and units of share x (z - c)^2 / l^2, for each input."""
    square = share.sum(axis=1) @ z**2 - 2.0 * np.einsum("nd,nd->d", z, share @ centres) + share.sum(axis=0) @ centres**2
    return np.asarray(square * inverse_lengths**2)
