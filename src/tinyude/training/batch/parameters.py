"""Physical parameters by Gauss-Newton: their sensitivities are columns shared by all residual states."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tinyude.physics import Physics
from tinyude.training.session import move_parameters

if TYPE_CHECKING:
    from tinyude.training.batch.regression import Regression
    from tinyude.training.batch.state_fit import StateFit

Array = NDArray[Any]

PASSES = 12
LONGEST = 2.0  # factor of a positive parameter in one pass: the linearisation is not valid further
CONVERGED = 1e-6  # of its size: a step below which a parameter has converged
DISTINGUISHABLE = 1e-12  # least eigenvalue of the scaled sums for parameters to be distinguishable


def learn_parameters(work: Regression, fits: dict[int, StateFit], beside_terms: bool) -> tuple[Physics, Array, int]:
    """The physics at the fitted parameters, their standard errors, and the number of indistinguishable ones.

    Fitted with the terms of the first pass, so that a parameter does not absorb their effect; or alone, so that
    terms do not replace a parameter whose guess is far off.
    """
    physics = work.physics
    count = len(physics.learned)
    errors, deficient = np.zeros(count), 0
    for _ in range(PASSES):
        square, cross, whole = np.zeros((count, count)), np.zeros(count), np.zeros(count)
        noise = 1.0
        for i in work.on:
            problem = work.problem(i)
            fit = fits[i]
            own = problem.design(work.sensitivity(i))
            beside = problem.columns(fit.terms.entries if beside_terms else [])
            basis = np.linalg.qr(beside / np.maximum(np.linalg.norm(beside, axis=0), 1e-300))[0]
            whole += np.sum(own**2, axis=0)
            own = own - basis @ (basis.T @ own)
            square += own.T @ own
            cross += own.T @ (problem.y - basis @ (basis.T @ problem.y))
            noise = max(noise, fit.terms.noise)
        seen = np.diag(square) > DISTINGUISHABLE * whole  # of the others only rounding is left beside the terms
        square, cross = square * np.outer(seen, seen), cross * seen
        size = np.sqrt(np.diag(square))
        size = np.where(size > 0.0, size, 1.0)
        scaled = square / np.outer(size, size)
        deficient = int(np.sum(np.linalg.eigvalsh(scaled) < DISTINGUISHABLE))
        inverse = np.linalg.pinv(scaled, rcond=DISTINGUISHABLE, hermitian=True)
        errors = noise * np.sqrt(np.diag(inverse)) / size
        moved, physics = move_parameters(physics, _limited(physics, (inverse @ (cross / size)) / size))
        work = work.with_physics(physics)
        if moved < CONVERGED:
            break
    return physics, errors, deficient


def _limited(physics: Physics, steps: Array) -> Array:
    """The steps; positive parameters change by a factor of `LONGEST` at most."""
    values = np.array([physics.parameters[name].value for name in physics.learned])
    positive = (values > 0.0) & np.array([physics.parameters[name].min >= 0.0 for name in physics.learned])
    return np.where(positive, np.clip(steps, values / LONGEST - values, values * LONGEST - values), steps)
