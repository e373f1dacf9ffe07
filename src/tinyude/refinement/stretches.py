"""Uninterrupted stretches of measured rows at their true times, concatenated for the filter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True)
class Stretch:
    """Rows without a gap or jump, and the filter's start state.

    Attributes
    ----------
    times : array (rows,)
        Seconds, rising; not necessarily equidistant.
    samples : array (rows, channels)
        Measured states; NaN where a value is missing.
    inputs : array (rows, inputs, 4)
        Coefficients of u(s) = c0 + c1 s + c2 s^2 + c3 s^3 from each row to the next, s from 0 to 1.
    start, start_variance : array (states,)
        The state at the first row and its uncertainty.
    run, first : int
        The run it was cut from, and the row of that run where it begins.
    """

    times: Array
    samples: Array
    inputs: Array
    start: Array
    start_variance: Array
    run: int = 0
    first: int = 0

    def __len__(self) -> int:
        return len(self.times)

    def cut(self, first: int, last: int) -> Stretch:
        """Rows first to last; the start state must be estimated again."""
        rows = slice(first, last)
        return replace(
            self, times=self.times[rows], samples=self.samples[rows], inputs=self.inputs[rows], first=self.first + first
        )


@dataclass(frozen=True)
class Batch:
    """Concatenated stretches: rows offsets[k] to offsets[k + 1] are those of stretch k."""

    stretches: tuple[Stretch, ...]
    offsets: Array
    times: Array
    samples: Array
    inputs: Array
    starts: Array
    start_variances: Array

    @property
    def rows(self) -> int:
        return len(self.times)

    def rows_of(self, stretch: int) -> slice:
        return slice(int(self.offsets[stretch]), int(self.offsets[stretch + 1]))


def batch_of(stretches: Sequence[Stretch]) -> Batch:
    """Concatenate the stretches."""

    def joined(name: str) -> Array:
        return np.ascontiguousarray(np.concatenate([getattr(s, name) for s in stretches]), np.float64)

    offsets = np.concatenate([[0], np.cumsum([len(s) for s in stretches])]).astype(np.int64)
    starts = np.ascontiguousarray([s.start for s in stretches], np.float64)
    variances = np.ascontiguousarray([s.start_variance for s in stretches], np.float64)
    return Batch(tuple(stretches), offsets, joined("times"), joined("samples"), joined("inputs"), starts, variances)
