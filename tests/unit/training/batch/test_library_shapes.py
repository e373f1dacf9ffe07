"""Shapes of library terms far outside the record."""

import numpy as np
import pytest

import tinyude as tu
from tinyude.systems.zoo import Plant
from tinyude.training.batch.library import Factor, evaluate


def test_evaluate_takes_a_switch_of_endless_slope_for_nothing() -> None:
    columns = np.linspace(0.1, 2.0, 5)[:, None]
    steep = Factor("steep", 0, (1e6, 80.0))  # 1e6**80 is no double
    np.testing.assert_array_equal(evaluate([(steep,)], columns), 0.0)


@pytest.mark.parametrize("seed", [30, 34])
def test_no_shape_follows_the_noise_of_a_few_windows(seed: int) -> None:
    """The tail of a bump beyond all states once had the coefficient 6e162."""
    starts = ((-1.8, -1.8), (5.8, 0.0))
    plant = Plant("coarse double well", "", "x v", ("v", "x - 0.18*v"), {"v": "-x**3"}, starts, 1.0 / 15.0, 150)
    samples, _ = plant.record(0.01, seed)
    found = tu.UDE(plant.physics, refine=False).fit(samples, t=plant.period)
    assert np.max(np.abs(found.model_.coefficients)) < 10.0
    assert plant.error(found.residual) < 0.01
