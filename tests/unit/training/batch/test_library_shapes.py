"""Shapes of library terms far outside the record."""

import numpy as np

from tinyude.training.batch.library import Factor, evaluate


def test_evaluate_takes_a_switch_of_endless_slope_for_nothing() -> None:
    columns = np.linspace(0.1, 2.0, 5)[:, None]
    steep = Factor("steep", 0, (1e6, 80.0))  # 1e6**80 is no double
    np.testing.assert_array_equal(evaluate([(steep,)], columns), 0.0)
