"""Algorithm 1 of the paper, second half: `learner_step` makes updates; and the end of training."""

from __future__ import annotations

import numpy as np

from tinyude.reference.network.adam import adam_init, adam_step, clip, cosine_rate, ema_update, sgd_step
from tinyude.reference.network.holdout import holdout_judge
from tinyude.reference.network.last_layer import last_layer_finish
from tinyude.reference.network.loss import loss_first, loss_gather
from tinyude.reference.network.reservoir import reservoir_count, reservoir_draw
from tinyude.reference.paper.second_order import second_order_gradient
from tinyude.reference.regression.targets import targets_solve
from tinyude.reference.signal.ring import usable
from tinyude.reference.state import Array, Learner


def learner_step(learner: Learner, count: int = 1) -> None:
    """Make updates on the stored windows."""
    for _ in range(count):
        _step(learner)


def _step(learner: Learner) -> None:
    """One update: draw a minibatch, its exact gradient, clip, Adam, average. Skipped without data, or with nothing to
    train.
    """
    config, counters = learner.config, learner.counters
    counters.updates += 1
    learner.since_change += 1
    if not config.hidden or reservoir_count(learner.reservoir) < config.batch or _schedule_is_over(learner):
        return
    index = reservoir_draw(learner.reservoir, config.batch, learner.rng)
    loss, grad = _loss_gradient(learner, learner.reservoir.entries[index])
    if not (np.isfinite(loss) and np.all(np.isfinite(grad))):
        learner.params[:] = learner.average
        learner.adam = adam_init(len(learner.params))
        counters.rolled_back += 1
        return
    grad = clip(grad)
    if config.adam:
        rate = cosine_rate(learner.since_change - 1, config.updates, learner.rate, config.rate_floor)
        adam_step(learner.adam, learner.params, grad, rate)
    else:
        sgd_step(learner.params, grad, learner.rate)
    if config.decay:
        ema_update(learner.average, learner.params, learner.since_change - 1, config.decay)
    else:
        learner.average[:] = learner.params
    learner.losses.append(float(loss))


def _schedule_is_over(learner: Learner) -> bool:
    """Whether the network's schedule is over: in the stream it trains for one schedule, and again after a change."""
    return learner.config.watched and bool(learner.config.columns) and not learner_updates_left(learner)


def _loss_gradient(learner: Learner, batch: Array) -> tuple[float, Array]:
    """Loss of a minibatch, and its gradient."""
    config, setup = learner.config, learner.setup
    assert setup and learner.network_nodes
    if setup.second_order:
        loss, grad = second_order_gradient(learner, batch)
    else:
        nodes, target = loss_gather(config, batch)
        weights = learner.network_nodes.weights[:, list(config.on)]
        loss, grad = loss_first(learner.params, config.sizes, nodes, weights, target)
    return float(np.real(loss)), np.asarray(grad, dtype=np.float64)


def learner_updates_left(learner: Learner) -> int:
    """Remaining updates of the schedule."""
    return max(0, learner.config.updates - learner.since_change)


def learner_solve(learner: Learner) -> None:
    """Solve the library on all data so far."""
    if learner.setup:
        targets_solve(learner)


def learner_judge(learner: Learner) -> None:
    """Keep the network only if its hold-out error is clearly below that of the library alone."""
    if learner.setup:
        holdout_judge(learner)


def learner_conclude(learner: Learner) -> None:
    """After training: solve the averaged network's last layer and run the hold-out test."""
    if learner.setup:
        last_layer_finish(learner)
        learner.good[:] = learner.average
        holdout_judge(learner)


def learner_finish(learner: Learner) -> None:
    """The end of a recorded stream: solve the library, make the remaining updates, conclude."""
    learner_solve(learner)
    learner_step(learner, learner_updates_left(learner) if learner.setup else 0)
    learner_conclude(learner)


def learner_set_network(learner: Learner, weights: Array, rate: float) -> bool:
    """Replace the network's weights and restart its schedule at this learning rate. False: they are not finite."""
    if not len(learner.params) or not (usable(weights).all() and usable(np.array(rate)) and rate >= 0.0):
        return False
    learner.params[:] = weights
    learner.average[:] = weights
    learner.good[:] = weights
    learner.adam = adam_init(len(learner.params))
    learner.network_on[:] = True
    learner.since_change = 0
    learner.rate = rate
    return True
