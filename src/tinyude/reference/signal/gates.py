"""Which windows may teach: every refusal has a reason and is counted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.reference.signal.window import SEGMENTS, Window

Array = NDArray[Any]
REASONS = ("gap", "nonfinite", "stuck", "misfit", "jump")
RECENT = 63  # windows in the running median
CHI = 4.0  # standard deviations of the misfit's own scatter
JUMP = 24.0 + SEGMENTS  # squared segment sums in units of the noise: about five sigma on any one step
STUCK_RUN = 16  # identical samples in a row where the noise should have moved them


@dataclass
class Gates:
    rejected: dict[str, int] = field(default_factory=lambda: dict.fromkeys(REASONS, 0))
    offered: int = 0
    recent: Array = field(
        default_factory=lambda: np.zeros((0, 0))
    )  # misfit norms (RECENT, channels), oldest overwritten
    kept: int = 0  # norms in `recent` so far


def gates_init(channels: int) -> Gates:
    return Gates(recent=np.zeros((RECENT, channels)))


def gates_median(gates: Gates, window: Window, misfit: Array, samples: Array, sigma: Array) -> str | None:
    """The paper's gate (eq. qgate): misfit against the running median of recent windows. Reason, or None to accept.

    Six medians of eleven residuals let a jump through at 5 % noise, so the noise's own limit caps them.
    """
    norms = np.sqrt(misfit)
    gates.recent[gates.kept % RECENT] = norms
    gates.kept += 1
    held = np.sort(gates.recent[: min(gates.kept, RECENT)], axis=0)
    usual = np.minimum(6.0 * held[len(held) // 2], sigma * np.sqrt(window.freedom) * _spread(window))
    return "misfit" if np.any(norms > usual + 0.02 * np.sqrt((samples**2).mean(axis=0))) else None


def gates_noise(window: Window, misfit: Array, segments: Array, sigma: Array, step: Array) -> str | None:
    """Residuals against the noise: total (chi-square) and sums over segments, which see a step or a kink."""
    most_misfit, most_segments = noise_limits(window, sigma, step)
    if np.any(misfit > most_misfit):
        return "misfit"
    return "jump" if np.any(segments > most_segments) else None


def noise_limits(window: Window, sigma: Array, step: Array) -> tuple[Array, Array]:
    """What misfit and segment sums of each channel may reach.

    Where the sensor's own steps are the noise, its error hardly changes from sample to sample, and segment sums
    are allowed what such an error adds up to.
    """
    variance = sigma**2
    coarse = np.where(np.isfinite(step) & (step > 2.0 * sigma), step**2 / 6.0, 0.0)
    misfit = variance * window.freedom * _spread(window) ** 2
    return misfit, JUMP * variance + (2 * window.half + 1) * coarse


def _spread(window: Window) -> float:
    """How far above the noise the root of a chi-square misfit may lie."""
    return 1.0 + CHI / float(np.sqrt(2.0 * window.freedom))
