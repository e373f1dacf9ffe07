"""Jet-matching loss and its exact gradient (paper eqs. jetloss, u_bar, grad), in the network's own units.

The network's input is x / x_scale and its output is in units of s1 (the scale of dx), so a first-order residual is
target - N(x). Regression targets are (dx_hat - f_known) / s1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tinyude.reference.config import Config
from tinyude.reference.network.mlp import Array, mlp_backward, mlp_forward


def loss_gather(config: Config, entries: Array) -> tuple[Array, Array]:
    """Network inputs at the nodes (batch, q, inputs) and targets (batch, outputs) of stored entries."""
    columns = config.states + config.inputs
    start = config.network_nodes * columns
    nodes = entries[:, :start].reshape(len(entries), config.network_nodes, columns)
    return nodes[:, :, list(config.sees)], entries[:, start : start + len(config.on)]


def loss_first(
    params: Array, sizes: Sequence[int], nodes: Array, node_weights: Array, target: Array
) -> tuple[complex, Array]:
    """Mean over the batch of |target - sum_q w_q N(x_q)|^2, and its gradient.

    nodes (batch, q, inputs), node_weights (q, outputs), target (batch, outputs). With one node of weight 1 this is the
    paper's first-order term; with several it matches the network filtered by the window.
    """
    batch, count, width = nodes.shape
    acts = mlp_forward(params, sizes, nodes.reshape(batch * count, width))
    answer = acts[-1].reshape(batch, count, -1)
    residual = target - np.einsum("bqi,qi->bi", answer, node_weights)
    y_bar = (-2.0 / batch) * residual[:, None, :] * node_weights
    grad, _ = mlp_backward(params, sizes, acts, y_bar.reshape(batch * count, -1))
    return (residual**2).sum() / batch, grad
