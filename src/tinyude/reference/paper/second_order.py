"""Second-order term: jet matching of d2x/dt2 = J_F F (eqs. jetloss, grad); adds to the first-order loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tinyude.reference.network.loss import loss_gather
from tinyude.reference.network.mlp import Array, mlp_backward, mlp_forward, mlp_jvp, mlp_jvp_backward
from tinyude.reference.state import Learner


@dataclass
class SecondOrder:
    """Data for the second-order term by sample (batch first); scales are shared."""

    field: Array  # f_known(x_hat) (batch, n)
    jacobian: Array  # df_known/dx (batch, n, n)
    target: Array  # ddx_hat (batch, n)
    x_scale: Array  # (n,)
    s1: Array  # (n,)
    s2: Array  # (n,)


def second_order_loss(
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
    _, v_bar = mlp_backward(params, sizes, acts, tan_bar)  # J_N' of the cotangent, for F in G
    flow_bar = np.einsum("bij,bi->bj", second.jacobian, lie_bar) + v_bar / second.x_scale
    y_bar = (-2.0 / batch) * r1 + second.s1 * flow_bar
    grad = mlp_jvp_backward(params, sizes, acts, tans, y_bar, tan_bar)
    return ((r1**2).sum() + weight * (r2**2).sum()) / batch, grad


def second_order_gradient(learner: Learner, batch: Array) -> tuple[complex, Array]:
    """The same for a learner's network: entries of its reservoir."""
    config, setup = learner.config, learner.setup
    assert setup
    nodes, target = loss_gather(config, batch)
    start = config.states + config.inputs
    x = batch[:, : config.states] * setup.scales.x
    u = batch[:, config.states : start] * setup.scales.u
    ddx = batch[:, start + len(config.on) :]
    known = learner.known
    scales = setup.scales
    second = SecondOrder(known.field(x, u), known.jacobian(x, u), ddx, scales.x, scales.dx, scales.ddx)
    return second_order_loss(learner.params, config.sizes, nodes[:, 0], target, second, setup.second_order)
