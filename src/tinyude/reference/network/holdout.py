"""Hold-out test: does the network predict windows it was not trained on?"""

from __future__ import annotations

import numpy as np

from tinyude.reference.config import Config
from tinyude.reference.network.loss import loss_gather
from tinyude.reference.network.mlp import mlp_forward
from tinyude.reference.network.reservoir import reservoir_count
from tinyude.reference.numeric.statistics import statistics_error
from tinyude.reference.state import Array, Learner

EARNED = 1.0  # standard errors by which the network must improve held-out parts


def holdout_judge(learner: Learner) -> None:
    """Keep the network for a residual state only where its hold-out error is clearly below that of the library alone.

    Does nothing without a library, or without held-out windows.
    """
    config, count = learner.config, reservoir_count(learner.holdout)
    if not config.hidden or not config.columns or count == 0:
        return
    assert learner.network_nodes
    weights = learner.network_nodes.weights[:, list(config.on)]
    learner.network_on = holdout_better(holdout_gain(config, weights, learner.holdout.entries[:count], learner.average))


def holdout_better(gain: Array) -> Array:
    """Whether the mean over parts, the first axis, is clearly above 0; fewer than two parts cannot tell."""
    error = statistics_error(gain)
    return np.asarray((error > 0.0) & (gain.mean(axis=0) > EARNED * error))


def holdout_gain(config: Config, node_weights: Array, entries: Array, params: Array) -> Array:
    """(parts of held-out blocks, residual states): mean squared remainder without this network, minus that with it."""
    nodes, rest = loss_gather(config, entries)
    answer = mlp_forward(params, config.sizes, nodes.reshape(-1, nodes.shape[-1]))[-1]
    answer = np.einsum("bqi,qi->bi", answer.reshape(len(entries), config.network_nodes, -1), node_weights)
    gain = rest**2 - (rest - answer) ** 2
    tags = entries[:, -1]
    return np.array([gain[tags == tag].mean(axis=0) for tag in np.unique(tags)]).reshape(-1, len(config.on))
