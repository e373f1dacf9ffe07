"""Coefficients of library terms and their covariance, against least squares written out here."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tinyude.training.batch.terms_fit import solve_terms

ROWS, TRUE = 400, np.array([2.0, -0.5, 0.3])


def problem(noise: float, expected: float = 1.0) -> tuple[Any, np.ndarray, np.ndarray]:
    """White rows of a learned parameter's column and two entries, with this noise where another is expected."""
    rng = np.random.default_rng(1)
    design = rng.standard_normal((ROWS, 3)) * [1.0, 20.0, 0.1]
    y = design @ TRUE + noise * rng.standard_normal(ROWS)
    made = SimpleNamespace(
        y=y, rows=ROWS, size=float(np.sqrt(np.mean(y**2))), whitener=SimpleNamespace(expected=expected),
        columns=lambda entries: design[:, 1:], rms=lambda entries: np.sqrt(np.mean(design[:, 1:] ** 2, axis=0)),
    )  # fmt: skip
    return made, design, y


@pytest.mark.parametrize(("noise", "expected"), [(3.0, 1.0), (0.5, 1.0), (0.5, 0.1)])
def test_solve_terms_has_the_covariance_of_least_squares_under_at_least_the_expected_noise(
    noise: float, expected: float
) -> None:
    given, design, y = problem(noise, expected)
    found = solve_terms(given, ["a", "b"], design[:, :1], [], 10)
    exact = np.linalg.lstsq(design, y, rcond=None)[0]
    chi2 = np.sum((y - design @ exact) ** 2)
    factor = max(chi2 / (ROWS - 3) / expected, 1.0)
    np.testing.assert_allclose(found.coefficients, exact, rtol=1e-9)
    np.testing.assert_allclose(found.covariance, np.linalg.inv(design.T @ design) * factor, rtol=1e-6, atol=1e-12)
    assert found.noise == pytest.approx(np.sqrt(factor)) and found.chi2 == pytest.approx(chi2)
