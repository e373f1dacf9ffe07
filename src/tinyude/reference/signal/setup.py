"""Result of a calibration: window, scales, noise factor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from tinyude.reference.signal.window import Window

Array = NDArray[Any]


@dataclass
class Scales:
    x: Array  # RMS of each state
    dx: Array  # s1
    ddx: Array  # s2
    u: Array  # RMS of each input


@dataclass
class Setup:
    window: Window
    scales: Scales
    sigma_scale: float = 1.0  # a factor on sigma where the noise is not white
    second_order: float = 0.0  # weight of the second-order term
    snr2: float = 0.0  # signal-to-noise ratio of the second derivative, the worst channel
