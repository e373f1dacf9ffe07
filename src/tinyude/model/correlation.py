"""Correlation of two signals over a shift in time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def correlation(a: Array, b: Array, lags: Sequence[int]) -> Array:
    """Correlation of a(t) with b(t - lag), both with mean 0; 0 if one of them is 0 throughout."""
    size, n = float(np.linalg.norm(a) * np.linalg.norm(b)) or 1.0, len(a)
    return np.array([a[max(k, 0) : n + min(k, 0)] @ b[max(-k, 0) : n - max(k, 0)] for k in lags], np.float64) / size
