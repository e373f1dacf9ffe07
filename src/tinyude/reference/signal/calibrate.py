"""The first stretch of the stream: noise, scales and the time scale of the windows (paper eqs. dt_opt, snrgate)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.reference.config import Config
from tinyude.reference.signal.angle import turn_window
from tinyude.reference.signal.gates import Gates, gates_median, gates_noise
from tinyude.reference.signal.noise import Noise, noise_ready, noise_sigma
from tinyude.reference.signal.ring import Ring, ring_row, ring_window
from tinyude.reference.signal.window import Window, window_centre, window_fit, window_make

Array = NDArray[Any]
SMALLEST = 5  # half width in samples of the shortest dense window
NEARLY_ALL = 0.95  # of the windows must pass, relative to the best candidate;
MOST = 0.85  # this many where a rate is not measured: second derivatives gain more from longer windows

SHORT = 2  # the candidate, short enough for any motion, whose misfit tells how far the noise scatters
HEARD = 16  # windows that tell the level roughly: the log of the upper decile of misfit over noise; 0.4 if white
UNEVEN, MOTION = 0.8, 3.5  # levels above which noise is uneven (it grows with speed, say), and beyond which it is none


@dataclass
class Scales:
    x: Array  # RMS of each state
    dx: Array  # s1
    ddx: Array  # s2
    u: Array  # RMS of each input


@dataclass
class Calibration:
    windows: list[Window]  # candidates, shortest first
    tried: NDArray[np.int64]
    passed: NDArray[np.int64]
    squares: Array  # (candidates, 3, states) sums of squares of x, dx, ddx over passed windows
    input_squares: Array  # sums over all tried windows' newest samples
    excess: float = 0.0  # mean log of misfit over noise, shortest candidate
    level: float = 0.0  # upper decile of that log of the SHORT candidate, found step by step
    heard: int = 0  # windows that it was found from
    turn: int = 0


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
            jets[derivative, state] = window_centre(window, coefficients[:, channel], order + derivative)
    return jets[0], jets[1], jets[2]


def calibrate_window(cal: Calibration, config: Config, ring: Ring, noise: Noise, gates: Gates, clean: int) -> None:
    """Try one candidate on the newest samples, the candidates in turn; `clean` ticks back nothing is bad."""
    index = cal.turn % len(cal.windows)
    cal.turn += 1
    window = cal.windows[index]
    if min(ring.pushed, clean) <= 2 * window.reach:
        return
    samples = ring_window(ring, window.half, window.spacing)[:, : config.channels]
    coefficients, misfit, segments = window_fit(window, samples)
    sigma = noise_sigma(noise)
    if config.dense:
        refused = gates_noise(window, misfit, segments, sigma * calibrate_scatter(cal), noise.step) is not None
        excess = float(np.log(np.clip((misfit / (sigma**2 * window.freedom)).max(), 1e-3, 1e30)))
        if index == 0:
            cal.excess += (excess - cal.excess) / (cal.tried[0] + 1)
        if index == SHORT and noise_ready(noise):
            _learn_level(cal, excess)
    else:
        refused = config.gated and gates_median(gates, window, misfit, samples, sigma) is not None
    cal.input_squares += ring_row(ring, 0)[config.channels :] ** 2
    cal.tried[index] += 1
    if not refused:
        cal.passed[index] += 1
        cal.squares[index] += np.square(window_jets(config, window, turn_window(coefficients, config.circular)))


def _learn_level(cal: Calibration, excess: float) -> None:
    """One step of the decile; once it is roughly known, what was judged without it is forgotten."""
    cal.level += (0.9 if excess > cal.level else -0.1) * 4.0 / (cal.heard + 4)
    cal.heard += 1
    if cal.heard == HEARD:
        cal.tried[:] = cal.passed[:] = 0
        cal.squares[:] = 0.0
        cal.input_squares[:] = 0.0


def calibrate_scatter(cal: Calibration) -> float:
    """A factor on sigma for noise that is uneven: what short windows scatter by must not count against long ones."""
    return float(np.exp(0.5 * cal.level)) if UNEVEN < cal.level < MOTION else 1.0


def calibrate_choose(cal: Calibration, config: Config) -> tuple[Window, float, int]:
    """The longest window that nearly always passes, a factor on sigma where the noise is not white, its number."""
    rates = cal.passed / np.maximum(cal.tried, 1)
    best = float(rates.max())
    wanted = (MOST if any(config.order) else NEARLY_ALL) * best
    index = int(np.flatnonzero(rates >= wanted)[-1]) if best > 0.0 else 0
    coloured = config.dense and best < 0.5 and cal.excess > 0.0
    return cal.windows[index], float(np.exp(0.5 * cal.excess)) if coloured else calibrate_scatter(cal), index


def calibrate_finish(cal: Calibration, config: Config, noise: Noise) -> tuple[Window, Scales, float, float]:
    """The window, the scales, the second-order weight, and a factor on sigma."""
    window, sigma_scale, index = calibrate_choose(cal, config)
    scales = _scales(cal, config, noise, index)
    if config.dense or not config.adaptive:
        return window, scales, config.second_order, sigma_scale
    window = window_make(config.taps, _tap_spacing(config, scales, noise), config.poly, config.sample_period)
    return (
        window,
        scales,
        config.second_order if calibrate_snr2(config, window, scales, noise) >= config.snr_gate else 0.0,
        1.0,
    )


def _scales(cal: Calibration, config: Config, noise: Noise, index: int) -> Scales:
    """Root mean squares with the noise's own share taken out, so that they do not grow with it."""
    window = cal.windows[index]
    mean = cal.squares[index] / max(int(cal.passed[index]), 1)
    sigma = noise_sigma(noise)
    rms = np.empty_like(mean)
    for state, (channel, order) in enumerate(zip(config.channel, config.order, strict=True)):
        for derivative in range(3):
            row = window.derivative_row(order + derivative) / window.seconds ** (order + derivative)
            own = sigma[channel] ** 2 * float(row @ row)
            rms[derivative, state] = np.sqrt(max(mean[derivative, state] - own, 0.05 * mean[derivative, state]))
    rms = np.where(rms > 0.0, rms, 1.0)
    inputs = np.sqrt(cal.input_squares / max(int(cal.tried.sum()), 1))
    return Scales(rms[0], rms[1], rms[2], np.where(inputs > 0.0, inputs, 1.0))


def _tap_spacing(config: Config, scales: Scales, noise: Noise) -> int:
    """The paper's rule (eq. dt_opt), kept within the ring."""
    sigma = noise_sigma(noise)
    relative = float(np.mean([sigma[c] / scales.x[i] for i, c in enumerate(config.channel)]))
    pace = float(np.sqrt((scales.ddx**2).sum() / (scales.dx**2).sum()))
    seconds = 0.09 / pace * (relative / 0.01) ** 0.2
    return int(np.clip(round(seconds / config.sample_period), 1, config.max_half // config.taps))


def calibrate_snr2(config: Config, window: Window, scales: Scales, noise: Noise) -> float:
    """Signal-to-noise ratio of the second derivative, the worst channel (eq. snr2_def)."""
    sigma = noise_sigma(noise)
    row = np.sqrt(np.sum(window.derivative_row(2) ** 2)) / window.seconds**2
    return float(min(scales.ddx[i] / (row * sigma[c]) for i, c in enumerate(config.channel)))
