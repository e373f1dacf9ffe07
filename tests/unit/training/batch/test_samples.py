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
