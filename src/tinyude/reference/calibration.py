"""Start and end of a calibration, and the setup derived from the window and scales that it found."""

from __future__ import annotations

import numpy as np

from tinyude.reference.regression.library import library_weigh
from tinyude.reference.signal.calibrate import calibrate_choose, calibrate_finish, calibrate_init, calibrate_signal
from tinyude.reference.signal.nodes import nodes_centre, nodes_gauss, nodes_intervals
from tinyude.reference.signal.noise import noise_hold, noise_init, noise_restore
from tinyude.reference.state import Learner

RECALIBRATION_SHARE = 4  # a recalibration takes 1 / this of the first one's length


def learner_recalibrate(learner: Learner) -> None:
    """Estimate noise and window again; keep the model."""
    learner.calibration = calibrate_init(learner.config)
    learner.held_variance = noise_hold(learner.noise)
    learner.noise = noise_init(learner.config.channels)
    learner.calibrating = True
    learner.until = learner.tick + learner.config.calibration // RECALIBRATION_SHARE


def learner_end_calibration(learner: Learner) -> None:
    """End the calibration, unless it has ended; from here on windows are used."""
    if not learner.calibrating:
        return
    if learner.setup and not calibrate_signal(learner.calibration, learner.config, learner.noise, learner.setup.scales):
        noise_restore(learner.noise, learner.held_variance)
        learner.counters.no_signal += 1
    elif learner.setup:  # scales are kept, because the model is in units of them
        learner.setup.window, learner.setup.sigma_scale, _ = calibrate_choose(learner.calibration, learner.config)
        learner.counters.recalibrations += 1
        library_weigh(learner.library, _noise_growth(learner))
    else:
        learner.setup = calibrate_finish(learner.calibration, learner.config, learner.noise)
    learner_apply_setup(learner)


def _noise_growth(learner: Learner) -> float:
    """Ratio of the channels' noise variance, new to old, in units of the scales of the states' rates.

    Windows with more noise get less weight than those before: the noise of a sum is that of its samples, for any window
    length.
    """
    assert learner.setup
    least, channels, unit = float(np.finfo(np.float32).tiny), list(learner.config.channel), learner.setup.scales.dx**2
    now, before = learner.noise.variance[channels] / unit, learner.held_variance[channels] / unit
    return float((least + now.sum()) / (least + before.sum()))


def learner_apply_setup(learner: Learner) -> None:
    """Apply the window found: place the nodes of the physics and of the network."""
    config = learner.config
    assert learner.setup
    window = learner.setup.window
    learner.calibrating = False
    if config.physics_nodes == 1:
        learner.physics_nodes = nodes_centre(window, config.order)
    elif config.inputs:
        learner.physics_nodes = nodes_intervals(window, config.order)
    else:
        learner.physics_nodes = nodes_gauss(window, config.physics_nodes, config.order)
    if config.network_nodes == 1:
        learner.network_nodes = nodes_centre(window, config.order)
    else:
        learner.network_nodes = nodes_gauss(window, config.network_nodes, config.order)
