"""Learned parameters from guesses that are far off, beside a library that could stand in for them."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import tinyude as tu

TRUE = {"b": 0.6, "f": 1.2, "s": 0.25}


def force(t: np.ndarray) -> np.ndarray:
    return 2.5 * np.sin(0.8 * t) + 2.0 * np.sin(2.1 * t)


@pytest.mark.parametrize("factor", [1.0 / 3.0, 3.0])
def test_fit_learns_parameters_instead_of_terms_that_stand_in_for_them(factor: float) -> None:
    times = np.arange(0.0, 30.0, 0.01)
    b, f, s = TRUE.values()
    speed = solve_ivp(
        lambda t, w: force(t) - b * w - f * np.tanh(w / s), (0.0, 30.0), [0.0], t_eval=times, rtol=1e-9, atol=1e-10
    ).y.T
    samples = speed + 0.01 * speed.std() * np.random.default_rng(8).standard_normal(speed.shape)
    parameters = {name: tu.Parameter(factor * value, learn=True, min=0.001) for name, value in TRUE.items()}
    physics = tu.Physics(["w"], ["u - b*w - f*tanh(w/s)"], inputs=["u"], parameters=parameters)
    ude = tu.UDE(physics, refine=False, hold="linear").fit(samples, t=0.01, u=force(times))
    assert ude.terms_ == []
    assert {name: value for name, value, _, _ in ude.parameters_} == pytest.approx(TRUE, rel=0.05)
