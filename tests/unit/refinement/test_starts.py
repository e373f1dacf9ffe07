"""Where stretches start."""

import numpy as np
import pytest

from tinyude.refinement.starts import LENGTHS, MeasurementModel, Sensors, with_starts
from tinyude.refinement.stretches import Stretch

MEASUREMENT = MeasurementModel(Sensors((0, 1, 0), (0, 0, 1)), np.array([1e-3, 1e-3]), np.ones(3))


def stretch_of(times: np.ndarray, samples: np.ndarray) -> Stretch:
    return Stretch(times, samples, np.zeros((len(times), 0, 4)), np.zeros(3), np.zeros(3))


def test_with_starts_follows_each_stretch_by_itself() -> None:
    """Stretches of any length, with holes and uneven times, are fitted together and start as they would alone."""
    rng = np.random.default_rng(3)
    stretches = []
    for rows in (1, 3, 5, 8, 60, 400):
        times = 2.0 + np.cumsum(rng.uniform(0.005, 0.015, rows))
        samples = np.stack([np.sin(3.0 * times), np.cos(9.0 * times)], axis=1)
        samples += 1e-3 * rng.standard_normal(samples.shape)
        samples[rows // 3 : rows // 2, 1] = np.nan
        stretches.append(stretch_of(times, samples))
    for together, own in zip(with_starts(stretches, MEASUREMENT), stretches, strict=True):
        alone = with_starts([own], MEASUREMENT)[0]
        assert together.start == pytest.approx(alone.start, rel=1e-12, abs=1e-12)
        assert together.start_variance == pytest.approx(alone.start_variance, rel=1e-12)
    long = with_starts(stretches, MEASUREMENT)[-1]
    first = long.times[0]
    truth = np.array([np.sin(3.0 * first), np.cos(9.0 * first), 3.0 * np.cos(3.0 * first)])
    assert np.all(np.abs(long.start - truth) < 4.0 * np.sqrt(long.start_variance))


def test_with_starts_takes_the_longest_polynomial_that_noise_explains() -> None:
    times = 0.01 * np.arange(400)
    bent = np.where(times < 0.3, times, 0.3 + 40.0 * (times - 0.3) ** 2)  # a line for 31 rows
    start = with_starts([stretch_of(times, np.stack([times, bent], axis=1))], MEASUREMENT)[0]
    assert start.start == pytest.approx([0.0, 0.0, 1.0], abs=1e-3)
    rates = MeasurementModel(Sensors((0, 1, 1), (0, 0, 1)), MEASUREMENT.sigma, 1e-9 * np.ones(3))
    variance = with_starts([stretch_of(times, np.stack([times, bent], axis=1))], rates)[0].start_variance[2]
    half = 0.5 * 0.01 * (max(length for length in LENGTHS if length <= 40) - 1)
    assert variance == pytest.approx((4.0 * 1e-3 / half) ** 2, rel=0.1)


def test_with_starts_knows_nothing_of_a_channel_without_samples() -> None:
    times = 0.01 * np.arange(50)
    samples = np.stack([np.full(50, np.nan), times], axis=1)
    start = with_starts([stretch_of(times, samples)], MEASUREMENT)[0]
    assert start.start[0] == 0.0
    assert start.start_variance[0] == pytest.approx((2.0 * 1e-3 * 1e3) ** 2)
