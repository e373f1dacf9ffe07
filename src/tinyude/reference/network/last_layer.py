"""Least-squares solution of the last layer, which is linear in its weights, over all stored windows after training.

After a change of the dynamics the model's terms are solved together with it, because both have changed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tinyude.reference.network.loss import loss_gather
from tinyude.reference.network.mlp import Array, mlp_forward, mlp_layers
from tinyude.reference.network.reservoir import Reservoir, reservoir_count
from tinyude.reference.signal.ring import usable
from tinyude.reference.state import Learner

RELEARNING = 2  # after a change, only terms and last layer are learned for 1 / this of the schedule
MOST_TERMS = 8  # maximum per residual state that are solved with its last layer


def last_layer_solve(
    params: Array,
    sizes: Sequence[int],
    nodes: Array,
    node_weights: Array,
    target: Array,
    overlap: float,
    shares: Sequence[Array] = (),
) -> list[Array]:
    """Move every output's weights and bias from their trained values by the change that minimises

        sum_windows (target - sum_q w_q N(x_q))^2 / overlap + s^2 |change|^2

    where s^2 is the mean square of the remainder after training: weights may move by about 1, and stay if there is only
    noise. `overlap` windows carry the information of one, because they share their samples. Other arguments as in
    loss_first, with every stored window as the batch.

    shares: by output (windows, terms), each term's current contribution to a window. Terms may also move by about their
    size. Returns their change.
    """
    moved = [np.zeros(share.shape[1]) for share in shares]
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
        design = np.hstack([design, *shares[i : i + 1]])
        rows = np.concatenate([design, ridge * np.eye(design.shape[1])])
        change = np.linalg.lstsq(rows, np.append(left[:, i], np.zeros(design.shape[1])), rcond=0.0)[0]
        weight[i] += change[: units - 1]
        bias[i] += change[units - 1]
        if shares:
            moved[i] = change[units:]
    return moved


def last_layer_relearn(learner: Learner) -> Array:
    """The same soon after a change of the dynamics, if the model uses its network: from the weights before the change.

    Writes to `learner.average`. The hidden layers still fit most of the field, and training them takes minutes. Returns
    the change of the library's coefficients: a library solved alone would compensate for the wrong network with wrong
    terms.
    """
    moved = np.zeros(learner.config.columns)
    if not last_layer_relearns(learner):
        return moved
    config, good = learner.config, learner.last_good
    learner.average[:] = good.weights if good else learner.good
    coefficients = good.coefficients if good else learner.library.coefficients
    parts = last_layer_terms(learner, learner.reservoir, coefficients)
    terms = coefficients[config.parameters :].reshape(len(config.on), -1)
    kept = [np.flatnonzero(row)[:MOST_TERMS] for row in terms]
    changes = _solve_stored(learner, [parts[:, i, columns] for i, columns in enumerate(kept)])
    for i, (columns, change) in enumerate(zip(kept, changes, strict=True)):
        moved[config.parameters + i * config.library_terms + columns] = change * terms[i, columns]
    return moved


def last_layer_terms(learner: Learner, store: Reservoir, coefficients: Array) -> Array:
    """(entries, residual states, terms): each term's contribution to a stored window with these coefficients."""
    config, setup, count = learner.config, learner.setup, reservoir_count(store)
    assert setup and learner.network_nodes
    on, columns = list(config.on), config.states + config.inputs
    rows = store.entries[:count, : config.network_nodes * columns].reshape(-1, columns)
    terms = learner.known.terms(rows[:, : config.states] * setup.scales.x, rows[:, config.states :] * setup.scales.u)
    weights = learner.network_nodes.weights[:, on] / setup.scales.dx[on]
    parts = np.einsum("qi,bqk->bik", weights, terms.reshape(count, config.network_nodes, -1))
    parts = parts * coefficients[config.parameters :].reshape(len(on), -1)
    return np.where(usable(parts), parts, 0.0)


def last_layer_relearns(learner: Learner) -> bool:
    """Whether `last_layer_relearn` applies now. Before a first change it would hide that change from its detection."""
    early = bool(learner.counters.changes) and learner.since_change < learner.config.updates // RELEARNING
    return early and bool(learner.network_on.any()) and _solvable(learner)


def last_layer_finish(learner: Learner) -> None:
    """The same for the averaged network, on its reservoir. Does nothing before there is enough data for an update, or
    with a second-order term.
    """
    if _solvable(learner):
        _solve_stored(learner)


def _solve_stored(learner: Learner, shares: Sequence[Array] = ()) -> list[Array]:
    config, count = learner.config, reservoir_count(learner.reservoir)
    assert learner.network_nodes
    nodes, target = loss_gather(config, learner.reservoir.entries[:count])
    weights = learner.network_nodes.weights[:, list(config.on)]
    return last_layer_solve(learner.average, config.sizes, nodes, weights, target, _overlap(learner), shares)


def _overlap(learner: Learner) -> float:
    """Number of windows that start within half a window's length: their noise is nearly the same.

    After training on a whole record, every window counts.
    """
    assert learner.setup
    if not learner.config.judged:
        return 1.0
    return max(1.0, learner.setup.window.reach / learner.config.stride)


def _solvable(learner: Learner) -> bool:
    """Whether there is a last layer to solve, and enough data."""
    config, count = learner.config, reservoir_count(learner.reservoir)
    assert learner.setup
    return config.last_layer and bool(config.hidden) and count >= config.batch and not learner.setup.second_order
