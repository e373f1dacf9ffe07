"""The last layer is linear in its weights: after training, its least-squares solution over all stored windows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tinyude.reference.network.loss import loss_gather
from tinyude.reference.network.mlp import Array, mlp_forward, mlp_layers
from tinyude.reference.network.reservoir import reservoir_count
from tinyude.reference.signal.ring import usable
from tinyude.reference.state import Learner

RELEARNING = 2  # share of the schedule after a change in which only the last layer is learned: 1 / so much


def last_layer_solve(
    params: Array, sizes: Sequence[int], nodes: Array, node_weights: Array, target: Array, overlap: float
) -> None:
    """Move every output's weights and bias from where training left them by the change that makes

        sum_windows (target - sum_q w_q N(x_q))^2 / overlap + s^2 |change|^2

    least, s^2 being the mean square of what training left: weights may move by about 1, and stay where there is
    only noise. So many windows as `overlap` say as much as one: they share their samples. Other arguments as
    loss_first has them, with every stored window as the batch.
    """
    batch, count, width = nodes.shape
    acts = mlp_forward(params, sizes, nodes.reshape(batch * count, width))
    hidden = np.concatenate([acts[-2], np.ones((batch * count, 1))], axis=1).reshape(batch, count, -1)
    answer = acts[-1].reshape(batch, count, -1)
    left = target - np.einsum("bqi,qi->bi", answer, node_weights)
    weight, bias = list(mlp_layers(params, sizes))[-1]
    for i, ridge in enumerate(np.sqrt(overlap * np.mean(left**2, axis=0))):
        if ridge == 0.0 or not usable(ridge):
            continue
        design = np.einsum("bqk,q->bk", hidden, node_weights[:, i])
        units = design.shape[1]
        rows = np.concatenate([design, ridge * np.eye(units)])
        change = np.linalg.lstsq(rows, np.append(left[:, i], np.zeros(units)), rcond=0.0)[0]
        weight[i] += change[:-1]
        bias[i] += change[-1]


def last_layer_relearn(learner: Learner) -> None:
    """Soon after a change of the dynamics, where the model stands on its network: the same for the model's own weights.

    To `learner.average`. Their hidden layers still fit most of what there is, and to train them takes minutes.
    """
    if last_layer_relearns(learner):
        learner.average[:] = learner.good
        last_layer_finish(learner)


def last_layer_relearns(learner: Learner) -> bool:
    """Whether that is so now."""
    early = learner.since_change < learner.config.updates // RELEARNING
    return early and bool(learner.network_on.any()) and _solvable(learner)


def last_layer_finish(learner: Learner) -> None:
    """The same for the averaged network, on what the reservoir holds; not before that is enough for an update, and
    not with a second-order term.
    """
    if not _solvable(learner):
        return
    config, count = learner.config, reservoir_count(learner.reservoir)
    assert learner.network_nodes
    nodes, target = loss_gather(config, learner.reservoir.entries[:count])
    weights = learner.network_nodes.weights[:, list(config.on)]
    last_layer_solve(learner.average, config.sizes, nodes, weights, target, _overlap(learner))


def _overlap(learner: Learner) -> float:
    """Windows that begin within half a window's length: their noise is nearly the same.

    Of a whole record, on which training was over before, every window counts.
    """
    assert learner.setup
    if not learner.config.judged:
        return 1.0
    return max(1.0, learner.setup.window.reach / learner.config.stride)


def _solvable(learner: Learner) -> bool:
    """Whether there is a last layer to be solved, and enough to solve it with."""
    config, count = learner.config, reservoir_count(learner.reservoir)
    assert learner.setup
    return config.last_layer and bool(config.hidden) and count >= config.batch and not learner.setup.second_order
