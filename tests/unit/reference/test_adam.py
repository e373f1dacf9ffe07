import numpy as np
import pytest

from tinyude.reference.network.adam import BETA1, BETA2, EPSILON, adam_init, adam_step, clip, cosine_rate, ema_update


def test_clip_shortens_without_turning() -> None:
    grad = np.array([3.0, -4.0])
    np.testing.assert_allclose(clip(grad, 1.0), [0.6, -0.8])
    assert clip(grad, 5.0) is grad


def test_adam_step_follows_kingma_and_ba() -> None:
    rng = np.random.default_rng(0)
    params = rng.standard_normal(4)
    textbook = params.copy()
    adam, first, second = adam_init(4), np.zeros(4), np.zeros(4)
    for step in range(1, 30):
        grad = rng.standard_normal(4)
        adam_step(adam, params, grad, 0.01)
        first = BETA1 * first + (1 - BETA1) * grad
        second = BETA2 * second + (1 - BETA2) * grad**2
        textbook -= 0.01 * (first / (1 - BETA1**step)) / (np.sqrt(second / (1 - BETA2**step)) + EPSILON)
    np.testing.assert_allclose(params, textbook, rtol=1e-12)


def test_adam_step_first_step_is_the_rate_whatever_the_size() -> None:
    for size in (1e-3, 1e3):
        params = np.zeros(2)
        adam_step(adam_init(2), params, size * np.array([1.0, -1.0]), 0.02)
        np.testing.assert_allclose(params, [-0.02, 0.02], rtol=1e-4)


def test_adam_step_finds_the_minimum_of_a_stretched_bowl() -> None:
    params, adam, curvature = np.array([3.0, -2.0]), adam_init(2), np.array([1.0, 100.0])
    for step in range(3000):
        adam_step(adam, params, curvature * params, cosine_rate(step, 3000, 0.05, 1e-3))
    assert np.max(np.abs(params)) < 1e-3


def test_cosine_rate_falls_from_rate_to_floor_and_stays() -> None:
    rates = [cosine_rate(step, 100, 0.02, 0.1) for step in range(150)]
    assert rates[0] == pytest.approx(0.02)
    assert rates[50] == pytest.approx(0.02 * 0.55)
    assert np.all(np.diff(rates[:101]) < 0.0)
    assert rates[100:] == pytest.approx([0.002] * 50)


def test_ema_update_forgets_the_start_and_then_averages() -> None:
    average = np.array([100.0])
    for step in range(200):
        ema_update(average, np.array([1.0]), step, 0.999)
    assert average[0] == pytest.approx(1.0, abs=1e-6)  # without the warm-up 100 * 0.999**200 would be left
    rng = np.random.default_rng(1)
    late = average.copy()
    for step in range(200, 20_000):
        ema_update(late, 1.0 + rng.standard_normal(1), step, 0.999)
    assert late[0] == pytest.approx(1.0, abs=0.1)


def test_ema_update_uses_the_decay_given_once_warm() -> None:
    average = np.zeros(1)
    ema_update(average, np.ones(1), 10**6, 0.9)
    assert average[0] == pytest.approx(0.1)
