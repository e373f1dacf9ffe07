"""Start a learner from a fitted model, or return it to its last good one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinyude.reference.calibration import learner_apply_setup
from tinyude.reference.config import Config
from tinyude.reference.numeric.rng import rng_normal
from tinyude.reference.regression.last_good import last_good_restore, last_good_trust
from tinyude.reference.regression.library import library_clear
from tinyude.reference.regression.targets import targets_add_prior, targets_forget
from tinyude.reference.signal.ring import usable
from tinyude.reference.signal.setup import Scales, Setup
from tinyude.reference.signal.window import window_make
from tinyude.reference.state import Array, Learner

LEAST = 1e-30  # of a scale: numbers divided by it must stay finite


@dataclass(frozen=True)
class StartModel:
    """Result of a fit (`tu_model` in tinyude.h)."""

    window_half: int
    window_spacing: int
    sigma_scale: float
    x_scale: Array  # (states,), all scales > 0
    u_scale: Array  # (inputs,)
    dx_scale: Array  # (states,)
    weights: Array  # parameters of the network, flat
    network_on: Array  # (on,) 1 or 0
    coefficients: Array  # (columns,): parameters, then the terms of each residual state
    errors: Array  # (columns,)


def learner_start(learner: Learner, model: StartModel) -> bool:
    """Start a new learner from a model: it predicts like the model and continues at the `rate_floor` rate.

    Sensor noise is still estimated from the stream; the second-order term requires a calibration and stays off. False:
    the model does not fit the configuration.
    """
    config = learner.config
    numbers = np.concatenate([model.weights, model.coefficients, model.errors])
    if not _fits(config, model) or not usable(numbers).all():
        return False
    window = window_make(model.window_half, model.window_spacing, config.poly, config.sample_period)
    scales = Scales(model.x_scale.copy(), model.dx_scale.copy(), np.ones(config.states), model.u_scale.copy())
    learner.setup = Setup(window, scales, model.sigma_scale)
    learner.params[:] = model.weights
    learner.average[:] = model.weights
    learner.good[:] = model.weights
    learner.network_on = model.network_on.astype(bool)
    learner.library.coefficients[:] = model.coefficients
    learner.library.errors[:] = model.errors
    learner.since_change = config.updates
    learner_apply_setup(learner)
    learner.library.solved = config.columns > 0
    learner_prior(learner)
    last_good_trust(learner)
    return True


def learner_go_back(learner: Learner) -> None:
    """Return to the last good model; discard later data."""
    learner.go_back = False
    last_good_restore(learner)
    targets_forget(learner)
    learner.since_change = learner.config.updates
    learner_prior(learner)
    learner.counters.rolled_back += 1
    learner.counters.returned += 1


def learner_prior(learner: Learner) -> None:
    """Restart the library's sums with half a block per group, as the model predicts it, in the range it was fitted in.

    Without that prior, a stream that starts without motion would erase the model.
    """
    config, library = learner.config, learner.library
    learner.anew = False
    blocks = library.blocks  # stored windows are tagged with it
    library_clear(library)
    library.blocks = blocks
    assert learner.setup
    scale = np.concatenate([learner.setup.scales.x, learner.setup.scales.u])
    for _ in range(config.groups if config.columns else 0):
        for _ in range(config.block // 2):
            node = np.array([size * rng_normal(learner.rng) for size in scale])
            targets_add_prior(learner, node[: config.states], node[config.states :])
        library.blocks += 1
    library.windows = 0


def _fits(config: Config, model: StartModel) -> bool:
    half, spacing = model.window_half, model.window_spacing
    window = 2 * half > config.poly and spacing >= 1 and half * spacing <= config.max_half
    shape = spacing == 1 if config.dense else half == config.taps
    scales = np.concatenate([[model.sigma_scale], model.x_scale, model.u_scale, model.dx_scale])
    return window and shape and bool(np.all(np.isfinite(scales) & (scales > LEAST)))
