"""RK4 shooting windows: their loss, and its exact gradient by the discrete adjoint.

Every array runs (step, stage, window, channel), and each operation works on all windows at once. The forward sweep
writes the tape; the reverse sweep walks it backwards through F = f_known + N with the Jacobian of the known physics
and the network's vector-Jacobian product. Complex input is accepted, so that complex step can check the gradient.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.physics import Physics
from tinyude.reference.network.mlp import mlp_layers

STAGES = 4
_SHARES = np.array([1.0, 2.0, 2.0, 1.0]) / 6.0  # of each stage's slope in a step
_REACH = np.array([0.5, 0.5, 1.0, 0.0])  # how far along its slope a stage places the next one, in steps

Array = NDArray[Any]
Layers = list[tuple[Array, Array]]  # (weight (in, out), bias (out,)) in physical units


@dataclass(frozen=True)
class Shooting:
    """All the loss depends on besides the network's parameters; K steps, W windows, n states, m inputs."""

    physics: Physics
    sizes: tuple[int, ...]  # layers: n + m, hidden ..., states the network acts on
    on: tuple[int, ...]  # those states
    in_scale: Array  # (n + m,)
    out_scale: Array  # (len(on),)
    period: float  # seconds a step
    observed: Array  # (K + 1, W, n); windows start from observed[0]
    inputs: Array  # (K, STAGES, W, m)
    error_scale: Array  # (n,)

    @property
    def steps(self) -> int:
        return len(self.observed) - 1

    @property
    def windows(self) -> int:
        return int(self.observed.shape[1])


@dataclass(frozen=True)
class Tape:
    """What the forward sweep leaves behind: for every stage its state (and input), hidden units and slope."""

    acts: list[Array]  # network input, then each hidden layer: (K, STAGES, W, width)
    slopes: Array  # F: (K, STAGES, W, n)

    @property
    def nbytes(self) -> int:
        return self.slopes.nbytes + sum(act.nbytes for act in self.acts)


def tape_init(shooting: Shooting, dtype: type = np.float64) -> Tape:
    """Empty tape. A 2-16-16-2 network keeps 2 + 16 + 16 + 2 numbers a stage: 5.9 MB for 40 steps of 128 windows."""
    rows = (shooting.steps, STAGES, shooting.windows)
    acts: list[Array] = [np.empty((*rows, width), dtype) for width in shooting.sizes[:-1]]
    return Tape(acts, np.empty((*rows, shooting.observed.shape[-1]), dtype))


def loss_gradient(params: Array, shooting: Shooting, tape: Tape) -> tuple[complex, Array]:
    """Squared error of the predicted states (channels scaled, summed; steps and windows averaged), and its gradient."""
    layers = scaled_layers(params, shooting)
    error = _errors(layers, shooting, tape)
    share = 1.0 / (shooting.steps * shooting.windows)
    x_bar = (2.0 * share) * error / shooting.error_scale
    return complex(share * (error * error).sum()), _reverse(params, layers, shooting, tape, x_bar)


def loss(params: Array, shooting: Shooting, tape: Tape) -> complex:
    """The forward sweep alone."""
    error = _errors(scaled_layers(params, shooting), shooting, tape)
    return complex((error * error).sum() / (shooting.steps * shooting.windows))


def scaled_layers(params: Array, shooting: Shooting) -> Layers:
    """The layers with the scales folded in, so that the network maps states to a full slope with no further work."""
    layers: Layers = [(weight.T.copy(), bias.copy()) for weight, bias in mlp_layers(params, shooting.sizes)]
    layers[0][0][...] /= shooting.in_scale[:, None]
    weight, bias = layers[-1]
    states, on = shooting.observed.shape[-1], list(shooting.on)
    wide = np.zeros((len(weight), states), weight.dtype), np.zeros(states, bias.dtype)
    wide[0][:, on] = weight * shooting.out_scale
    wide[1][on] = bias * shooting.out_scale
    layers[-1] = wide
    return layers


def multiply_accumulates(shooting: Shooting) -> int:
    """The network's, in one gradient: forward, cotangents of the units, gradients of the weights.

    The paper's 26.2 million is four forward passes' worth; here the tape spares the reverse sweep one of them.
    """
    weights = sum(n * m for n, m in zip(shooting.sizes[:-1], shooting.sizes[1:], strict=True))
    return 3 * weights * STAGES * shooting.steps * shooting.windows


def _errors(layers: Layers, shooting: Shooting, tape: Tape) -> Array:
    last = _forward(layers, shooting, tape)
    predicted = np.concatenate([tape.acts[0][1:, 0, :, : last.shape[-1]], last[None]])
    return (predicted - shooting.observed[1:]) / shooting.error_scale


