from dataclasses import replace

import numpy as np
import pytest

from tinyude.reference.config import Config
from tinyude.reference.signal.kinematics import (
    Kinematics,
    kinematics_clear,
    kinematics_consistent,
    kinematics_fuse,
    kinematics_init,
    kinematics_push,
)
from tinyude.reference.signal.window import window_fit, window_make

PERIOD, HALF = 1e-3, 40
WINDOW = window_make(HALF, 1, 4, PERIOD)
CONFIG = Config(channels=2, channel=(0, 1), order=(0, 0), sample_period=PERIOD, rate_channel=(2, 0))
TIMES = PERIOD * np.arange(2000)
TRUTH = np.column_stack([30.0 * TIMES + np.sin(5.0 * TIMES), 30.0 + 5.0 * np.cos(5.0 * TIMES)])


def carried(samples: np.ndarray, sigma: np.ndarray) -> tuple[Kinematics, np.ndarray, np.ndarray]:
    """The filter after all samples; the coefficients of the last window, fused without and with a carried angle."""
    kinematics = kinematics_init(2)
    for part in np.split(samples, 10):
        kinematics_push(kinematics, CONFIG, WINDOW, sigma, part)
    fit, _, _ = window_fit(WINDOW, samples[-2 * HALF - 1 :])
    own = kinematics_fuse(kinematics_init(2), CONFIG, WINDOW, fit, sigma)
    return kinematics, own, kinematics_fuse(kinematics, CONFIG, WINDOW, fit, sigma)


def mean_errors(sigma: np.ndarray, trials: int = 40) -> tuple[float, float]:
    """RMS errors of the angle's mean over the last window, without and with a carried angle."""
    rng = np.random.default_rng(0)
    exact, _, _ = window_fit(WINDOW, TRUTH[-2 * HALF - 1 :])
    errors = []
    for _ in range(trials):
        _, own, moved = carried(TRUTH + sigma * rng.standard_normal(TRUTH.shape), sigma)
        errors.append([own[0, 0] - exact[0, 0], moved[0, 0] - exact[0, 0]])
    own_error, moved_error = np.sqrt(np.mean(np.square(errors), axis=0))
    return float(own_error), float(moved_error)


def test_kinematics_fuse_halves_the_error_of_an_angle_far_noisier_than_its_rate() -> None:
    own, moved = mean_errors(np.array([1.0, 0.01]))
    assert moved < 0.5 * own


def test_kinematics_fuse_leaves_an_angle_alone_that_is_as_good_as_its_rate() -> None:
    own, moved = mean_errors(np.array([0.01, 0.1]), trials=3)
    assert moved == own


def test_kinematics_fuse_keeps_an_exact_motion() -> None:
    _, own, moved = carried(TRUTH, np.array([1.0, 0.01]))
    np.testing.assert_allclose(moved, own, atol=1e-5)


def test_kinematics_fuse_starts_anew_where_the_sensor_was_moved() -> None:
    samples = TRUTH.copy()
    samples[-2 * HALF - 1 :, 0] += 2.0
    kinematics, own, moved = carried(samples, np.array([1.0, 0.01]))
    np.testing.assert_array_equal(moved, own)
    assert kinematics.count[0] == 0


@pytest.mark.parametrize("bias", [0.01, 0.1])
def test_kinematics_fuse_bears_a_rate_that_is_biased(bias: float) -> None:
    """No further off than the rate drifts while four windows pass."""
    _, own, moved = carried(TRUTH + np.array([0.0, bias]), np.array([1.0, 0.01]))
    assert abs(moved[0, 0] - own[0, 0]) < bias * 4 * (2 * HALF + 1) * PERIOD


def test_kinematics_clear_forgets_carried_angles() -> None:
    kinematics, _, _ = carried(TRUTH, np.array([1.0, 0.01]))
    assert kinematics.count[0] == len(TRUTH)
    kinematics_clear(kinematics)
    assert not kinematics.count.any()


WIDE = window_make(80, 1, 4, PERIOD)
OFFSETS = PERIOD * np.arange(-80, 81)


def shape_fused(coefficients: np.ndarray, rate_channel: tuple[int, ...], sigma: np.ndarray) -> np.ndarray:
    """The window fused where no angle is carried yet."""
    return kinematics_fuse(kinematics_init(2), replace(CONFIG, rate_channel=rate_channel), WIDE, coefficients, sigma)


