"""Calibration at the start of the stream: noise, scales and window length (paper eqs. dt_opt, snrgate)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.reference.config import Config
from tinyude.reference.paper.median_gate import MedianGate, median_gate_accept
from tinyude.reference.paper.taps import taps_finish
from tinyude.reference.signal.angle import angle_wrap_window
from tinyude.reference.signal.gates import gates_accept
from tinyude.reference.signal.noise import Noise, noise_ready, noise_sigma, noise_step
from tinyude.reference.signal.ring import Ring, ring_row, ring_window
from tinyude.reference.signal.setup import Scales, Setup
from tinyude.reference.signal.window import (
    Window,
    window_at,
    window_derivative_gain,
    window_fit,
    window_make,
)

Array = NDArray[Any]
SMALLEST = 5  # half width in samples of the shortest dense window
NEARLY_ALL = 0.95  # of the windows must pass, relative to the best candidate;
MOST = 0.85  # this share where a rate is not measured: second derivatives gain more from longer windows

LEAST_SHARE = 0.05  # of a mean square counts as signal for any noise
SHORT = 2  # candidate short enough for any motion; its misfit measures the noise's scatter
LEVEL_WINDOWS = 16  # windows for a rough level: the log of the upper decile of misfit over noise; 0.4 if white
UNEVEN, MOTION = 0.8, 3.5  # levels above which noise is uneven (say, grows with speed); above which it is motion
MOST_NOISE = 0.5  # sigma over a state's RMS beyond which there is no signal to calibrate on
WATCHED = 800  # windows counted together
REJECTED = 600  # rejected ones among them that cause a recalibration


@dataclass
class Calibration:
    windows: list[Window]  # candidates, shortest first
    tried: NDArray[np.int64]
    passed: NDArray[np.int64]
    squares: Array  # (candidates, 3, states) sums of squares of x, dx, ddx over passed windows
    input_squares: Array  # sums over all tried windows' newest samples
    excess: float = 0.0  # mean log of misfit over noise, shortest candidate
    level: float = 0.0  # upper decile of that log for the SHORT candidate, a running estimate
    level_windows: int = 0  # windows in that estimate
    next: int = 0  # candidate tried next
    watched: int = 0  # windows since the last check of the rejected share
    rejected: int = 0  # those with a misfit or a jump
    quiet: int = 0  # those with far less misfit than expected


def calibrate_init(config: Config) -> Calibration:
    if config.dense:
        halves = [SMALLEST]
        while (longer := int(halves[-1] * np.sqrt(2.0) + 0.5)) <= config.max_half:
            halves.append(longer)
        windows = [window_make(half, 1, config.poly, config.sample_period) for half in halves]
    else:
        windows = [window_make(config.taps, config.spacing, config.poly, config.sample_period)]
    count = len(windows)
    zeros = np.zeros(count, dtype=np.int64)
    return Calibration(windows, zeros, zeros.copy(), np.zeros((count, 3, config.states)), np.zeros(config.inputs))


def window_jets(config: Config, window: Window, coefficients: Array) -> tuple[Array, Array, Array]:
    """x_hat, dx_hat, ddx_hat of every state at the window's centre (eqs. x_hat to ddx_hat)."""
    jets = np.empty((3, config.states))
    for state, (channel, order) in enumerate(zip(config.channel, config.order, strict=True)):
        for derivative in range(3):
            jets[derivative, state] = window_at(window, coefficients[:, channel], 0.0, order + derivative)
    return jets[0], jets[1], jets[2]


def calibrate_window(cal: Calibration, config: Config, ring: Ring, noise: Noise, gate: MedianGate, clean: int) -> None:
    """Try one candidate on the newest samples, a different one at each call; the newest `clean` samples are all
    valid.
    """
    index = cal.next
    cal.next = (index + 1) % len(cal.windows)
    window = cal.windows[index]
    if min(ring.pushed, clean) <= 2 * window.reach:
        return
    samples = ring_window(ring, window.half, window.spacing)[:, : config.channels]
    coefficients, misfit, segments = window_fit(window, samples)
    sigma = noise_sigma(noise)
    if config.dense:
        rejected = gates_accept(window, misfit, segments, sigma * calibrate_scatter(cal), noise_step(noise)) is not None
        excess = float(np.log(np.clip((misfit / (sigma**2 * window.freedom)).max(), 1e-3, 1e30)))
        if index == 0:
            cal.excess += (excess - cal.excess) / (cal.tried[0] + 1)
        if index == SHORT and noise_ready(noise):
            _learn_level(cal, excess)
    else:
        rejected = config.gated and median_gate_accept(gate, window, misfit, samples, sigma) is not None
    cal.input_squares += ring_row(ring, 0)[config.channels :] ** 2
    cal.tried[index] += 1
    if not rejected:
        cal.passed[index] += 1
        cal.squares[index] += np.square(window_jets(config, window, angle_wrap_window(coefficients, config.wrap)))


