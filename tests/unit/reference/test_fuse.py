import numpy as np
import pytest

from tinyude.reference.signal.fusion import fuse_rates
from tinyude.reference.signal.window import window_fit, window_make

PERIOD, HALF = 1e-3, 80
WINDOW = window_make(HALF, 1, 4, PERIOD)
TIMES = PERIOD * np.arange(-HALF, HALF + 1)


def angle_error(sigma: tuple[float, float], rate_channel: tuple[int, ...], trials: int = 200) -> float:
    """RMS error of the angle over the window, from noisy samples of the angle and its rate."""
    rng = np.random.default_rng(0)
    truth = np.column_stack([0.5 + 2.0 * TIMES - 3.0 * TIMES**2, 2.0 - 6.0 * TIMES])
    squares = []
    for _ in range(trials):
        coefficients, _, _ = window_fit(WINDOW, truth + np.array(sigma) * rng.standard_normal(truth.shape))
        fused = fuse_rates(WINDOW, coefficients, rate_channel, np.array(sigma))
        squares.append(np.mean((WINDOW.basis @ fused[:, 0] - truth[:, 0]) ** 2))
    return float(np.sqrt(np.mean(squares)))


def test_fuse_rates_changes_nothing_where_no_rate_is_sensed() -> None:
    coefficients = np.random.default_rng(0).standard_normal((5, 2))
    np.testing.assert_array_equal(fuse_rates(WINDOW, coefficients, (0, 0), np.ones(2)), coefficients)
    np.testing.assert_array_equal(fuse_rates(WINDOW, coefficients, (), np.ones(2)), coefficients)


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_fuse_rates_keeps_an_exact_polynomial(degree: int) -> None:
    samples = np.column_stack([(10.0 * TIMES) ** degree, 10.0 * degree * (10.0 * TIMES) ** (degree - 1)])
    coefficients, _, _ = window_fit(WINDOW, samples)
    fused = fuse_rates(WINDOW, coefficients, (2, 0), np.array([1.0, 1.0]))
    np.testing.assert_allclose(WINDOW.basis @ fused, samples, atol=1e-12)


def test_fuse_rates_leaves_a_noisy_angle_only_its_mean() -> None:
    """Five coefficients become one: the noise falls by the square root of five."""
    ratio = angle_error((0.5, 0.01), (2, 0)) / angle_error((0.5, 0.01), (0, 0))
    assert ratio == pytest.approx(1.0 / np.sqrt(5.0), rel=0.1)


def test_fuse_rates_does_not_harm_a_sharp_angle() -> None:
    assert angle_error((1e-4, 1.0), (2, 0)) <= 1.02 * angle_error((1e-4, 1.0), (0, 0))