def angle_error(sigma: tuple[float, float], rate_channel: tuple[int, ...], trials: int = 200) -> float:
    """RMS error of the angle over the window, from noisy samples of the angle and its rate."""
    rng = np.random.default_rng(0)
    truth = np.column_stack([0.5 + 2.0 * OFFSETS - 3.0 * OFFSETS**2, 2.0 - 6.0 * OFFSETS])
    squares = []
    for _ in range(trials):
        coefficients, _, _ = window_fit(WIDE, truth + np.array(sigma) * rng.standard_normal(truth.shape))
        fused = shape_fused(coefficients, rate_channel, np.array(sigma))
        squares.append(np.mean((WIDE.basis @ fused[:, 0] - truth[:, 0]) ** 2))
    return float(np.sqrt(np.mean(squares)))


def test_kinematics_fuse_changes_nothing_where_no_rate_is_sensed() -> None:
    coefficients = np.random.default_rng(0).standard_normal((5, 2))
    np.testing.assert_array_equal(shape_fused(coefficients, (0, 0), np.ones(2)), coefficients)
    np.testing.assert_array_equal(shape_fused(coefficients, (), np.ones(2)), coefficients)


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_kinematics_fuse_keeps_an_exact_polynomial(degree: int) -> None:
    samples = np.column_stack([(10.0 * OFFSETS) ** degree, 10.0 * degree * (10.0 * OFFSETS) ** (degree - 1)])
    coefficients, _, _ = window_fit(WIDE, samples)
    fused = shape_fused(coefficients, (2, 0), np.array([1.0, 1.0]))
    np.testing.assert_allclose(WIDE.basis @ fused, samples, atol=1e-12)


def test_kinematics_fuse_leaves_a_noisy_angle_only_its_mean() -> None:
    """Five coefficients become one: the noise falls by the square root of five."""
    ratio = angle_error((0.5, 0.01), (2, 0)) / angle_error((0.5, 0.01), (0, 0))
    assert ratio == pytest.approx(1.0 / np.sqrt(5.0), rel=0.1)


def test_kinematics_fuse_does_not_harm_a_sharp_angle() -> None:
    assert angle_error((1e-4, 1.0), (2, 0)) <= 1.02 * angle_error((1e-4, 1.0), (0, 0))


def test_kinematics_fuse_weighs_every_coefficient_by_its_noise() -> None:
    """The variance of what is fused is the harmonic sum of those of the angle's and of the integrated rate's."""
    rng, sigma = np.random.default_rng(0), np.array([0.3, 5.0])
    noise = [window_fit(WIDE, sigma * rng.standard_normal((161, 2)))[0] for _ in range(2000)]
    own = np.array([coefficients[1:, 0] for coefficients in noise])
    theirs = np.array([shape_fused(c, (2, 0), np.array([1e9, 1e-9]))[1:, 0] for c in noise])
    fused = np.array([shape_fused(c, (2, 0), sigma)[1:, 0] for c in noise])
    best = 1.0 / (1.0 / own.var(axis=0) + 1.0 / theirs.var(axis=0))
    np.testing.assert_allclose(fused.var(axis=0), best, rtol=0.08)


@pytest.mark.parametrize("size", [1.0, -1.0])
def test_kinematics_consistent_allows_six_standard_errors_and_a_tenth_of_the_rate(size: float) -> None:
    """The slope of a cubic or higher angle at its mean is w_0 - w_2 / 5; their variances are 3, 1 and 5 sigma^2."""
    sigma, samples, seconds = np.array([0.02, 0.3]), 2 * HALF + 1, HALF * PERIOD
    coefficients = np.zeros((5, 2))
    coefficients[0, 1], coefficients[2, 1] = 20.0, 7.0
    slope = seconds * (20.0 - 7.0 / 5.0)
    variance = (3.0 * 0.02**2 + (1.0 + 5.0 / 25.0) * (seconds * 0.3) ** 2) / samples
    limit = 6.0 * np.sqrt(variance) + 0.1 * slope
    for share, consistent in ((0.99, True), (1.01, False)):
        coefficients[1, 0] = slope + size * share * limit
        assert kinematics_consistent(CONFIG, WINDOW, coefficients, sigma) is consistent