def _forward(layers: Layers, shooting: Shooting, tape: Tape) -> Array:
    """Integrate every window, filling the tape; the states after the last step."""
    x: Array = shooting.observed[0]
    states = x.shape[-1]
    shares, reach = shooting.period * _SHARES, shooting.period * _REACH
    tape.acts[0][..., states:] = shooting.inputs
    for step in range(shooting.steps):
        slopes = tape.slopes[step]
        for stage in range(STAGES):
            acts = [act[step, stage] for act in tape.acts]
            x_stage = acts[0][:, :states]
            if stage:
                np.multiply(slopes[stage - 1], reach[stage - 1], out=x_stage)
                x_stage += x
            else:
                x_stage[...] = x
            _network_slope(layers, acts, slopes[stage])
            slopes[stage] += shooting.physics.field(*_split(shooting, acts[0]))
        x = x + (shares @ slopes.reshape(STAGES, -1)).reshape(x.shape)
    return x


def _network_slope(layers: Layers, acts: list[Array], slope: Array) -> None:
    for (weight, bias), act, z in zip(layers[:-1], acts[:-1], acts[1:], strict=True):
        np.matmul(act, weight, out=z)
        z += bias
        np.tanh(z, out=z)
    weight, bias = layers[-1]
    np.matmul(acts[-1], weight, out=slope)
    slope += bias


def _split(shooting: Shooting, x_and_u: Array) -> tuple[Array, Array | None]:
    states = shooting.observed.shape[-1]
    return x_and_u[..., :states], x_and_u[..., states:] if shooting.physics.n_inputs else None


def _reverse(params: Array, layers: Layers, shooting: Shooting, tape: Tape, error_bar: Array) -> Array:
    """Walk the tape backwards; error_bar (K, W, n) is the loss's own cotangent of each predicted state."""
    states = shooting.observed.shape[-1]
    shares, reach = shooting.period * _SHARES, shooting.period * _REACH
    back = [weight.T.copy() for weight, _ in layers]
    back[0] = np.ascontiguousarray(back[0][:, :states])  # inputs are given: no cotangent flows into them
    sums = [(np.zeros_like(weight), np.zeros_like(bias)) for weight, bias in layers]
    rows = (STAGES, shooting.windows)
    z_bars = [np.empty((*rows, len(bias)), tape.slopes.dtype) for _, bias in layers]  # of one step, reused
    x_bar = np.zeros_like(error_bar[0])
    for step in range(shooting.steps - 1, -1, -1):
        x_bar += error_bar[step]
        acts = [act[step] for act in tape.acts]
        tanh_slopes = [1.0 - act * act for act in acts[1:]]
        jacobian = shooting.physics.jacobian(*_split(shooting, acts[0]))
        stage_bar, stage_sum = np.zeros_like(x_bar), np.zeros_like(x_bar)
        for stage in range(STAGES - 1, -1, -1):
            slope_bar = z_bars[-1][stage]
            np.multiply(x_bar, shares[stage], out=slope_bar)
            slope_bar += reach[stage] * stage_bar  # of the stage it led to; the last led to none
            stage_bar = _field_vjp(back, [z[stage] for z in z_bars], [s[stage] for s in tanh_slopes], jacobian[stage])
            stage_sum += stage_bar
        x_bar += stage_sum
        _add_weight_gradients(sums, acts, z_bars)
    return _flat_gradient(params, sums, shooting)


def _field_vjp(back: list[Array], z_bars: list[Array], tanh_slopes: list[Array], jacobian: Array) -> Array:
    """J_F' of the slope's cotangent z_bars[-1], at one stage; leaves the hidden layers' cotangents in z_bars."""
    for index in range(len(back) - 1, 0, -1):
        np.matmul(z_bars[index], back[index], out=z_bars[index - 1])
        z_bars[index - 1] *= tanh_slopes[index - 1]
    x_bar: Array = z_bars[0] @ back[0] + np.einsum("wi,wij->wj", z_bars[-1], jacobian)
    return x_bar


def _add_weight_gradients(sums: Layers, acts: list[Array], z_bars: list[Array]) -> None:
    """One product a layer for the four stages of a step together."""
    count = z_bars[0].shape[0] * z_bars[0].shape[1]
    ones = np.ones(count)
    for (weight_sum, bias_sum), act, z_bar in zip(sums, acts, z_bars, strict=True):
        flat = z_bar.reshape(count, -1)
        weight_sum += act.reshape(count, -1).T @ flat
        bias_sum += ones @ flat


def _flat_gradient(params: Array, sums: Layers, shooting: Shooting) -> Array:
    """Undo scaled_layers: from gradients of the scaled layers to one of the flat parameter vector."""
    sums[0][0][...] /= shooting.in_scale[:, None]
    on = list(shooting.on)
    sums[-1] = sums[-1][0][:, on] * shooting.out_scale, sums[-1][1][on] * shooting.out_scale
    grad = np.empty(len(params), sums[0][0].dtype)
    for (weight, bias), (weight_sum, bias_sum) in zip(mlp_layers(grad, shooting.sizes), sums, strict=True):
        weight[...] = weight_sum.T
        bias[...] = bias_sum
    return grad
