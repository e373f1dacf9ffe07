"""The Cramer-Rao bound: the smallest error of the damping that an unbiased estimator can reach on the same samples."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from tinyude.experiments.experiment import Config, Result
from tinyude.experiments.fits import make_system
from tinyude.systems import System
from tinyude.systems.signals import noise_sigma

Array = NDArray[np.float64]


def run_floor(config: Config) -> Result:
    """Standard deviation of the damping at 1 % noise (proportional to the noise), and the resulting field error.

    Structure and noise are assumed known. The state after every kick is not, so each segment has its own initial state.
    """
    system = make_system("pendulum")
    times, clean = system.clean(config["seed"])
    sigma = noise_sigma(clean, 0.01)
    edges = np.searchsorted(times, [0.0, *system.jump_times(), np.inf])
    information = sum(_information(system, times[a:b], clean[a], sigma) for a, b in pairwise(edges))
    deviation = float(1.0 / np.sqrt(information))
    grid = system.grid()
    share = np.linalg.norm(grid[:, system.velocities[0]]) / np.linalg.norm(system.truth(grid))
    return {"damping": deviation, "error": deviation * float(share)}


def _information(system: System, times: Array, start: Array, sigma: Array) -> float:
    """Fisher information about the damping in one segment, its initial state eliminated (Schur complement)."""
    rate = system.velocities[0]
    step = 1e-6

    def variations(_: float, packed: Array) -> Array:
        """The state, and its derivatives with respect to the initial state and the damping."""
        x, tangents = packed[:2], packed[2:].reshape(2, 3)
        nudges = x + step * np.concatenate([np.eye(2), -np.eye(2)])
        forward = system.truth(nudges)
        jacobian = (forward[:2] - forward[2:]).T / (2.0 * step)
        slopes = jacobian @ tangents
        slopes[rate, 2] -= x[rate]
        return np.concatenate([system.truth(x), slopes.ravel()])

    initial = np.concatenate([start, np.eye(2, 3).ravel()])
    path = solve_ivp(variations, (times[0], times[-1]), initial, "DOP853", times, rtol=1e-8, atol=1e-10).y.T
    rows = (path[:, 2:].reshape(-1, 2, 3) / sigma[:, None]).reshape(-1, 3)
    full = rows.T @ rows
    return float(full[2, 2] - full[2, :2] @ np.linalg.solve(full[:2, :2], full[:2, 2]))
