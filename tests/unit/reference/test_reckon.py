import numpy as np
import pytest

from tinyude.reference.config import Config
from tinyude.reference.signal.carried_angle import Reckon, reckon_init, reckon_push, reckon_window
from tinyude.reference.signal.window import window_fit, window_make

PERIOD, HALF = 1e-3, 40
WINDOW = window_make(HALF, 1, 4, PERIOD)
CONFIG = Config(channels=2, channel=(0, 1), order=(0, 0), sample_period=PERIOD, rate_channel=(2, 0))
TIMES = PERIOD * np.arange(2000)
TRUTH = np.column_stack([30.0 * TIMES + np.sin(5.0 * TIMES), 30.0 + 5.0 * np.cos(5.0 * TIMES)])


def carried(samples: np.ndarray, sigma: np.ndarray) -> tuple[Reckon, np.ndarray, np.ndarray]:
    """The reckoning after all samples; the coefficients of the last window without and with it."""
    reckon = reckon_init(2)
    for part in np.split(samples, 10):
        reckon_push(reckon, CONFIG, WINDOW, sigma, part)
    own, _, _ = window_fit(WINDOW, samples[-2 * HALF - 1 :])
    return reckon, own, reckon_window(reckon, CONFIG, WINDOW, own, sigma)


def mean_errors(sigma: np.ndarray, trials: int = 40) -> tuple[float, float]:
    """RMS errors of the angle's mean over the last window, without and with reckoning."""
    rng = np.random.default_rng(0)
    exact, _, _ = window_fit(WINDOW, TRUTH[-2 * HALF - 1 :])
    errors = []
    for _ in range(trials):
        _, own, moved = carried(TRUTH + sigma * rng.standard_normal(TRUTH.shape), sigma)
        errors.append([own[0, 0] - exact[0, 0], moved[0, 0] - exact[0, 0]])
    own_error, moved_error = np.sqrt(np.mean(np.square(errors), axis=0))
    return float(own_error), float(moved_error)


def test_reckon_halves_the_error_of_an_angle_far_noisier_than_its_rate() -> None:
    own, moved = mean_errors(np.array([1.0, 0.01]))
    assert moved < 0.5 * own


def test_reckon_leaves_an_angle_alone_that_is_as_good_as_its_rate() -> None:
    own, moved = mean_errors(np.array([0.01, 0.1]), trials=3)
    assert moved == own


def test_reckon_keeps_an_exact_motion() -> None:
    _, own, moved = carried(TRUTH, np.array([1.0, 0.01]))
    np.testing.assert_allclose(moved, own, atol=1e-5)


def test_reckon_starts_anew_where_the_sensor_was_moved() -> None:
    samples = TRUTH.copy()
    samples[-2 * HALF - 1 :, 0] += 2.0
    reckon, own, moved = carried(samples, np.array([1.0, 0.01]))
    np.testing.assert_array_equal(moved, own)
    assert reckon.count[0] == 0


@pytest.mark.parametrize("bias", [0.01, 0.1])
def test_reckon_bears_a_rate_that_is_biased(bias: float) -> None:
    """No further off than the rate drifts while four windows pass."""
    _, own, moved = carried(TRUTH + np.array([0.0, bias]), np.array([1.0, 0.01]))
    assert abs(moved[0, 0] - own[0, 0]) < bias * 4 * (2 * HALF + 1) * PERIOD
