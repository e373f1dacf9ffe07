"""Standard error of a mean, and a robust standard deviation from a median."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
MEDIAN = 1.4826  # standard deviations to a median absolute deviation of Gaussian noise


def statistics_error(values: Array) -> Array:
    """Standard error of the mean over the first axis; 0 for fewer than two numbers."""
    count = len(values)
    if count < 2:
        return np.zeros(np.shape(values)[1:])
    return np.asarray(np.std(values, axis=0, ddof=1) / np.sqrt(count))
