"""Shape parameters of library terms by least squares, with the coefficients solved at every step.

Variable projection: columns without a free shape are projected out once; the others and their slopes by the shapes are
evaluated together, so that a step costs one evaluation.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from tinyude.training.batch.library import BEYOND, CORNERS, Entry, with_shape
from tinyude.training.batch.problem import WhiteRows

Array = NDArray[Any]
Free = Sequence[tuple[int, tuple[int, int]]]  # (entry, (factor, parameter)) of every freed shape

STEPS = 12  # evaluations of the columns
CONVERGED = 1e-6  # relative change of the sum of squares, or of the steps, below which no further step is made
RANGE = 3.5  # of a shape parameter, in logarithms
SLOPE_STEP = 1e-5  # of a shape parameter in its own unit, for its slope
DEPENDENT = 1e-10  # of the largest singular value of unit columns: below that a direction is rounding


def search_shapes(problem: WhiteRows, entries: Sequence[Entry], fixed: Array, free: Free) -> list[Entry]:
    """The entries with their freed shapes fitted, beside columns that always stay (rows, columns)."""
    search = _Search(problem, entries, fixed, free)
    solved = lru_cache(maxsize=1)(lambda steps: search.solved(np.array(steps)))  # rows and slopes of the same place
    found = least_squares(
        lambda steps: solved(tuple(steps)).left, np.zeros(len(free)), lambda steps: solved(tuple(steps)).slopes,
        bounds=search.bounds(), max_nfev=STEPS, ftol=CONVERGED, xtol=CONVERGED,
    )  # fmt: skip
    return search.at(found.x)


class _Solved(NamedTuple):
    """The shapes after some steps, with the coefficients that explain the target best."""

    left: Array  # (rows,)
    slopes: Array  # of the remainder by the steps (rows, parameters)


class _Search:
    """Columns of the shaped entries at any values of their parameters, without what the other columns span."""

    def __init__(self, problem: WhiteRows, entries: Sequence[Entry], fixed: Array, free: Free) -> None:
        self.problem, self.entries, self.free = problem, entries, free
        self.shaped = sorted({k for k, _ in free})
        self.owner = [self.shaped.index(k) for k, _ in free]
        self.begin = np.array([entries[k][place].shape[n] for k, (place, n) in free])
        self.unit = np.array([shape_unit(entries[k], where) for k, where in free])
        rest = [entry for k, entry in enumerate(entries) if k not in self.shaped]
        self.still = _basis(np.concatenate([fixed, problem.columns(rest)], axis=1))
        self.target = self._beside(problem.y)

    def at(self, steps: Array) -> list[Entry]:
        """The entries after these steps."""
        changed = list(self.entries)
        own = np.where(self.unit > 0.0, self.begin + self.unit * steps, self.begin * np.exp(steps))
        for (k, where), value in zip(self.free, own, strict=True):
            changed[k] = with_shape(changed[k], where, float(value))
        return changed

    def solved(self, steps: Array) -> _Solved:
        """The remainder after these steps, and its derivatives by the shape parameters, after Golub and Pereyra."""
        now, moved = self.at(steps), []
        for j, (k, _) in enumerate(self.free):
            further = steps.copy()
            further[j] += SLOPE_STEP
            moved.append(self.at(further)[k])
        count = len(self.shaped)
        both = self._beside(self.problem.fresh([*(now[k] for k in self.shaped), *moved]))
        columns, changed = both[:, :count], both[:, count:]
        size = np.linalg.norm(columns, axis=0)
        unit = columns / np.where(size > 0.0, size, np.inf)
        powers, along = np.linalg.eigh(unit.T @ unit)
        inverse = (along / np.where(powers > DEPENDENT * powers[-1], powers, np.inf)) @ along.T
        values = inverse @ (unit.T @ self.target)
        left = self.target - unit @ values
        scale = np.where(size > 0.0, size, np.inf)
        coefficients, inverse = (values / scale)[self.owner], inverse / np.outer(scale, scale)
        slopes = (changed - columns[:, self.owner]) / SLOPE_STEP
        across = inverse @ (columns.T @ slopes) * coefficients - inverse[:, self.owner] * (left @ slopes)
        return _Solved(left, columns @ across - slopes * coefficients)

    def bounds(self) -> tuple[Array, Array]:
        """Least and largest step of each parameter; the centre of a bump and a corner keep states on both sides."""
        columns = self.problem.targets.columns
        seen = np.stack([self.entries[k][place].value(columns) for k, (place, _) in self.free])
        unit = np.where(self.unit > 0.0, self.unit, 1.0)
        least, most = np.quantile(seen, (BEYOND, 1.0 - BEYOND), axis=1)
        low = np.minimum((least - self.begin) / unit, 0.0)
        high = np.maximum((most - self.begin) / unit, 0.0)
        return np.where(self.unit > 0.0, low, -RANGE), np.where(self.unit > 0.0, high, RANGE)

    def _beside(self, values: Array) -> Array:
        """The part of the values outside the span of the columns that stay."""
        return np.asarray(values - self.still @ (self.still.T @ values))


def shape_unit(entry: Entry, where: tuple[int, int]) -> float:
    """0: the parameter moves in its logarithm; otherwise its unit of length (the centre of a bump, a corner)."""
    factor = entry[where[0]]
    if where[1] == 0 and factor.kind == "bump":
        return float(1.0 / np.sqrt(factor.shape[1]))
    return factor.shape[1] if factor.kind in CORNERS else 0.0


def _basis(columns: Array) -> Array:
    """An orthonormal basis of what the columns span."""
    size = np.linalg.norm(columns, axis=0)
    left, values, _ = np.linalg.svd(columns / np.where(size > 0.0, size, 1.0), full_matrices=False)
    return np.asarray(left[:, values > DEPENDENT * np.max(values, initial=0.0)])