def _learn_level(cal: Calibration, excess: float) -> None:
    """One update of the decile estimate. Counts made before it is roughly known are cleared."""
    cal.level += (0.9 if excess > cal.level else -0.1) * 4.0 / (cal.level_windows + 4)
    cal.level_windows += 1
    if cal.level_windows == LEVEL_WINDOWS:
        cal.tried[:] = cal.passed[:] = 0
        cal.squares[:] = 0.0
        cal.input_squares[:] = 0.0


def calibrate_scatter(cal: Calibration) -> float:
    """A factor on sigma for uneven noise: scatter that short windows show must not reject long ones."""
    return float(np.exp(0.5 * cal.level)) if UNEVEN < cal.level < MOTION else 1.0


def calibrate_choose(cal: Calibration, config: Config) -> tuple[Window, float, int]:
    """The longest window that nearly always passes, a factor on sigma if the noise is not white, its index."""
    rates = cal.passed / np.maximum(cal.tried, 1)
    best = float(rates.max())
    wanted = (MOST if any(config.order) else NEARLY_ALL) * best
    index = int(np.flatnonzero(rates >= wanted)[-1]) if best > 0.0 else 0
    coloured = config.dense and best < 0.5 and cal.excess > 0.0
    return cal.windows[index], float(np.exp(0.5 * cal.excess)) if coloured else calibrate_scatter(cal), index


def calibrate_finish(cal: Calibration, config: Config, noise: Noise) -> Setup:
    """Window, factor on sigma and scales."""
    window, sigma_scale, index = calibrate_choose(cal, config)
    return taps_finish(config, noise, Setup(window, _scales(cal, config, noise, index), sigma_scale))


def calibrate_watch(cal: Calibration, reason: str | None, quiet: bool) -> bool:
    """Count the outcome of a window. True: the stream needs a different window.

    Most windows were rejected for some time (faster motion, or a worse sensor), or most were `quiet`, with far less
    misfit than the noise explains. A recalibration keeps the scales, because the model is in units of them.
    """
    cal.watched += 1
    cal.rejected += reason in ("misfit", "jump")
    cal.quiet += quiet
    if cal.watched < WATCHED:
        return False
    wrong = cal.rejected > REJECTED or cal.quiet > REJECTED
    cal.watched = cal.rejected = cal.quiet = 0
    return wrong


def calibrate_signal(cal: Calibration, config: Config, noise: Noise, scales: Scales) -> bool:
    """Whether the motion measured by the scales exceeds the noise.

    In every channel of a sensed state, and in the derivative of every state from the longest window.
    """
    signal, longest = True, cal.windows[-1]
    for state, (channel, order) in enumerate(zip(config.channel, config.order, strict=True)):
        sigma = noise_sigma(noise)[channel]
        noisy = sigma**2 * window_derivative_gain(longest, order + 1) >= scales.dx[state] ** 2
        signal &= (order > 0 or sigma < MOST_NOISE * scales.x[state]) and not (config.dense and noisy)
    return signal


def _scales(cal: Calibration, config: Config, noise: Noise, index: int) -> Scales:
    """Root mean squares with the noise's contribution subtracted."""
    window = cal.windows[index]
    mean = cal.squares[index] / max(int(cal.passed[index]), 1)
    sigma = noise_sigma(noise)
    rms = np.empty_like(mean)
    for state, (channel, order) in enumerate(zip(config.channel, config.order, strict=True)):
        for derivative in range(3):
            own = sigma[channel] ** 2 * window_derivative_gain(window, order + derivative)
            rms[derivative, state] = np.sqrt(max(mean[derivative, state] - own, LEAST_SHARE * mean[derivative, state]))
    rms = np.where(rms > 0.0, rms, 1.0)
    inputs = np.sqrt(cal.input_squares / max(int(cal.tried.sum()), 1))
    return Scales(rms[0], rms[1], rms[2], np.where(inputs > 0.0, inputs, 1.0))
