"""Shape parameters of terms, found from the offered value."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import least_squares

from tinyude.training.batch.library import Factor, evaluate
from tinyude.training.batch.shape_search import search_shapes
from tinyude.training.batch.terms_fit import TermsFit, _hardly_seen

ROWS = 500


class Rows:
    """White rows that are the entries' values at one column of points."""

    def __init__(self, y: np.ndarray, x: np.ndarray) -> None:
        self.y, self.targets = y, type("T", (), {"columns": x[:, None]})

    def fresh(self, entries: Any) -> np.ndarray:
        with np.errstate(all="ignore"):
            return np.nan_to_num(evaluate(entries, self.targets.columns), posinf=0.0, neginf=0.0)

    columns = fresh


def record(slope: float, noise: float) -> Rows:
    rng = np.random.default_rng(3)
    x = rng.uniform(-2.0, 2.0, ROWS)
    return Rows(1.5 * np.tanh(slope * x) - 0.3 * x + noise * rng.standard_normal(ROWS), x)


@pytest.mark.parametrize("slope", [0.7, 3.0, 9.0])
def test_a_shape_is_that_of_least_squares_over_coefficients_and_shape(slope: float) -> None:
    rows = record(slope, 0.05)
    entries = [(Factor("power", 0, (1.0,)),), (Factor("tanh", 0, (2.0,)),)]
    found = search_shapes(rows, entries, np.zeros((ROWS, 0)), [(1, (0, 0))])  # type: ignore[arg-type]
    x = rows.targets.columns[:, 0]
    exact = least_squares(lambda p: p[0] * np.tanh(p[2] * x) + p[1] * x - rows.y, [1.5, -0.3, slope])
    error = np.sqrt(np.linalg.inv(exact.jac.T @ exact.jac)[2, 2]) * 0.05
    assert found[0] == entries[0]
    assert found[1][0].shape[0] == pytest.approx(exact.x[2], abs=0.05 * error)


def test_a_corner_that_no_row_reaches_is_hardly_seen() -> None:
    """It divided by 0: a corner may end at the last of the visited states, where windows see nothing of it."""
    rows = record(1.0, 0.05)
    fit = TermsFit([(Factor("above", 0, (3.0, 4.0)),)], np.ones(1), [(0, (0, 0))], lambda: np.eye(2), 1.0, 1.0, 0.0)
    assert _hardly_seen(rows, fit)  # type: ignore[arg-type]
