"""Jet-matching loss and its exact gradient (paper eqs. jetloss, u_bar, grad), in the network's own units.

The network sees x / x_scale and answers in units of s1 (the scale of dx), so a first-order residual is plainly
target - N(x). Targets are what the known physics leaves: (dx_hat - f_known) / s1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tinyude.reference.network.mlp import Array, mlp_backward, mlp_forward, mlp_jvp, mlp_jvp_backward


def loss_first(
    params: Array, sizes: Sequence[int], nodes: Array, node_weights: Array, target: Array
) -> tuple[complex, Array]:
    """Mean over the batch of |target - sum_q w_q N(x_q)|^2, and its gradient.

    nodes (batch, q, inputs), node_weights (q, outputs), target (batch, outputs). With one node of weight 1 this is
    the paper's first-order term; with several it matches the network as the window filters it.
    """
    batch, count, width = nodes.shape
    acts = mlp_forward(params, sizes, nodes.reshape(batch * count, width))
    answer = acts[-1].reshape(batch, count, -1)
    residual = target - np.einsum("bqi,qi->bi", answer, node_weights)
    y_bar = (-2.0 / batch) * residual[:, None, :] * node_weights
    grad, _ = mlp_backward(params, sizes, acts, y_bar.reshape(batch * count, -1))
    return (residual**2).sum() / batch, grad


@dataclass
class SecondOrder:
    """What the second-order term needs of each sample (batch first); all but the scales from the known physics."""

    field: Array  # f_known(x_hat) (batch, n)
    jacobian: Array  # df_known/dx (batch, n, n)
    target: Array  # ddx_hat (batch, n)
    x_scale: Array  # (n,)
    s1: Array  # (n,)
    s2: Array  # (n,)


def loss_second(
    params: Array, sizes: Sequence[int], x: Array, target: Array, second: SecondOrder, weight: float
) -> tuple[complex, Array]:
    """First-order loss + weight * mean |(ddx_hat - J_F F) / s2|^2, and the gradient of both.

    x (batch, n) is scaled by x_scale, target (batch, n) by s1; the network acts on every state.
    """
    batch = x.shape[0]
    acts = mlp_forward(params, sizes, x)
    flow = second.field + second.s1 * acts[-1]  # F in physical units
    tans = mlp_jvp(params, sizes, acts, flow / second.x_scale)
    lie = np.einsum("bij,bj->bi", second.jacobian, flow) + second.s1 * tans[-1]  # G = J_F F
    r1 = target - acts[-1]
    r2 = (second.target - lie) / second.s2

    lie_bar = (-2.0 * weight / batch) * r2 / second.s2
    tan_bar = second.s1 * lie_bar
    _, v_bar = mlp_backward(params, sizes, acts, tan_bar)  # J_N' of the cotangent, for F's own share of G
    flow_bar = np.einsum("bij,bi->bj", second.jacobian, lie_bar) + v_bar / second.x_scale
    y_bar = (-2.0 / batch) * r1 + second.s1 * flow_bar
    grad = mlp_jvp_backward(params, sizes, acts, tans, y_bar, tan_bar)
    return ((r1**2).sum() + weight * (r2**2).sum()) / batch, grad
