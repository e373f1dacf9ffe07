"""Standard errors from groups of a record: the spread of solutions without each group.

Neighbouring rows share their noise; groups of many consecutive rows hardly do.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
GROUPS = 16


def groups_of(rows: int, count: int = GROUPS) -> Array:
    """The group of each row: consecutive pieces of equal length."""
    return np.arange(rows) * count // max(rows, 1)


def error(without: Array) -> Array:
    """Standard error of an estimate from its values without each group: (groups, ...)."""
    return np.asarray(np.sqrt((len(without) - 1) * np.var(without, axis=0)))


def ratio(a: Array, b: Array, weight: Array | float = 1.0) -> tuple[float, float]:
    """a over b by least squares, and its standard error: infinite if one group contains all of b."""
    group = groups_of(len(a))
    cross, square = (np.bincount(group, weight * product, GROUPS) for product in (a * b, b**2))
    if not np.all(square.sum() - square > 0.0):
        return 0.0, float("inf")
    without = (cross.sum() - cross) / (square.sum() - square)
    return float(cross.sum() / square.sum()), float(error(without))
