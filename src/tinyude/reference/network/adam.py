"""Gradient clipping, Adam (or plain gradient descent), the cosine schedule and the running average of the weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8
CLIP_NORM = 5.0


@dataclass
class Adam:
    first: NDArray[np.float64]
    second: NDArray[np.float64]
    power1: float = 1.0  # BETA1 ** steps
    power2: float = 1.0


def adam_init(count: int) -> Adam:
    return Adam(np.zeros(count), np.zeros(count))


def clip(grad: NDArray[np.float64], limit: float = CLIP_NORM) -> NDArray[np.float64]:
    """The gradient, its norm clipped to the limit."""
    norm = float(np.sqrt(np.sum(grad * grad)))
    return grad * (limit / norm) if norm > limit else grad


def adam_step(adam: Adam, params: NDArray[np.float64], grad: NDArray[np.float64], rate: float) -> None:
    adam.power1 *= BETA1
    adam.power2 *= BETA2
    adam.first += (1.0 - BETA1) * (grad - adam.first)
    adam.second += (1.0 - BETA2) * (grad * grad - adam.second)
    step = rate / (1.0 - adam.power1)
    unbias = 1.0 / (1.0 - adam.power2)
    params -= step * adam.first / (np.sqrt(adam.second * unbias) + EPSILON)


def sgd_step(params: NDArray[np.float64], grad: NDArray[np.float64], rate: float) -> None:
    """Plain gradient descent."""
    params -= rate * grad


def cosine_rate(step: int, steps: int, rate: float, floor: float) -> float:
    """Half a cosine from rate down to floor * rate over the given number of steps."""
    phase = min(step / steps, 1.0)
    return rate * (floor + (1.0 - floor) * 0.5 * (1.0 + float(np.cos(np.pi * phase))))


def ema_update(average: NDArray[np.float64], params: NDArray[np.float64], step: int, decay: float) -> None:
    """Polyak averaging. The decay grows with the number of steps, so that the random start is soon forgotten."""
    warm = min(decay, (1.0 + step) / (10.0 + step))
    average += (1.0 - warm) * (params - average)
