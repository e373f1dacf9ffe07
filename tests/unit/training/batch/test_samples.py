"""Noise of sensors as the batch estimator finds it before any window."""

import numpy as np
import pytest

from tinyude.training.batch.samples import sensor_noise

T = np.arange(20_000) * 1e-3


def bursts(rng: np.random.Generator) -> np.ndarray:
    """Noise of standard deviation 1 in a quarter of the samples, in bursts, and hardly any in the others."""
    loud = np.repeat(rng.random(len(T) // 10) < 0.25, 10)
    return np.where(loud, 1.0, 0.05) * rng.standard_normal(len(T))


@pytest.mark.parametrize("seed", range(3))
def test_sensor_noise_counts_bursts(seed: int) -> None:
    noise = 1e-3 * bursts(np.random.default_rng(seed))
    sigma = sensor_noise([(np.sin(2.0 * T) + noise)[:, None]]).sigma[0]
    assert sigma == pytest.approx(noise.std(), rel=0.3)


@pytest.mark.parametrize("rate", [2.0, 20.0, 100.0])
def test_sensor_noise_takes_no_motion_for_bursts(rate: float) -> None:
    noise = 1e-3 * np.random.default_rng(0).standard_normal(len(T))
    sigma = sensor_noise([(np.sin(rate * T) + noise)[:, None]]).sigma[0]
    assert sigma == pytest.approx(1e-3, rel=0.03)


def test_sensor_noise_of_a_shaft_that_only_goes_on_is_not_its_speed() -> None:
    """The smallest change was taken for a step: 100 times the noise of a clean angle at constant speed."""
    time = 0.01 * np.arange(2000)
    angle = 20.0 * time - 0.1 * time**2 + 1e-3 * np.random.default_rng(0).standard_normal(2000)
    noise = sensor_noise([angle[:, None]])
    assert noise.step[0] == 0.0
    assert noise.sigma[0] == pytest.approx(1e-3, rel=0.1)


def test_sensor_noise_is_at_least_that_of_rounding_to_a_step_and_a_millionth_of_the_signal() -> None:
    """A slow staircase has no residual between its steps; a smooth curve has none at all."""
    stairs = 0.02 * (np.arange(4000) // 60)
    smooth = 3.0 + np.sin(0.001 * np.arange(4000))
    noise = sensor_noise([np.column_stack([stairs, smooth])])
    assert noise.step[0] == pytest.approx(0.02) and noise.step[1] == 0.0
    assert noise.sigma[0] == pytest.approx(0.02 / np.sqrt(12.0), rel=1e-6)
    assert noise.sigma[1] == pytest.approx(1e-6 * np.sqrt(np.mean(smooth**2)), rel=1e-6)


@pytest.mark.parametrize("size", [1.0, 100.0])
def test_sensor_noise_is_not_that_of_outliers(size: float) -> None:
    """One sample in a hundred far off was taken for noise that comes in bursts: up to a thousand times too much."""
    rng = np.random.default_rng(0)
    samples = np.sin(2.0 * T) + 1e-3 * rng.standard_normal(len(T))
    samples += np.where(rng.random(len(T)) < 0.01, size * rng.standard_normal(len(T)), 0.0)
    assert sensor_noise([samples[:, None]]).sigma[0] == pytest.approx(1e-3, rel=0.2)
