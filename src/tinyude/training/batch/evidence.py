"""Log evidence of linear Gaussian models y = Phi w + s e, w ~ N(0, 1), for choosing between terms and networks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

Array = NDArray[Any]

NOISE_SPREAD = 0.7  # of the logarithm of the noise scale around 1


@dataclass(frozen=True)
class Posterior:
    """The weights' mean and covariance, the most likely noise scale, and the log evidence."""

    mean: Array
    covariance: Array
    noise: float
    evidence: float

    def scaled(self, factors: Array) -> Posterior:
        """The posterior with the first weights in other units."""
        whole = np.concatenate([factors, np.ones(len(self.mean) - len(factors))])
        return Posterior(self.mean * whole, self.covariance * np.outer(whole, whole), self.noise, self.evidence)


def posterior(features: Array, y: Array, centre: float = 1.0) -> Posterior:
    """Features (rows, weights) scaled to unit prior variance; centre: the noise scale expected."""
    rows, count = len(y), features.shape[1]
    gram, cross, power = features.T @ features, features.T @ y, float(y @ y)
    values, vectors = np.linalg.eigh(gram) if count else (np.zeros(0), np.zeros((0, 0)))
    values = np.maximum(values, 0.0)
    along = (vectors.T @ cross) ** 2

    def minus(log_noise: float) -> float:
        s2 = np.exp(2.0 * log_noise)
        chi2 = (power - np.sum(along / (values + s2))) / s2
        determinant = rows * np.log(s2) + np.sum(np.log1p(values / s2))
        return float(0.5 * (chi2 + determinant) + 0.5 * ((log_noise - np.log(centre)) / NOISE_SPREAD) ** 2)

    best = minimize_scalar(minus, bounds=(np.log(centre) - 3.0, np.log(centre) + 7.0), method="bounded")
    s2 = float(np.exp(2.0 * best.x))
    if not count:
        return Posterior(np.zeros(0), np.zeros((0, 0)), float(np.sqrt(s2)), -float(best.fun))
    inverse = (vectors / (values + s2)) @ vectors.T  # positive definite however far apart the features' sizes are
    return Posterior(inverse @ cross, s2 * inverse, float(np.sqrt(s2)), -float(best.fun))
