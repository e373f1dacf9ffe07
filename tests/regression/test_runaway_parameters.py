"""Guesses from which full steps of the parameters leave for infinity."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import tinyude as tu

TRUE = {"a": 4.0, "K": 1.1, "d": 0.6, "e": 0.6}


def test_fit_shortens_steps_that_increase_the_misfit() -> None:
    """A gene that represses itself: K went to 1e110 and the fit ended with an error of linear algebra."""

    def rates(_: float, x: np.ndarray) -> list[float]:
        return [TRUE["a"] / (1.0 + (x[1] / TRUE["K"]) ** 4) - TRUE["d"] * x[0], x[0] - TRUE["e"] * x[1]]

    times = 0.1 * np.arange(600)
    clean = solve_ivp(rates, (0.0, 60.0), [0.0, 0.0], t_eval=times, rtol=1e-9, atol=1e-10).y.T
    samples = clean + 0.01 * clean.std(axis=0) * np.random.default_rng(0).standard_normal(clean.shape)
    factors = {"a": 1.0 / 1.5, "K": 1.0 / 1.5, "d": 1.5, "e": 1.5}
    parameters = {name: tu.Parameter(factors[name] * value, learn=True) for name, value in TRUE.items()}
    physics = tu.Physics(["m", "q"], ["a/(1 + (q/K)**4) - d*m", "m - e*q"], parameters=parameters)
    ude = tu.UDE(physics, library=None, network=None, refine=False).fit(samples, t=0.1)
    assert {name: value for name, value, _, _ in ude.parameters_} == pytest.approx(TRUE, rel=0.03)
