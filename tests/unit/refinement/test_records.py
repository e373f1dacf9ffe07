"""What records show before anything is fitted."""

import numpy as np
import pytest

from tinyude.refinement.records import Record, sensor_noise

STEP = 2.0 * np.pi / 2400.0


def floor(samples: np.ndarray) -> float:
    record = Record(0.05 * np.arange(len(samples)), samples[:, None], np.zeros((len(samples), 0)))
    return float(sensor_noise([record])[1][0])


def swing(rows: int) -> np.ndarray:
    """Thirteen rows a period: the angle is never at rest from one row to the next."""
    return np.asarray(1.1 * np.exp(-0.001 * np.arange(rows)) * np.sin(0.48 * np.arange(rows) + 0.3))


@pytest.mark.parametrize("rows", [24, 96, 340])
def test_step_of_a_slowly_sampled_encoder_is_found(rows: int) -> None:
    counts = np.round(swing(rows) / STEP)
    assert np.mean(np.diff(counts) == 0.0) < 0.05
    assert floor(counts * STEP) == pytest.approx(STEP / np.sqrt(12.0), rel=1e-3)
    assert floor(np.round(counts * STEP, 9)) == pytest.approx(STEP / np.sqrt(12.0), rel=1e-3)


@pytest.mark.parametrize("rows", [24, 96, 340, 5000])
def test_no_step_is_found_in_values_between_which_there_is_none(rows: int) -> None:
    for seed in range(20):
        samples = swing(rows) + 0.01 * np.random.default_rng(seed).standard_normal(rows)
        assert floor(samples) < 1e-5
    assert floor(np.zeros(rows)) < 1e-20
