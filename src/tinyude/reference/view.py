"""Access to a learner's results: its residual at a state, and its internal data."""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyude.reference.network.mlp import mlp_forward
from tinyude.reference.network.reservoir import Reservoir, reservoir_count
from tinyude.reference.regression.targets import design_rows, scaled_row
from tinyude.reference.signal.angle import angle_wrap_state
from tinyude.reference.signal.gates import REASONS
from tinyude.reference.signal.noise import noise_sigma, noise_step
from tinyude.reference.signal.setup import Scales
from tinyude.reference.state import Array, Learner
from tinyude.reference.training import learner_updates_left


def learner_residual(learner: Learner, x: Array, u: Array) -> Array:
    """N(x, u) of the averaged model: (rows, residual states), in physical units; 0 until calibrated."""
    config = learner.config
    answer = np.zeros((len(x), len(config.on)))
    if not learner.setup:
        return answer
    unit = learner.setup.scales.dx[list(config.on)]
    x = angle_wrap_state(x, config.angles)
    if config.hidden and learner.network_on.any():
        seen = scaled_row(learner, x, u)[:, list(config.sees)]
        answer += np.where(learner.network_on, unit * mlp_forward(learner.good, config.sizes, seen)[-1], 0.0)
    if config.columns:
        answer += unit * (design_rows(learner, x, u) @ learner.library.coefficients)
    return answer


def learner_view(learner: Learner) -> dict[str, Any]:
    """Copies of what tu_view in tinyude.h shows, by its names."""
    counters, library, setup = learner.counters, learner.library, learner.setup
    states, inputs = learner.config.states, learner.config.inputs
    unknown = Scales(np.ones(states), np.ones(states), np.ones(states), np.ones(inputs))
    scales = setup.scales if setup else unknown
    return {
        "calibrated": int(setup is not None),
        "window_half": setup.window.half if setup else 0,
        "window_spacing": setup.window.spacing if setup else 0,
        "second_order": setup.second_order if setup else 0.0,
        "snr2": setup.snr2 if setup else 0.0,
        "sigma_scale": learner.sigma_scale,
        "sigma": noise_sigma(learner.noise),
        "step": noise_step(learner.noise),
        "x_scale": scales.x.copy(),
        "dx_scale": scales.dx.copy(),
        "ddx_scale": scales.ddx.copy(),
        "u_scale": scales.u.copy(),
        "params": learner.params.copy(),
        "average": learner.good.copy(),
        "coefficients": library.coefficients.copy(),
        "errors": library.errors.copy(),
        "deficient": library.deficient,
        "network_on": learner.network_on.astype(np.int32),
        "reservoir": _entries(learner.reservoir),
        "holdout": _entries(learner.holdout),
        "samples": counters.samples,
        "filled": counters.filled,
        "replaced": counters.replaced,
        "windows": counters.windows,
        "accepted": counters.accepted,
        "rejected": np.array([counters.rejected[reason] for reason in REASONS]),
        "updates": counters.updates,
        "updates_left": learner_updates_left(learner),
        "rolled_back": counters.rolled_back,
        "recalibrations": counters.recalibrations,
        "no_signal": counters.no_signal,
        "returned": counters.returned,
        "changes": len(counters.changes),
        "changed_at": np.array(counters.changes, dtype=np.int64),
        "loss": learner.losses[-1] if learner.losses else 0.0,
    }


def learner_take_losses(learner: Learner) -> tuple[float, int]:
    """Sum and number of the losses since the last call."""
    fresh = learner.losses[learner.losses_taken :]
    learner.losses_taken = len(learner.losses)
    return float(np.sum(fresh)), len(fresh)


def _entries(store: Reservoir) -> Array:
    return store.entries[: reservoir_count(store)].copy()
