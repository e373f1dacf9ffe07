"""Angle wrapping: where whole revolutions change nothing, angles are wrapped to [-pi, pi].

The model then holds after any number of revolutions, and a network sees the same range of inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.reference.numeric.elementary import angle_wrap

Array = NDArray[Any]


def angle_wrap_window(coefficients: Array, wrap: Sequence[int]) -> Array:
    """Coefficients (poly + 1, channels) with the mean of every channel with wrap[channel] != 0 wrapped."""
    wrapped = np.array(coefficients)
    for channel in np.flatnonzero(wrap):
        wrapped[0, channel] = angle_wrap(wrapped[0, channel])
    return wrapped


def angle_wrap_state(x: Array, columns: Sequence[int]) -> Array:
    """States (..., states) with these columns wrapped."""
    if not columns:
        return x
    wrapped = np.array(x, dtype=np.float64)
    wrapped[..., list(columns)] = angle_wrap(wrapped[..., list(columns)])
    return wrapped
