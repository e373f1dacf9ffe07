"""Algorithm 1 of the paper, first half: `learner_push` takes a sample. (Second half: `learner_step` in training.py.)"""

from __future__ import annotations

import numpy as np

from tinyude.reference.acceptance import learner_accept_window, learner_is_quiet
from tinyude.reference.calibration import learner_end_calibration, learner_recalibrate
from tinyude.reference.regression.targets import targets_add
from tinyude.reference.signal.angle import angle_wrap_window
from tinyude.reference.signal.calibrate import calibrate_watch, calibrate_window
from tinyude.reference.signal.gates import STUCK_RUN
from tinyude.reference.signal.kinematics import (
    kinematics_clear,
    kinematics_fuse,
    kinematics_push,
)
from tinyude.reference.signal.noise import noise_ready, noise_sigma, noise_update
from tinyude.reference.signal.repair import repair_clear, repair_push
from tinyude.reference.signal.ring import ring_clear, ring_push, ring_row, ring_window, usable
from tinyude.reference.signal.window import window_fit
from tinyude.reference.start import learner_go_back, learner_prior
from tinyude.reference.state import Array, Counters, Learner
from tinyude.reference.training import learner_step


def learner_push(learner: Learner, y: Array, u: Array | None = None) -> None:
    """One sample of every sensor channel (and of the inputs held until the next one)."""
    row = np.concatenate([y, u]) if u is not None else np.asarray(y, dtype=np.float64)
    learner.counters.samples += 1
    if learner.config.repair:
        sigma = noise_sigma(learner.noise) * learner.sigma_scale if noise_ready(learner.noise) else None
        repaired = repair_push(learner.repair, row, sigma)
        if repaired is None:
            return
        row, filled, replaced = repaired
        learner.counters.filled += int(filled.any())
        learner.counters.replaced += int(replaced.any())
    _process_sample(learner, row)


def learner_push_many(learner: Learner, rows: Array) -> None:
    """Samples row by row: channels, then inputs."""
    channels = learner.config.channels
    for row in rows:
        learner_push(learner, row[:channels], row[channels:])


def learner_gap(learner: Learner) -> None:
    """The next sample does not follow the last one: a new run, or a gap in the record."""
    ring_clear(learner.ring)
    repair_clear(learner.repair)
    kinematics_clear(learner.kinematics)
    learner.bad = -1
    learner.run[:] = 0


def learner_rewind(learner: Learner) -> None:
    """Restart the stream, calibrated: possible with a recorded stream, not with a live one."""
    learner_gap(learner)
    learner.tick = 0
    learner.calibration.watched = learner.calibration.rejected = learner.calibration.quiet = 0
    learner.counters = Counters()


def _process_sample(learner: Learner, row: Array) -> None:
    """Algorithm 1, lines 3 to 14, for a repaired sample."""
    config = learner.config
    ring = learner.ring
    good = usable(row)
    row = np.where(good, row, ring_row(ring, 0) if ring.pushed else 0.0)
    _watch_run(learner, row[: config.channels])
    ring_push(ring, row)
    if not good.all():
        learner.bad, learner.bad_reason = ring.pushed - 1, "nonfinite"
    noise_update(learner.noise, ring, learner.calibrating or not learner.doubted or not noise_ready(learner.noise))
    learner.tick += 1
    if learner.tick % config.stride == 0:
        _carry_angles(learner)
        if learner.calibrating:
            clean = ring.pushed - 1 - learner.bad
            calibrate_window(learner.calibration, config, ring, learner.noise, learner.median_gate, clean)
        else:
            _process_window(learner)
    if learner.calibrating and learner.tick >= learner.until:
        learner_end_calibration(learner)
    elif learner.setup and config.train_every and learner.tick % config.train_every == 0:
        learner_step(learner)


def _watch_run(learner: Learner, y: Array) -> None:
    """Mark a channel that repeats a value although its noise should have changed it."""
    if not learner.config.repair or not learner.ring.pushed:
        return
    same = y == ring_row(learner.ring, 0)[: len(y)]
    learner.run = np.where(same, learner.run + 1, 0)
    noise = learner.noise
    fine = ~np.isfinite(noise.smallest) | (noise.smallest < noise_sigma(noise))
    if np.any((learner.run >= STUCK_RUN) & fine):
        learner.bad, learner.bad_reason = learner.ring.pushed, "stuck"


def _carry_angles(learner: Learner) -> None:
    """Propagate the angles to the newest sample; restart them if samples are missing since the last window."""
    ring, stride = learner.ring, learner.config.stride
    fresh = max(0, min(stride, ring.pushed - 1 - learner.bad, len(ring.values)))
    if fresh < stride:
        kinematics_clear(learner.kinematics)
    if learner.setup:
        rows = ring.values[(ring.pushed - fresh + np.arange(fresh)) % len(ring.values)]
        kinematics_push(learner.kinematics, learner.config, learner.setup.window, noise_sigma(learner.noise), rows)


def _process_window(learner: Learner) -> None:
    """Process the newest window and count its outcome."""
    learner.counters.windows += 1
    reason, quiet = _try_window(learner)
    if reason:
        learner.counters.rejected[reason] += 1
    else:
        learner.counters.accepted += 1
    learner.doubted = learner.config.dense and reason in ("misfit", "jump", "inconsistent", "still")
    if reason in ("misfit", "jump"):  # a jump: the carried angle belongs to the motion before it
        kinematics_clear(learner.kinematics)
    if learner.go_back:
        learner_go_back(learner)
    elif learner.anew:
        learner_prior(learner)
    if calibrate_watch(learner.calibration, reason, quiet) and learner.config.dense and learner.config.recalibrate:
        learner_recalibrate(learner)


def _try_window(learner: Learner) -> tuple[str | None, bool]:
    """Add the newest window's regression target if it passes the acceptance test; else the reason of rejection.

    Also returns whether its misfit is far below what the noise explains.
    """
    config, ring, setup = learner.config, learner.ring, learner.setup
    assert setup
    window, reach = setup.window, setup.window.reach
    if ring.pushed <= 2 * reach:
        return "gap", False
    if ring.pushed - 1 - learner.bad <= 2 * reach and learner.bad >= 0:
        return learner.bad_reason, False
    samples = ring_window(ring, window.half, window.spacing)[:, : config.channels]
    coefficients, misfit, segments = window_fit(window, samples)
    quiet = learner.counters.recalibrations > 0 and learner_is_quiet(learner, misfit)
    if reason := learner_accept_window(learner, samples, coefficients, misfit, segments):
        return reason, quiet
    coefficients = kinematics_fuse(learner.kinematics, config, window, coefficients, noise_sigma(learner.noise))
    return targets_add(learner, angle_wrap_window(coefficients, config.wrap)), quiet
