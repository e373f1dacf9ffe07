"""Angles on a circle: where whole turns change nothing, a window is taken back to within half a turn of 0.

What is learned then holds on every turn, and a network sees the same numbers however often the shaft has gone round.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
TURN = 2.0 * np.pi
FAR = 1e6  # turns; further out a turn is lost in the rounding of the angle


def whole_turns(angle: Array) -> Array:
    """How far an angle is from the turn around 0, in radians."""
    turns = np.asarray(angle, dtype=np.float64) / TURN
    near = np.trunc(turns + np.copysign(0.5, turns))
    return np.where(np.abs(turns) < FAR, near, 0.0) * TURN


def turn_window(coefficients: Array, circular: Sequence[int]) -> Array:
    """Coefficients (poly + 1, channels) with the mean of every circular channel within half a turn of 0."""
    turned = np.array(coefficients)
    for channel in np.flatnonzero(circular):
        turned[0, channel] -= whole_turns(turned[0, channel])
    return turned


def turn_states(x: Array, columns: Sequence[int]) -> Array:
    """States (..., states) with these columns within half a turn of 0."""
    if not columns:
        return x
    turned = np.array(x, dtype=np.float64)
    turned[..., list(columns)] -= whole_turns(turned[..., list(columns)])
    return turned
