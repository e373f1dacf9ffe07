"""Physical parameters by Gauss-Newton: their sensitivities are columns shared by all residual states."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

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
SHORTER = 0.25  # factor on a step that increased the misfit
CONVERGED = 1e-6  # of its size: a step below which a parameter has converged
DISTINGUISHABLE = 1e-12  # least eigenvalue of the scaled sums for parameters to be distinguishable


def learn_parameters(work: Regression, fits: dict[int, StateFit], beside_terms: bool) -> tuple[Physics, Array, int]:
    """The physics at the fitted parameters, their standard errors, and the number of indistinguishable ones.

    Fitted with the terms of the first pass, so that a parameter does not absorb their effect; or alone, so that
    terms do not replace a parameter whose guess is far off. A step that increases the misfit is shortened: from a guess
    far off, full steps may leave for infinity.
    """
    best, steps = _sums(work, fits, beside_terms), np.zeros(0)
    for _ in range(PASSES):
        if not len(steps):
            steps = _limited(best.physics, best.step)
        moved, physics = move_parameters(best.physics, steps)
        if moved < CONVERGED:
            break
        now = _sums(work.with_physics(physics), fits, beside_terms)
        if now.misfit <= best.misfit * (1.0 + CONVERGED):
            best, steps = now, np.zeros(0)
        else:
            steps = SHORTER * steps
    return best.physics, best.errors, best.deficient


class _Sums(NamedTuple):
    """The physics, its misfit, and what the linearisation there says: the next step and the standard errors."""

    physics: Physics
    misfit: float
    step: Array
    errors: Array
    deficient: int


def _sums(work: Regression, fits: dict[int, StateFit], beside_terms: bool) -> _Sums:
    """The misfit with these parameters; infinite where the field or its derivatives are not finite."""
    count = len(work.physics.learned)
    square, cross, whole = np.zeros((count, count)), np.zeros(count), np.zeros(count)
    noise, misfit = 1.0, 0.0
    for i in work.on:
        problem = work.problem(i)
        fit = fits[i]
        own = problem.design(work.sensitivity(i))
        beside = problem.columns(fit.terms.entries if beside_terms else [])
        basis = np.linalg.qr(beside / np.maximum(np.linalg.norm(beside, axis=0), 1e-300))[0]
        whole += np.sum(own**2, axis=0)
        own = own - basis @ (basis.T @ own)
        rest = problem.y - basis @ (basis.T @ problem.y)
        square += own.T @ own
        cross += own.T @ rest
        misfit += float(rest @ rest)
        noise = max(noise, fit.terms.noise)
    if not (np.isfinite(square).all() and np.isfinite(cross).all() and np.isfinite(misfit)):
        return _Sums(work.physics, np.inf, np.zeros(count), np.full(count, np.inf), count)
    seen = np.diag(square) > DISTINGUISHABLE * whole  # of the others only rounding is left beside the terms
    square, cross = square * np.outer(seen, seen), cross * seen
    size = np.sqrt(np.diag(square))
    size = np.where(size > 0.0, size, 1.0)
    scaled = square / np.outer(size, size)
    inverse = np.linalg.pinv(scaled, rcond=DISTINGUISHABLE, hermitian=True)
    errors = noise * np.sqrt(np.diag(inverse)) / size
    deficient = int(np.sum(np.linalg.eigvalsh(scaled) < DISTINGUISHABLE))
    return _Sums(work.physics, misfit, (inverse @ (cross / size)) / size, errors, deficient)


def _limited(physics: Physics, steps: Array) -> Array:
    """The steps; positive parameters change by a factor of `LONGEST` at most."""
    values = np.array([physics.parameters[name].value for name in physics.learned])
    positive = (values > 0.0) & np.array([physics.parameters[name].min >= 0.0 for name in physics.learned])
    return np.where(positive, np.clip(steps, values / LONGEST - values, values * LONGEST - values), steps)
