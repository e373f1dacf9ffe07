"""Hold-out test: does the network predict windows it was not trained on?"""

from __future__ import annotations

import numpy as np

from tinyude.reference.config import Config
from tinyude.reference.network.adam import adam_init
from tinyude.reference.network.last_layer import last_layer_relearn, last_layer_relearns, last_layer_terms
from tinyude.reference.network.loss import loss_gather
from tinyude.reference.network.mlp import mlp_forward
from tinyude.reference.network.reservoir import reservoir_count
from tinyude.reference.numeric.statistics import statistics_error
from tinyude.reference.regression.change_detection import change_clear
from tinyude.reference.state import Array, Learner

LEAST_GAIN = 1.0  # minimum gain on held-out parts, in standard errors,
CLEARLY = 2.0  # and in a stream, where the test is repeated
WORTH = 5e-5  # minimum squared gain of a network, in units of the derivative's scale
REPLACED = 0.5  # share of the squared remainder of the model's network that a replacement must explain
LEAST_PARTS = 8  # minimum for a test in the stream,
LEAST_PARTS_RELEARNED = 4  # and soon after a change: the parts of the first held-out block


def holdout_judge(learner: Learner) -> None:
    """Keep the network for a residual state only if its hold-out error is clearly below that of the library alone.

    Does nothing without a library, or without held-out windows.
    """
    config, count = learner.config, reservoir_count(learner.holdout)
    if not config.hidden or not config.columns or count == 0:
        return
    assert learner.network_nodes
    weights = learner.network_nodes.weights[:, list(config.on)]
    learner.network_on = holdout_better(holdout_gain(config, weights, learner.holdout.entries[:count], learner.average))


def holdout_watch(learner: Learner) -> Array:
    """In the stream: compare the current weights with the last good ones on held-out parts.

    Clearly better weights become the last good ones; if they are clearly worse after the schedule, the last good ones
    are restored. The model uses the last good ones. The network is switched on if it is clearly better than the library
    alone, and off if it is worse. Returns the change of the library's coefficients.
    """
    config, count = learner.config, reservoir_count(learner.holdout)
    assert learner.network_nodes
    relearns = last_layer_relearns(learner)
    moved = last_layer_relearn(learner)
    weights = learner.network_nodes.weights[:, list(config.on)]
    entries = learner.holdout.entries[:count]
    beside = last_layer_terms(learner, learner.holdout, moved).sum(axis=2) if moved.any() else 0.0
    rest, left = _remainder(config, weights, entries, learner.average, beside)
    good_rest, good_left = _remainder(config, weights, entries, learner.good)
    gain, good = _by_parts(entries, rest**2 - left**2), _by_parts(entries, good_rest**2 - good_left**2)
    if len(gain) < (LEAST_PARTS_RELEARNED if relearns else LEAST_PARTS):
        return np.zeros_like(moved)
    better = _by_parts(entries, good_left**2 - left**2).sum(axis=1)
    over = learner.since_change >= config.updates
    if better.mean() < -LEAST_GAIN * statistics_error(better) and over:
        learner.params[:] = learner.average[:] = learner.good
        learner.adam = adam_init(len(learner.params))
        learner.counters.rolled_back += 1
        learner.rate *= 0.5  # updates made predictions worse: use smaller steps
        gain = good
    elif better.mean() > _least_better(learner, better, good_left):
        learner.good[:] = learner.average
        learner.library.coefficients += moved
        learner.anew = bool(learner.network_on.any())
        learner.rate = min(2.0 * learner.rate, config.rate)
    else:
        gain, moved = good, np.zeros_like(moved)
    if config.columns:
        least = np.where(learner.network_on, 0.0, np.maximum(WORTH, CLEARLY * statistics_error(gain)))
        on = gain.mean(axis=0) > least
        learner.anew |= bool(np.any(on != learner.network_on))
        learner.network_on = on
    if learner.anew:
        change_clear(learner.change)  # past scores belong to another model
    return moved


def _least_better(learner: Learner, better: Array, left: Array) -> float:
    """Minimum gain of new weights over the last good ones, whose remainder is given.

    Weights in use are replaced only if that explains a large share of their remainder, noise included; less may be
    chance. Soon after a change the last good ones belong to the old dynamics, or to fewer windows: the new ones must
    only not be clearly worse.
    """
    error = float(statistics_error(better))
    if not learner.network_on.any():
        return LEAST_GAIN * error
    if last_layer_relearns(learner):
        return -CLEARLY * error
    return max(CLEARLY * error, REPLACED * float((left**2).sum(axis=1).mean()))


def holdout_better(gain: Array) -> Array:
    """Whether the mean over parts, the first axis, is clearly above 0; False for fewer than two parts."""
    error = statistics_error(gain)
    return np.asarray((error > 0.0) & (gain.mean(axis=0) > LEAST_GAIN * error))


def holdout_gain(config: Config, node_weights: Array, entries: Array, params: Array) -> Array:
    """(parts of held-out blocks, residual states): mean squared remainder without this network, minus that with it."""
    rest, left = _remainder(config, node_weights, entries, params)
    return _by_parts(entries, rest**2 - left**2)


def _by_parts(entries: Array, values: Array) -> Array:
    """(parts of held-out blocks, residual states): means over the entries of a part."""
    tags = entries[:, -1]
    return np.array([values[tags == tag].mean(axis=0) for tag in np.unique(tags)]).reshape(-1, values.shape[1])


def _remainder(
    config: Config, node_weights: Array, entries: Array, params: Array, beside: Array | float = 0.0
) -> tuple[Array, Array]:
    """(entries, residual states): remainders of the targets without this network, and with it.

    beside: the library's correction.
    """
    nodes, rest = loss_gather(config, entries)
    rest = rest - beside
    answer = mlp_forward(params, config.sizes, nodes.reshape(-1, nodes.shape[-1]))[-1]
    answer = np.einsum("bqi,qi->bi", answer.reshape(len(entries), config.network_nodes, -1), node_weights)
    return rest, rest - answer
