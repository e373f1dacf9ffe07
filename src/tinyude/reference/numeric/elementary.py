"""Angle wrapping and its constant; NumPy has the other functions of the core's elementary.h."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
TWO_PI = 2.0 * np.pi
FAR = 1e6  # revolutions; beyond, one revolution is below the angle's rounding error


def angle_wrap(angle: Array | float) -> Array:
    """Angles (rad) wrapped to [-pi, pi]; unchanged beyond 1e6 revolutions."""
    angle = np.asarray(angle, dtype=np.float64)
    revolutions = angle / TWO_PI
    whole = np.trunc(revolutions + np.copysign(0.5, revolutions))
    return np.asarray(angle - np.where(np.abs(revolutions) < FAR, whole, 0.0) * TWO_PI)
