"""States given all rows of their stretch: the NumPy reference of native/smoother.c, and the smoothed states of a fit.

The modified Bryson-Frazier smoother goes backward over a pass, with what all later rows say about the state, as a
vector l and a matrix L:

    at a row        states x - P l, variances P - P L P
    past a channel  l <- (I - K H)' l - H' e / S,  L <- (I - K H)' L (I - K H) + H' H / S
    past a span     l <- Phi' l,  L <- Phi' L Phi

These variances hold for known unknowns. Without process noise the rows determine the state as precisely as the
unknowns, so that their errors matter as much: with given gains the states are a smooth function of the unknowns, and
a frozen pass along each independent direction of their covariance gives what it adds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.model.equations import NORMAL, interval_factor
from tinyude.refinement.field import Field
from tinyude.refinement.filter import Kept, Noise, Passed, Plan, filter_pass_numpy
from tinyude.refinement.stretches import Batch

Array = NDArray[Any]
STEP = 0.01  # of a standard deviation of the unknowns: for the difference along a direction
SMALL = 1e-9  # of the largest variance of a direction, in standard errors of the unknowns: rounding


@dataclass(frozen=True)
class States:
    """Smoothed states with their standard errors, stretch by stretch.

    Attributes
    ----------
    times : array (rows,)
    values, errors : array (rows, states)
    run : array (rows,)
        The run of each row.
    """

    times: Array
    values: Array
    errors: Array
    run: Array

    def interval(self, level: float = 0.9) -> tuple[Array, Array]:
        """Low and high ends of each state's interval with the given confidence."""
        half = interval_factor(NORMAL, level) * self.errors
        return self.values - half, self.values + half


def directions_of(covariance: Array) -> Array:
    """Independent changes of the unknowns, one standard deviation each: (directions, unknowns)."""
    size = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    scaled = covariance / np.outer(np.where(size > 0.0, size, 1.0), np.where(size > 0.0, size, 1.0))
    variances, vectors = np.linalg.eigh(scaled)
    kept = variances > SMALL * max(variances.max(initial=0.0), 0.0)
    return np.asarray((vectors[:, kept] * np.sqrt(variances[kept])).T * size)


def smooth_numpy(
    field: Field, unknowns: Array, batch: Batch, noise: Noise, plan: Plan, gate: float, directions: Array
) -> tuple[Array, Array]:
    """Smoothed states (rows, states) and their variances.

    directions: independent changes of the unknowns, one standard deviation each.
    """
    kept = Kept(*(np.zeros((batch.rows, field.states, field.states)) for _ in range(2)))
    passed = filter_pass_numpy(field, unknowns, batch, noise, plan, gate, False, kept=kept)
    states, variances = _backward(plan, batch, passed, kept)
    for direction in directions:
        moved = filter_pass_numpy(field, unknowns + STEP * direction, batch, noise, plan, gate, False, passed)
        variances += ((_backward(plan, batch, moved, kept)[0] - states) / STEP) ** 2
    return states, variances


def _backward(plan: Plan, batch: Batch, passed: Passed, kept: Kept) -> tuple[Array, Array]:
    """The smoother over every stretch of a pass."""
    states, variances = np.zeros(passed.states.shape), np.zeros(passed.states.shape)
    unit = np.eye(passed.states.shape[1])
    for number in range(len(batch.stretches)):
        rows = batch.rows_of(number)
        late, precision = np.zeros(len(unit)), np.zeros(unit.shape)
        for row in range(rows.stop - 1, rows.start - 1, -1):
            P = kept.covariances[row]
            states[row] = passed.states[row] - P @ late
            variances[row] = np.maximum(np.diag(P - P @ precision @ P), 0.0)
            for c in reversed(range(len(plan.measured))):
                S = passed.variances[row, c]
                if not np.isfinite(S):
                    continue
                H = unit[plan.measured[c]]
                left = unit - np.outer(passed.gains[row, c], H)
                late = left.T @ late - H * passed.innovations[row, c] / S
                precision = left.T @ precision @ left + np.outer(H, H) / S
            if row > rows.start:
                Phi = kept.transitions[row]
                late, precision = Phi.T @ late, Phi.T @ precision @ Phi
    return states, variances
