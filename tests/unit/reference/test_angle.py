import numpy as np
import pytest

import tinyude as tu
from tinyude.reference.numeric.elementary import TWO_PI, angle_wrap
from tinyude.reference.signal.angle import angle_wrap_state, angle_wrap_window


@pytest.mark.parametrize(
    ("angle", "revolutions"), [(3.1, 0), (3.2, 1), (-3.2, -1), (40.0 * TWO_PI + 1.0, 40), (1e9, 0)]
)
def test_angle_wrap_takes_whole_revolutions_off(angle: float, revolutions: int) -> None:
    assert angle_wrap(angle) == pytest.approx(angle - revolutions * TWO_PI)


def test_angle_wrap_window_moves_the_mean_of_wrapped_channels_alone() -> None:
    coefficients = np.array([[3.0 * TWO_PI + 0.5, 3.0 * TWO_PI], [0.1, 0.2]])
    np.testing.assert_allclose(angle_wrap_window(coefficients, (1, 0)), [[0.5, 3.0 * TWO_PI], [0.1, 0.2]])
    np.testing.assert_array_equal(angle_wrap_window(coefficients, ()), coefficients)


def test_angle_wrap_state_leaves_the_given_array_alone() -> None:
    x = np.array([[TWO_PI, 7.0]])
    np.testing.assert_allclose(angle_wrap_state(x, (0,)), [[0.0, 7.0]], atol=1e-15)
    assert x[0, 0] == TWO_PI


@pytest.mark.parametrize("engine", ["native", "reference"])
def test_ude_answers_alike_after_any_number_of_revolutions(engine: str) -> None:
    plant = tu.systems.pendulum("A")
    t, Y = plant.stream(noise=0.01, seed=0, seconds=6.0)
    Y = Y + np.outer(4.0 * t, [1.0, 0.0])  # it goes round; that the rate does not say so is no matter here
    settings = {"library": None, "skip": False, "updates": 20, "engine": engine}
    ude = tu.UDE(plant.physics, hidden=(4,), random_state=0, **settings).fit(Y, t=t)
    x = np.array([[0.7, 1.0], [-2.0, 0.3]])
    np.testing.assert_allclose(ude.residual(x + np.array([5.0 * TWO_PI, 0.0])), ude.residual(x), atol=1e-12)
    assert np.abs(ude.residual(x + np.array([1.0, 0.0])) - ude.residual(x)).max() > 1e-3


def test_ude_does_not_wrap_an_angle_that_stays_within_one_revolution() -> None:
    """Around upright, where an angle of pi is in the middle of things, there is no seam."""
    plant = tu.systems.pendulum("A")
    t, Y = plant.stream(noise=0.01, seed=0, seconds=6.0)
    ude = tu.UDE(plant.physics, random_state=0, updates=20).fit(Y + np.array([np.pi, 0.0]), t=t)
    assert np.ptp(Y[:, 0]) < TWO_PI and ude.model_.angles == ()


def test_paper_presets_take_an_angle_as_a_number() -> None:
    plant = tu.systems.pendulum("A")
    t, Y = plant.stream(noise=0.01, seed=0, seconds=20.0)
    ude = tu.UDE(plant.physics, preset="paper-v2", updates=50, random_state=0).fit(Y, t=t)
    x = np.array([[0.7, 1.0]])
    assert np.abs(ude.residual(x + np.array([TWO_PI, 0.0])) - ude.residual(x)).max() > 1e-3
