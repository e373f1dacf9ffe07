"""A stream that changes its character (faster motion, a worse sensor) gets a new window; the model stays."""

from __future__ import annotations

from tinyude.reference.signal.calibrate import calibrate_choose, calibrate_init
from tinyude.reference.signal.noise import noise_init
from tinyude.reference.state import Learner

STRETCH = 800  # windows that are looked at together
REFUSED = 0.75  # share of them that the gates must refuse for the window to be the wrong one
SHARE = 4  # of the first calibration that a later one takes


def revise_watch(learner: Learner, reason: str | None) -> None:
    """Count what the gates say; calibrate once more when they refuse nearly everything for long."""
    learner.stretch += 1
    learner.refused += reason in ("misfit", "jump")
    if learner.stretch < STRETCH:
        return
    if learner.config.dense and learner.refused > REFUSED * STRETCH:
        learner.calibration = calibrate_init(learner.config)
        learner.noise = noise_init(learner.config.channels)
        learner.calibrating = True
        learner.until = learner.tick + learner.config.calibration // SHARE
    learner.stretch = learner.refused = 0


def revise_finish(learner: Learner) -> None:
    """The new window and noise; scales stay, because the model is in units of them."""
    learner.window, learner.sigma_scale, _ = calibrate_choose(learner.calibration, learner.config)
    learner.counters.revisions += 1
