"""Acceptance test of a window: noise gates, contradicting sensors, a stream without motion."""

from __future__ import annotations

import numpy as np

from tinyude.reference.paper.median_gate import median_gate_accept
from tinyude.reference.signal.gates import gates_accept, gates_still
from tinyude.reference.signal.kinematics import kinematics_consistent
from tinyude.reference.signal.noise import noise_sigma, noise_step
from tinyude.reference.state import Array, Learner

CHECKED, AGREED = 256, 192  # windows that decide whether angles agree with rates; minimum
QUIET = 0.1  # share of the expected squared misfit: the noise has fallen to a third
STILL_WINDOWS, MOVED = 64, 4  # still windows counted at most; rejected from half on; motion subtracts 4
SUSPECT, MOST_SUSPICION = 16, 256  # agreeing windows required after a contradiction; upper limit


def learner_accept_window(
    learner: Learner, samples: Array, coefficients: Array, misfit: Array, segments: Array
) -> str | None:
    """Acceptance test of the fitted window: None or the reason of rejection."""
    config, setup = learner.config, learner.setup
    assert setup
    sigma, reason = noise_sigma(learner.noise) * setup.sigma_scale, None
    if config.dense:
        reason = gates_accept(setup.window, misfit, segments, sigma, noise_step(learner.noise))
    elif config.gated:
        reason = median_gate_accept(learner.median_gate, setup.window, misfit, samples, sigma)
    if reason:
        return reason
    if config.repair and not _is_consistent(learner, coefficients, sigma):
        return "inconsistent"
    return "still" if config.dense and config.repair and _is_still(learner, coefficients, sigma) else None


def learner_is_quiet(learner: Learner, misfit: Array) -> bool:
    """Whether its misfit is far below what the noise explains."""
    assert learner.setup
    sigma = noise_sigma(learner.noise) * learner.setup.sigma_scale
    return bool(np.all(misfit < QUIET * sigma**2 * learner.setup.window.freedom))


def _is_consistent(learner: Learner, coefficients: Array, sigma: Array) -> bool:
    """Whether angles agree with their rates. Not enforced if the first windows never agree."""
    assert learner.setup
    agree = kinematics_consistent(learner.config, learner.setup.window, coefficients, sigma)
    if learner.checked < CHECKED:
        learner.checked += 1
        learner.agreed += agree
        return True
    if learner.agreed < AGREED:
        return True
    learner.suspicion = min(max(learner.suspicion + (-1 if agree else SUSPECT), 0), MOST_SUSPICION)
    return agree and learner.suspicion < 4 * SUSPECT


def _is_still(learner: Learner, coefficients: Array, sigma: Array) -> bool:
    """Whether the stream has been still for so long that its windows add no information."""
    assert learner.setup
    change = 1 if gates_still(learner.setup.window, coefficients, sigma) else -MOVED
    learner.still = min(max(learner.still + change, 0), STILL_WINDOWS)
    return learner.still >= STILL_WINDOWS // 2
