"""Compiled covariance of overlapping sums of noise (native/covariance.c)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.native.core import loaded

Array = NDArray[Any]


def band_covariance(first: Array, begin: Array, length: Array, weights: Array, width: int) -> Array:
    """Covariance of rows j + d and j at [d, j], for d up to `width`; see native/covariance.h."""
    core = loaded("float64")
    rows = len(first)
    places = [np.ascontiguousarray(array, np.int64) for array in (first, begin, length)]
    values, band = np.ascontiguousarray(weights, np.float64), np.empty((width + 1, rows))
    buffer = core.ffi.from_buffer
    core.lib.tu_band_covariance(
        rows,
        *(buffer("int64_t[]", array) for array in places),
        buffer("tu_real[]", values),
        width,
        buffer("tu_real[]", band),
    )
    return band
