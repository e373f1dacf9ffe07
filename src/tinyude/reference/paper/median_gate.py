"""The paper's acceptance test (eq. qgate): a window's misfit against the running median of recent windows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.reference.signal.gates import gates_spread
from tinyude.reference.signal.window import Window

Array = NDArray[Any]
RECENT = 63  # windows in the running median


@dataclass
class MedianGate:
    recent: Array  # misfit norms (RECENT, channels), oldest overwritten
    kept: int = 0  # norms in `recent` so far


def median_gate_init(channels: int) -> MedianGate:
    return MedianGate(np.zeros((RECENT, channels)))


def median_gate_accept(gate: MedianGate, window: Window, misfit: Array, samples: Array, sigma: Array) -> str | None:
    """The paper's gate (eq. qgate): misfit against the running median of recent windows. Reason, or None to accept.

    At 5 % noise, six medians of eleven residuals would accept a jump: the noise limit caps them.
    """
    norms = np.sqrt(misfit)
    gate.recent[gate.kept % RECENT] = norms
    gate.kept += 1
    held = np.sort(gate.recent[: min(gate.kept, RECENT)], axis=0)
    usual = np.minimum(6.0 * held[len(held) // 2], sigma * np.sqrt(window.freedom) * gates_spread(window))
    return "misfit" if np.any(norms > usual + 0.02 * np.sqrt((samples**2).mean(axis=0))) else None
