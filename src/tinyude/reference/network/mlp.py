"""The network: tanh hidden layers, linear output; its tangents (JVP) and both reverse sweeps.

Parameters are one flat vector, layer by layer, weights (out x in, row by row) before biases.
Arrays are (batch, units). Everything accepts complex input, so that gradients can be checked by complex step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.reference.numeric.rng import Rng, rng_normal

Array = NDArray[Any]


def mlp_count(sizes: Sequence[int]) -> int:
    """Number of parameters of a network with these layer sizes, input first."""
    return sum(m * (n + 1) for n, m in pairwise(sizes))


def mlp_init(sizes: Sequence[int], rng: Rng) -> NDArray[np.float64]:
    """Weights N(0, 1 / fan_in), the last layer a tenth of that, biases 0."""
    params = np.zeros(mlp_count(sizes))
    last = len(sizes) - 2
    for index, (weight, _) in enumerate(mlp_layers(params, sizes)):
        fan_in = sizes[index]
        scale = (0.1 if index == last else 1.0) / np.sqrt(fan_in)
        weight[...] = [[scale * rng_normal(rng) for _ in range(fan_in)] for _ in range(sizes[index + 1])]
    return params


def mlp_layers(params: Array, sizes: Sequence[int]) -> Iterator[tuple[Array, Array]]:
    """Views (weight, bias) of each layer."""
    start = 0
    for n, m in pairwise(sizes):
        yield params[start : start + m * n].reshape(m, n), params[start + m * n : start + m * (n + 1)]
        start += m * (n + 1)


def mlp_forward(params: Array, sizes: Sequence[int], x: Array) -> list[Array]:
    """Activations of every layer: the input first, the output last."""
    acts = [x]
    layers = list(mlp_layers(params, sizes))
    for weight, bias in layers[:-1]:
        acts.append(np.tanh(acts[-1] @ weight.T + bias))
    weight, bias = layers[-1]
    acts.append(acts[-1] @ weight.T + bias)
    return acts


def mlp_jvp(params: Array, sizes: Sequence[int], acts: list[Array], x_tan: Array) -> list[Array]:
    """Tangents of every layer along x_tan: the last one is J_N(x) x_tan."""
    tans = [x_tan]
    layers = list(mlp_layers(params, sizes))
    for act, (weight, _) in zip(acts[1:-1], layers[:-1], strict=True):
        tans.append((1.0 - act**2) * (tans[-1] @ weight.T))
    tans.append(tans[-1] @ layers[-1][0].T)
    return tans


def mlp_backward(params: Array, sizes: Sequence[int], acts: list[Array], y_bar: Array) -> tuple[Array, Array]:
    """VJP: the parameter gradient of <y_bar, N(x)> summed over the batch, and the input cotangent J_N' y_bar."""
    grad = np.zeros(mlp_count(sizes), dtype=np.result_type(y_bar, acts[-1]))
    layers = list(mlp_layers(params, sizes))
    grads = list(mlp_layers(grad, sizes))
    z_bar = y_bar
    for index in range(len(layers) - 1, -1, -1):
        grads[index][0][...] = z_bar.T @ acts[index]
        grads[index][1][...] = z_bar.sum(axis=0)
        a_bar = z_bar @ layers[index][0]
        z_bar = a_bar * (1.0 - acts[index] ** 2) if index else a_bar
    return grad, z_bar


def mlp_jvp_backward(
    params: Array, sizes: Sequence[int], acts: list[Array], tans: list[Array], y_bar: Array, y_tan_bar: Array
) -> Array:
    """Reverse over JVP (eq. grad): the parameter gradient of <y_bar, N(x)> + <y_tan_bar, J_N(x) v>, v held fixed."""
    grad = np.zeros(mlp_count(sizes), dtype=np.result_type(y_bar, y_tan_bar, acts[-1]))
    layers = list(mlp_layers(params, sizes))
    grads = list(mlp_layers(grad, sizes))
    z_bar, s_bar = y_bar, y_tan_bar  # cotangents of the pre-activation z and of its tangent
    for index in range(len(layers) - 1, -1, -1):
        grads[index][0][...] = z_bar.T @ acts[index] + s_bar.T @ tans[index]
        grads[index][1][...] = z_bar.sum(axis=0)
        if index == 0:
            break
        act, slope = acts[index], 1.0 - acts[index] ** 2
        s_tan = tans[index - 1] @ layers[index - 1][0].T  # pre-activation tangent, as in mlp_jvp
        t_bar = s_bar @ layers[index][0]
        z_bar = (z_bar @ layers[index][0]) * slope - 2.0 * act * slope * s_tan * t_bar
        s_bar = t_bar * slope
    return grad
