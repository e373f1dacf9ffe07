from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from tinyude.reference.config import Config
from tinyude.reference.paper.median_gate import median_gate_init
from tinyude.reference.signal.calibrate import (
    Calibration,
    calibrate_finish,
    calibrate_init,
    calibrate_window,
    window_jets,
)
from tinyude.reference.signal.noise import Noise, noise_init, noise_sigma, noise_update
from tinyude.reference.signal.ring import ring_init, ring_push
from tinyude.reference.signal.setup import Setup
from tinyude.reference.signal.window import window_fit, window_make
from tinyude.systems.system import System

PERIOD = 1e-3
DENSE = Config(channels=2, channel=(0, 1), order=(0, 0), sample_period=PERIOD)
PAPER = replace(DENSE, dense=False, repair=False, max_half=250, second_order=0.1)


def calibrated(config: Config, samples: np.ndarray) -> tuple[Calibration, Noise, Setup]:
    cal, noise, gates = calibrate_init(config), noise_init(config.channels), median_gate_init(config.channels)
    ring = ring_init(config.span, samples.shape[1])
    for tick, row in enumerate(samples, start=1):
        ring_push(ring, row)
        noise_update(noise, ring)
        if tick % config.stride == 0:
            calibrate_window(cal, config, ring, noise, gates, ring.pushed)
    return cal, noise, calibrate_finish(cal, config, noise)


def ten_seconds(pendulum: System, level: float, seed: int = 0) -> np.ndarray:
    return pendulum.stream(level, seed)[1][:10_000]


@cache
def paper_setup(pendulum: System, level: float, snr_gate: float = PAPER.snr_gate) -> Setup:
    """What the paper's calibration finds at a noise level; finishing again under another gate costs nothing."""
    cal, noise = paper_stretch(pendulum, level)
    return calibrate_finish(cal, replace(PAPER, snr_gate=snr_gate), noise)


@cache
def paper_stretch(pendulum: System, level: float) -> tuple[Calibration, Noise]:
    return calibrated(PAPER, ten_seconds(pendulum, level))[:2]


@pytest.mark.parametrize("level", [0.01, 0.05])
def test_calibrate_finish_spacing_follows_the_papers_rule(pendulum: System, level: float) -> None:
    """Eq. dt_opt with the true scales of the stretch; without the noise taken out, 5 % would choose a third of it."""
    _, clean = pendulum.clean(seed=0)
    stretch = clean[:10_000]
    rates = pendulum.truth(stretch)
    smooth = np.abs(np.diff(stretch[:, 1])) < 1.0  # not across a kick
    bends = (np.diff(rates, axis=0) / PERIOD)[smooth]
    pace = np.sqrt((bends**2).mean(axis=0).sum() / (rates**2).mean(axis=0).sum())
    relative = np.mean(level * np.sqrt((clean**2).mean(axis=0) / (stretch**2).mean(axis=0)))
    expected = 0.09 / pace * (relative / 0.01) ** 0.2 / PERIOD
    setup = paper_setup(pendulum, level)
    assert setup.window.spacing == pytest.approx(expected, rel=0.2)
    assert setup.second_order == 0.0 and setup.snr2 < PAPER.snr_gate
    if level == 0.01:
        assert 26 <= setup.window.spacing <= 39  # the paper's board and the paper's simulation


@pytest.mark.parametrize(("level", "on"), [(0.0, True), (0.01, False), (0.05, False)])
def test_calibrate_finish_switches_the_second_order_on_by_its_signal_to_noise(
    pendulum: System, level: float, on: bool
) -> None:
    """The paper's board had it off at 1 % (SNR2 of 2.5 to 2.7 against a gate of 12); without noise nothing hides it."""
    assert paper_setup(pendulum, level).second_order == (PAPER.second_order if on else 0.0)
    assert paper_setup(pendulum, level, snr_gate=0.0).second_order == PAPER.second_order


def test_calibrate_finish_keeps_the_spacing_when_not_adaptive(pendulum: System) -> None:
    fixed = replace(PAPER, adaptive=False, gated=False, snr_gate=0.0, spacing=40)
    _, _, setup = calibrated(fixed, ten_seconds(pendulum, 0.01)[:3000])
    assert (setup.window.half, setup.window.spacing, setup.second_order) == (5, 40, 0.1)


def test_calibrate_finish_scales_do_not_grow_with_the_noise(pendulum: System) -> None:
    scales = [paper_setup(pendulum, level).scales for level in (0.01, 0.05)]
    np.testing.assert_allclose(scales[1].x, scales[0].x, rtol=0.1)
    np.testing.assert_allclose(scales[1].dx, scales[0].dx, rtol=0.1)
    assert np.all(scales[1].ddx < 1.5 * scales[0].ddx)


def test_calibrate_finish_scales_are_the_root_mean_squares_of_the_motion() -> None:
    t = np.arange(8000) * PERIOD
    motion = np.stack([np.sin(5.0 * t), 5.0 * np.cos(5.0 * t)], axis=1)
    noisy = motion + 1e-3 * np.random.default_rng(0).standard_normal(motion.shape)
    _, _, setup = calibrated(DENSE, noisy)
    scales = setup.scales
    np.testing.assert_allclose(scales.x * np.sqrt(2.0), [1.0, 5.0], rtol=0.03)
    np.testing.assert_allclose(scales.dx * np.sqrt(2.0), [5.0, 25.0], rtol=0.05)
    np.testing.assert_allclose(scales.ddx * np.sqrt(2.0), [25.0, 125.0], rtol=0.1)
    assert setup.sigma_scale == 1.0


