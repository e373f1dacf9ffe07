"""The last layer is linear in its weights: after training, its least-squares solution over all stored windows.

After a change of the dynamics the model's terms are solved with it: neither is right beside the other's old values.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tinyude.reference.network.loss import loss_gather
from tinyude.reference.network.mlp import Array, mlp_forward, mlp_layers
from tinyude.reference.network.reservoir import Reservoir, reservoir_count
from tinyude.reference.signal.ring import usable
from tinyude.reference.state import Learner

RELEARNING = 2  # share of the schedule after a change in which only terms and last layer are learned: 1 / so much
MOST_TERMS = 8  # of a residual state, that are solved with its last layer


def last_layer_solve(
    params: Array,
    sizes: Sequence[int],
    nodes: Array,
    node_weights: Array,
    target: Array,
    overlap: float,
    shares: Sequence[Array] = (),
) -> list[Array]:
    """Move every output's weights and bias from where training left them by the change that makes

        sum_windows (target - sum_q w_q N(x_q))^2 / overlap + s^2 |change|^2

    least, s^2 being the mean square of what training left: weights may move by about 1, and stay where there is
    only noise. So many windows as `overlap` say as much as one: they share their samples. Other arguments as
    loss_first has them, with every stored window as the batch.

    shares: by output (windows, terms), what each term adds to a window now: terms, too, may move by about 1 time their
    size. Returns by how much they are to.
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
    """Soon after a change of the dynamics, where the model stands on its network: the same, from its weights before it.

    To `learner.average`. Their hidden layers still fit most of what there is, and to train them takes minutes. Returns
    what goes with it: by how much every coefficient of the library is to move. (The library alone, beside a network
    that is wrong, would make up for that with wrong terms.)
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
    """(entries, residual states, terms): what each term adds to a stored window with these coefficients."""
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
    """Whether that is so now."""
    early = learner.since_change < learner.config.updates // RELEARNING
    return early and bool(learner.network_on.any()) and _solvable(learner)


def last_layer_finish(learner: Learner) -> None:
    """The same for the averaged network, on what the reservoir holds; not before that is enough for an update, and
    not with a second-order term.
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
