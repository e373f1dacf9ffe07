"""The last samples of every channel and input, in fixed memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LIMIT = 1e15  # beyond it squares could not be summed in float32


def usable(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which numbers are valid: finite and within the limit."""
    return np.abs(values) < LIMIT


@dataclass
class Ring:
    values: NDArray[np.float64]  # (span, columns)
    pushed: int = 0  # samples since the last clear


def ring_init(span: int, columns: int) -> Ring:
    return Ring(np.zeros((span, columns)))


def ring_push(ring: Ring, row: NDArray[np.float64]) -> None:
    ring.values[ring.pushed % len(ring.values)] = row
    ring.pushed += 1


def ring_clear(ring: Ring) -> None:
    ring.pushed = 0


def ring_row(ring: Ring, back: int) -> NDArray[np.float64]:
    """The sample pushed `back` ticks ago (0: the newest), as a view."""
    return ring.values[(ring.pushed - 1 - back) % len(ring.values)]


def ring_window(ring: Ring, half: int, spacing: int) -> NDArray[np.float64]:
    """2 * half + 1 samples, `spacing` ticks apart, oldest first, the last one the newest."""
    back = np.arange(2 * half, -1, -1) * spacing
    return ring.values[(ring.pushed - 1 - back) % len(ring.values)]