@pytest.mark.parametrize("pace", [3.0, 12.0])
def test_calibrate_finish_takes_the_longest_window_that_still_fits(pace: float) -> None:
    t = np.arange(10_000) * PERIOD
    motion = np.stack([np.sin(pace * t), pace * np.cos(pace * t)], axis=1)
    noisy = motion + [1e-3, 1e-3 * pace] * np.random.default_rng(0).standard_normal(motion.shape)
    cal, _, setup = calibrated(DENSE, noisy)
    window = setup.window
    rates = cal.passed / np.maximum(cal.tried, 1)
    longer = [r for r, w in zip(rates, cal.windows, strict=True) if w.half > window.half]
    assert all(r < 0.95 * rates.max() for r in longer)
    assert 0.3 < pace * window.seconds < 1.2  # the window follows the pace of the motion


def test_calibrate_init_candidates_fill_the_ring_and_no_more() -> None:
    halves = [window.half for window in calibrate_init(DENSE).windows]
    assert halves[0] == 5 and halves[-1] <= DENSE.max_half < halves[-1] * np.sqrt(2.0) + 1.0
    assert np.all(np.diff(halves) > 0)


def test_calibrate_window_leaves_bad_samples_out() -> None:
    cal, noise, gates = calibrate_init(DENSE), noise_init(2), median_gate_init(2)
    ring = ring_init(DENSE.span, 2)
    for row in np.random.default_rng(0).standard_normal((600, 2)):
        ring_push(ring, row)
        noise_update(noise, ring)
    calibrate_window(cal, DENSE, ring, noise, gates, clean=10)
    assert cal.tried.sum() == 0
    cal.next = 0
    calibrate_window(cal, DENSE, ring, noise, gates, clean=11)
    assert cal.tried[0] == 1


def test_calibrate_finish_raises_sigma_where_the_noise_is_not_white() -> None:
    """A filtered sensor hides its noise from neighbouring samples; without help no window would pass."""
    rng = np.random.default_rng(4)
    walk = np.cumsum(rng.standard_normal((6000, 2)), axis=0)
    motion = np.sin(4.0 * np.arange(6000) * PERIOD)[:, None] + 0.002 * walk
    _, noise, setup = calibrated(DENSE, motion)
    assert setup.sigma_scale > 1.0
    assert np.all(noise_sigma(noise) > 0.0)


@pytest.mark.parametrize("seed", range(4))
def test_calibrate_finish_takes_a_short_white_record_for_what_it_is(seed: int) -> None:
    """The first windows come before the noise is known; they must not count."""
    t = np.arange(2000) * PERIOD
    noise = 0.01 * np.random.default_rng(seed).standard_normal((2000, 2))
    _, _, setup = calibrated(DENSE, np.stack([np.sin(3.0 * t), 3.0 * np.cos(3.0 * t)], axis=1) + noise)
    assert setup.sigma_scale == 1.0


@pytest.mark.parametrize(("growth", "factors"), [(0.0, (1.0, 1.0)), (0.5, (1.2, 4.0))])
def test_calibrate_finish_keeps_its_window_where_noise_grows_with_speed(
    growth: float, factors: tuple[float, float]
) -> None:
    """As of an encoder with jitter; judged by its mean, the noise of fast stretches would reject every long window."""
    t = np.arange(8000) * PERIOD
    speed = np.abs(np.cos(2.0 * t)) ** 4
    noise = 2e-3 * (0.2 + growth * speed)[:, None] * np.random.default_rng(0).standard_normal((8000, 2))
    _, _, setup = calibrated(DENSE, np.stack([np.sin(2.0 * t), 2.0 * np.cos(2.0 * t)], axis=1) + noise)
    assert factors[0] <= setup.sigma_scale <= factors[1]
    assert setup.window.half >= 163


def test_calibrate_finish_without_any_window_is_finite() -> None:
    cal, noise = calibrate_init(DENSE), noise_init(2)
    setup = calibrate_finish(cal, DENSE, noise)
    assert setup.window.half == 5 and setup.sigma_scale == 1.0
    for values in (setup.scales.x, setup.scales.dx, setup.scales.ddx):
        np.testing.assert_array_equal(values, 1.0)


def test_window_jets_read_rates_from_the_channel_they_derive_from() -> None:
    config = Config(channels=1, channel=(0, 0), order=(0, 1), sample_period=PERIOD)
    window = window_make(50, 1, 4, PERIOD)
    t = np.arange(-50, 51) * PERIOD
    coefficients, _, _ = window_fit(window, (1.0 + 2.0 * t + 3.0 * t**2 + 4.0 * t**3)[:, None])
    x, dx, ddx = window_jets(config, window, coefficients)
    np.testing.assert_allclose(x, [1.0, 2.0], rtol=1e-9)
    np.testing.assert_allclose(dx, [2.0, 6.0], rtol=1e-8)
    np.testing.assert_allclose(ddx, [6.0, 24.0], rtol=1e-6)


def test_calibrate_finish_scales_inputs_by_their_root_mean_square() -> None:
    config = replace(DENSE, inputs=1)
    t = np.arange(4000) * PERIOD
    samples = np.stack([np.sin(5.0 * t), 5.0 * np.cos(5.0 * t), 7.0 * np.sign(np.sin(40.0 * t) + 1e-9)], axis=1)
    samples[:, :2] += 1e-3 * np.random.default_rng(0).standard_normal((4000, 2))
    _, _, setup = calibrated(config, samples)
    assert setup.scales.u == pytest.approx([7.0])
