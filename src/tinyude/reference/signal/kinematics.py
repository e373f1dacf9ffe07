"""Angle/rate fusion: where an angle and its rate are both sensed, theta' = omega holds exactly, and each sensor
corrects the other's weakness. Two steps:

Shape. The rate's polynomial, integrated, is a second estimate of the angle's polynomial except its mean. With L_j
integrated to (L_{j+1} - L_{j-1}) / (2 j + 1), coefficient k of the integral is
T (w_{k-1} / (2 k - 1) - w_{k+1} / (2 k + 3)) for a half width of T seconds. The weights follow from the noise variance
of coefficient k of a fit, (2 k + 1) sigma^2 / samples.

Mean. A complementary filter propagates the angle by the rate, beyond the window:

    theta <- theta + omega dt,  theta <- theta + gain (sensed - theta),  gain = sigma_omega dt / sigma_theta

Its variance is gain * sigma_theta^2; that of a window's mean is sigma_theta^2 / samples. If the former is smaller, the
carried angle, moved back by T (w_0 + w_1 / 3) from the newest sample to the window's mean, replaces that mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.reference.config import Config
from tinyude.reference.signal.window import Window

Array = NDArray[Any]
LONGEST = 4.0  # maximum memory in windows: limits the effect of a bias of the rate
BETTER = 0.5  # variance, relative to the window's mean, below which the carried angle is used
DISAGREE = 6.0  # standard errors between an angle's slope and its rate
SHARE = 0.1  # plus this share of the rate: the sensors contradict each other
DIVERGED = 5.0  # standard errors from the window's mean at which it is dropped


@dataclass
class Kinematics:
    angle: Array  # (channels,) at the newest sample
    count: Array  # (channels,) samples used for it; 0: none yet
    rate: Array  # (channels,) at that sample


def kinematics_init(channels: int) -> Kinematics:
    return Kinematics(np.zeros(channels), np.zeros(channels), np.zeros(channels))


def kinematics_push(kinematics: Kinematics, config: Config, window: Window, sigma: Array, rows: Array) -> None:
    """Take the newest samples (count, channels), which follow those of the last call."""
    for channel, rate in enumerate(config.rate_channel):
        if rate == 0:
            continue
        least = _least_gain(config, window, channel, sigma)
        for sensed, now in rows[:, [channel, rate - 1]]:
            if kinematics.count[channel] == 0:
                kinematics.angle[channel] = sensed
            else:
                kinematics.angle[channel] += 0.5 * config.sample_period * (now + kinematics.rate[channel])
            kinematics.rate[channel] = now
            kinematics.count[channel] += 1
            kinematics.angle[channel] += max(least, 1.0 / kinematics.count[channel]) * (
                sensed - kinematics.angle[channel]
            )


def kinematics_clear(kinematics: Kinematics) -> None:
    """Clear the carried angles: the next sample does not follow the last one, or the motion jumped."""
    kinematics.count[:] = 0


def kinematics_consistent(config: Config, window: Window, coefficients: Array, sigma: Array) -> bool:
    """Whether each sensed rate is the slope of its angle, within noise and a share of the rate."""
    samples = 2 * window.half + 1
    for channel, rate in enumerate(config.rate_channel):
        if rate == 0:
            continue
        curvature = coefficients[2, rate - 1] / 5.0 if window.poly > 1 else 0.0
        expected = window.seconds * (coefficients[0, rate - 1] - curvature)
        variance = 3.0 * sigma[channel] ** 2 + 1.2 * (window.seconds * sigma[rate - 1]) ** 2
        limit = DISAGREE * np.sqrt(variance / samples) + SHARE * abs(expected)
        if abs(coefficients[1, channel] - expected) > limit:
            return False
    return True


def kinematics_fuse(kinematics: Kinematics, config: Config, window: Window, coefficients: Array, sigma: Array) -> Array:
    """Coefficients (poly + 1, channels) of the newest window, fused."""
    fused = coefficients.copy()
    for channel, rate in enumerate(config.rate_channel):
        if rate:
            _fuse_shape(window, fused, channel, rate - 1, sigma)
    for channel, rate in enumerate(config.rate_channel):
        if rate and kinematics.count[channel]:
            _fuse_mean(kinematics, config, window, fused, channel, sigma)
    return fused


def _fuse_shape(window: Window, fused: Array, channel: int, rate: int, sigma: Array) -> None:
    """The angle's polynomial without its mean: its own coefficients and the integrated rate's, weighted by noise."""
    k = np.arange(1, window.poly + 1)
    w = np.append(fused[:, rate], 0.0)
    integral = window.seconds * (w[k - 1] / (2 * k - 1) - w[k + 1] / (2 * k + 3))
    own = sigma[channel] ** 2 * (2 * k + 1)
    above = np.where(k < window.poly, 1.0 / (2 * k + 3), 0.0)
    theirs = (sigma[rate] * window.seconds) ** 2 * (1.0 / (2 * k - 1) + above)
    fused[1:, channel] += own / (own + theirs) * (integral - fused[1:, channel])


def _fuse_mean(
    kinematics: Kinematics, config: Config, window: Window, fused: Array, channel: int, sigma: Array
) -> None:
    """The angle's mean: the carried angle if it is more precise than the window's own mean."""
    samples = 2 * window.half + 1
    if max(_least_gain(config, window, channel, sigma), 1.0 / kinematics.count[channel]) * samples > BETTER:
        return
    mean, slope = fused[:2, config.rate_channel[channel] - 1]
    carried = kinematics.angle[channel] - window.seconds * (mean + slope / 3.0)
    if abs(carried - fused[0, channel]) > DIVERGED * sigma[channel] / np.sqrt(samples):
        kinematics.count[channel] = 0
    else:
        fused[0, channel] = carried


def _least_gain(config: Config, window: Window, channel: int, sigma: Array) -> float:
    """The gain at which both noises balance, limited by the longest memory."""
    balance = sigma[config.rate_channel[channel] - 1] * config.sample_period / sigma[channel]
    return max(float(balance), 1.0 / (LONGEST * (2 * window.half + 1)))
