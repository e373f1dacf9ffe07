"""Acceptance test of a window: its residuals against the sensor noise. Every rejection has a reason."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.reference.signal.window import SEGMENTS, Window

Array = NDArray[Any]
REASONS = ("gap", "nonfinite", "stuck", "misfit", "jump", "inconsistent", "still", "outside")
CHI = 4.0  # standard deviations of the misfit
JUMP = 24.0 + SEGMENTS  # squared segment sums in units of the noise: about five sigma on any one step
STUCK_RUN = 16  # identical samples in a row although the noise should have changed them


def gates_accept(window: Window, misfit: Array, segments: Array, sigma: Array, step: Array) -> str | None:
    """Residuals against the noise: total (chi-square) and sums over segments, which detect a step or a kink."""
    most_misfit, most_segments = gates_limits(window, sigma, step)
    if np.any(misfit > most_misfit):
        return "misfit"
    return "jump" if np.any(segments > most_segments) else None


def gates_still(window: Window, coefficients: Array, sigma: Array) -> bool:
    """Whether every channel's polynomial (poly + 1, channels) minus its mean is noise only."""
    limit = window.poly + CHI * np.sqrt(2.0 * window.poly)
    weight = (2 * window.half + 1) / (2.0 * np.arange(1, window.poly + 1) + 1.0)
    return bool(np.all(weight @ coefficients[1:] ** 2 <= limit * sigma**2))


def gates_limits(window: Window, sigma: Array, step: Array) -> tuple[Array, Array]:
    """Limits of misfit and segment sums of each channel.

    Quantisation error hardly changes from sample to sample, so where quantisation is the noise, the limit on segment
    sums is wider.
    """
    variance = sigma**2
    coarse = np.where(np.isfinite(step) & (step > 2.0 * sigma), step**2 / 6.0, 0.0)
    misfit = variance * window.freedom * gates_spread(window) ** 2
    return misfit, JUMP * variance + (2 * window.half + 1) * coarse


def gates_spread(window: Window) -> float:
    """Limit of the root of a chi-square misfit, as a factor on the noise."""
    return 1.0 + CHI / float(np.sqrt(2.0 * window.freedom))
