"""LAPACK on small finite matrices without SciPy's checks, which take longer than the arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtrs

Array = NDArray[Any]


def lower_factor(matrix: Array) -> Array:
    """L with L L' = matrix; its upper triangle is not cleared.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the matrix is not positive definite.
    """
    factor, info = dpotrf(matrix, lower=1, clean=0)
    if info:
        raise np.linalg.LinAlgError(f"The leading minor of order {info} is not positive definite.")
    return np.asarray(factor)


def solve_factored(factor: Array, right: Array) -> Array:
    """x with L L' x = right."""
    return np.asarray(dpotrs(factor, right, lower=1)[0]).reshape(right.shape)


def solve_lower(factor: Array, right: Array) -> Array:
    """x with L x = right."""
    return np.asarray(dtrtrs(factor, right, lower=1)[0]).reshape(right.shape)
