"""The unknowns of refinement: parameters, coefficients and weights, with their bounds, priors and scale."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
LONGEST_LOG_STEP = 0.7  # of a positive parameter: a factor of 2 (tried: larger steps left the basin on the tanks)


@dataclass(frozen=True)
class Unknowns:
    """A vector of unknowns; positive ones move in their logarithm.

    Attributes
    ----------
    names : tuple of str
    values, lower, upper : array (count,)
    positive : array (count,) of bool
    prior_mean, prior_precision : array (count,), (count, count)
        In the coordinates (logarithms of positive unknowns); precision 0 for no prior.
    first_precision : array (count, count)
        Before any record, with mean 0: it differs from `prior_precision` where the windows learned from this record.
    """

    names: tuple[str, ...]
    values: Array
    lower: Array
    upper: Array
    positive: Array
    prior_mean: Array
    prior_precision: Array
    first_precision: Array

    def __len__(self) -> int:
        return len(self.names)

    @property
    def coordinates(self) -> Array:
        """Logarithms of positive unknowns, values of the others."""
        return np.where(self.positive, np.log(np.where(self.positive, self.values, 1.0)), self.values)

    @property
    def scale(self) -> Array:
        """d value / d coordinate."""
        return np.where(self.positive, self.values, 1.0)

    def with_values(self, values: Array) -> Unknowns:
        return replace(self, values=np.array(values, np.float64))

    def moved(self, step: Array) -> Unknowns:
        """Values after a step in the coordinates: positive ones change by a factor of 2 at most, all within bounds."""
        limited = np.where(self.positive, np.clip(step, -LONGEST_LOG_STEP, LONGEST_LOG_STEP), step)
        grown = self.values * np.exp(np.where(self.positive, limited, 0.0))
        values = np.where(self.positive, grown, self.values + limited)
        return self.with_values(np.clip(values, self.lower, self.upper))

    def within(self, step: Array) -> Array:
        """The step in the coordinates, clipped at the bounds."""
        with np.errstate(divide="ignore"):
            low, high = (
                np.where(self.positive, np.log(np.where(self.positive, np.maximum(bound, 0.0), 1.0)), bound)
                for bound in (self.lower, self.upper)
            )
        return np.clip(step, low - self.coordinates, high - self.coordinates)

    def system(self, information: Array, gradient: Array) -> tuple[Array, Array]:
        """Gauss-Newton sums in the coordinates, with the prior's contribution."""
        scale = self.scale
        matrix = information * np.outer(scale, scale) + self.prior_precision
        return matrix, gradient * scale + self.prior_precision @ (self.prior_mean - self.coordinates)

    def unlearned(self) -> Unknowns:
        """The unknowns with their prior before any record."""
        learned = np.any(self.first_precision != self.prior_precision, axis=0)
        mean = np.where(learned, 0.0, self.prior_mean)
        return replace(self, prior_mean=mean, prior_precision=self.first_precision)

    @property
    def prior_cost(self) -> float:
        away = self.coordinates - self.prior_mean
        return float(away @ self.prior_precision @ away)


def empty_unknowns() -> Unknowns:
    """Nothing to move."""
    none = np.zeros(0)
    return Unknowns((), none, none, none, np.zeros(0, dtype=bool), none, np.zeros((0, 0)), np.zeros((0, 0)))
