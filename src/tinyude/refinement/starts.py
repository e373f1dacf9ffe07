"""Where a stretch starts: a local polynomial inside the stretch itself, and how far it may be off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.refinement.stretches import Stretch

Array = NDArray[Any]
LENGTHS = (5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129)  # rows of the polynomial
ORDER = 3  # of polynomials over at least 7 rows; 2 over fewer


@dataclass(frozen=True)
class Sensing:
    """How states are seen.

    Attributes
    ----------
    channel, order : tuple of int
        For each state its channel and how often that is differentiated; channel -1: not seen at all.
    sigma : array (channels,)
        Standard deviation of the noise.
    spread : array (states,)
        Typical size of each state's motion.
    guess : mapping
        State number to (guess, spread), of states that no channel sees.
    """

    channel: tuple[int, ...]
    order: tuple[int, ...]
    sigma: Array
    spread: Array
    guess: Mapping[int, tuple[float, float]]

    @property
    def measured(self) -> tuple[int, ...]:
        """The state that each channel senses."""
        found = {c: s for s, (c, k) in enumerate(zip(self.channel, self.order, strict=True)) if k == 0 and c >= 0}
        return tuple(found[c] for c in range(len(self.sigma)))


def start_state(stretch: Stretch, sensing: Sensing) -> tuple[Array, Array]:
    """The state at the first row, and the variance of each entry."""
    count = len(sensing.channel)
    x, variance = np.zeros(count), np.zeros(count)
    fits = {c: _fit(stretch.times, stretch.samples[:, c], float(sensing.sigma[c])) for c in set(sensing.channel) - {-1}}
    for state, (channel, order) in enumerate(zip(sensing.channel, sensing.order, strict=True)):
        if channel < 0:
            x[state], spread = sensing.guess[state]
            variance[state] = spread**2
            continue
        coefficients, half, misfit = fits[channel]
        sigma = float(sensing.sigma[channel]) * max(1.0, misfit)
        factorial = float(np.prod(np.arange(1, order + 1)))
        x[state] = coefficients[order] * factorial if order < len(coefficients) else 0.0
        if order == 0:
            variance[state] = (2.0 * sigma) ** 2
        else:
            rate = 4.0 * factorial * sigma / half**order
            variance[state] = max(rate**2, (0.1 * sensing.spread[state]) ** 2)
    return x, variance


def _fit(times: Array, column: Array, sigma: float) -> tuple[Array, float, float]:
    """The longest polynomial at the beginning whose misfit is noise: coefficients, half width, misfit / sigma."""
    good = np.flatnonzero(np.isfinite(column[: LENGTHS[-1] * 2]))
    best: tuple[Array, float, float] | None = None
    for length in LENGTHS:
        rows = good[:length]
        if best is not None and len(rows) < length:
            break
        order = min(ORDER if len(rows) >= 7 else 2, max(len(rows) - 2, 0))
        if len(rows) == 0:
            return np.zeros(1), 1.0, 1e3
        t = times[rows] - times[0]
        reach = max(float(t[-1]), 1e-12)
        design = (t[:, None] / reach) ** np.arange(order + 1)
        found, *_ = np.linalg.lstsq(design, column[rows], rcond=None)
        freedom = max(len(rows) - order - 1, 1)
        misfit = float(np.sqrt(np.sum((column[rows] - design @ found) ** 2) / freedom) / sigma)
        if best is not None and misfit**2 > 1.0 + 4.0 / np.sqrt(2.0 * freedom):
            break
        best = found / reach ** np.arange(order + 1), 0.5 * reach, misfit
    assert best is not None
    return best


def with_starts(stretches: Sequence[Stretch], sensing: Sensing) -> list[Stretch]:
    """The stretches, each starting from its own first rows."""
    made = []
    for stretch in stretches:
        start, variance = start_state(stretch, sensing)
        made.append(replace(stretch, start=start, start_variance=variance))
    return made
