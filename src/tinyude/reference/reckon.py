"""Dead reckoning: an angle that is far noisier than its rate is carried on by the rate, beyond the window.

    theta <- theta + omega dt,  theta <- theta + gain (sensed - theta),  gain = sigma_omega dt / sigma_theta

balances the two noises and leaves the variance gain * sigma_theta^2, against sigma_theta^2 / samples of a window's
mean. Where that is less, the carried angle, taken back by the rate's polynomial T (w_0 + w_1 / 3) from the newest
sample to the mean over a window of half width T, takes the place of the window's own mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.reference.config import Config
from tinyude.reference.window import Window

Array = NDArray[Any]
LONGEST = 4.0  # windows that are remembered at most: neither a small bias of the rate nor an error may reach far
BETTER = 0.5  # variance, in units of a window's own, below which the carried angle is trusted
ASTRAY = 5.0  # standard errors from the window's own angle at which it is not, and starts anew


@dataclass
class Reckon:
    angle: Array  # (channels,) at the newest sample
    count: Array  # (channels,) samples that went into it; 0: none yet


def reckon_init(channels: int) -> Reckon:
    return Reckon(np.zeros(channels), np.zeros(channels))


def reckon_push(reckon: Reckon, config: Config, window: Window, sigma: Array, now: Array, before: Array) -> None:
    """One more sample, and the one before it."""
    for channel, rate in enumerate(config.rate_channel):
        if rate == 0:
            continue
        if reckon.count[channel] == 0:
            reckon.angle[channel] = now[channel]
        else:
            reckon.angle[channel] += 0.5 * (now[rate - 1] + before[rate - 1]) * config.sample_period
        reckon.count[channel] = min(reckon.count[channel] + 1, LONGEST * (2 * window.half + 1))
        gain = _gain(reckon, config, channel, sigma)
        reckon.angle[channel] += gain * (now[channel] - reckon.angle[channel])


def reckon_window(reckon: Reckon, config: Config, window: Window, coefficients: Array, sigma: Array) -> Array:
    """Coefficients (poly + 1, channels) of the newest window, with carried angles made use of."""
    moved = np.array(coefficients)
    samples = 2 * window.half + 1
    for channel, rate in enumerate(config.rate_channel):
        if rate == 0 or reckon.count[channel] == 0 or _gain(reckon, config, channel, sigma) * samples > BETTER:
            continue
        mean, slope = coefficients[:2, rate - 1]
        carried = reckon.angle[channel] - window.seconds * (mean + slope / 3.0)
        if abs(carried - moved[0, channel]) > ASTRAY * sigma[channel] / np.sqrt(samples):
            reckon.count[channel] = 0
        else:
            moved[0, channel] = carried
    return moved


def _gain(reckon: Reckon, config: Config, channel: int, sigma: Array) -> float:
    balance = sigma[config.rate_channel[channel] - 1] * config.sample_period / sigma[channel]
    return max(float(balance), 1.0 / float(reckon.count[channel]))
