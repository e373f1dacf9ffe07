"""The paper's windows of eleven spaced taps: their spacing from the stream's time scale and noise (eq. dt_opt), and
whether the second derivative is far enough above its noise for the second-order term (eqs. snr2_def, snrgate).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tinyude.reference.config import Config
from tinyude.reference.signal.noise import Noise, noise_sigma
from tinyude.reference.signal.setup import Scales, Setup
from tinyude.reference.signal.window import window_derivative_gain, window_make


def taps_finish(config: Config, noise: Noise, setup: Setup) -> Setup:
    """Complete a calibration whose window and scales are known. With dense windows it only sets snr2."""
    adaptive = not config.dense and config.adaptive
    if adaptive:
        spacing = taps_spacing(config, setup.scales, noise)
        setup = replace(setup, window=window_make(config.taps, spacing, config.poly, config.sample_period))
    snr2 = _snr2(config, setup, noise)
    second_order = 0.0 if adaptive and not snr2 >= config.snr_gate else config.second_order
    return replace(setup, snr2=snr2, second_order=second_order)


def taps_spacing(config: Config, scales: Scales, noise: Noise) -> int:
    """Ticks between taps, limited by the ring."""
    sigma = noise_sigma(noise)
    relative = float(np.mean([sigma[c] / scales.x[i] for i, c in enumerate(config.channel)]))
    pace = float(np.sqrt((scales.ddx**2).sum() / (scales.dx**2).sum()))
    seconds = 0.09 / pace * (relative / 0.01) ** 0.2
    return int(np.clip(round(seconds / config.sample_period), 1, config.max_half // config.taps))


def _snr2(config: Config, setup: Setup, noise: Noise) -> float:
    """Signal-to-noise ratio of the second derivative, the worst channel (eq. snr2_def)."""
    sigma = noise_sigma(noise)
    row = np.sqrt(window_derivative_gain(setup.window, 2))
    return float(min(setup.scales.ddx[i] / (row * sigma[c]) for i, c in enumerate(config.channel)))
