"""Samples at random times: no sample period fits them."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import tinyude as tu
from tinyude.data.grid import find_period


def random_times(rng: np.random.Generator, kind: str) -> np.ndarray:
    steps = {
        "poisson": rng.exponential(0.02, 1500),
        "uniform": np.diff(np.sort(rng.uniform(0.0, 30.0, 1501))),
        "three steps": rng.choice([0.01, 0.02, 0.05], 1200),
    }[kind]
    return np.cumsum(steps)


@pytest.mark.parametrize("kind", ["poisson", "uniform", "three steps"])
def test_fit_learns_from_samples_at_random_times(kind: str) -> None:
    rng = np.random.default_rng(2)
    t = random_times(rng, kind)

    def field(_: float, x: np.ndarray) -> list[float]:
        return [x[1], (1.0 - x[0] ** 2) * x[1] - x[0]]

    clean = solve_ivp(field, (0.0, t[-1]), [1.0, 0.0], t_eval=t, rtol=1e-9, atol=1e-9).y.T
    samples = clean + 0.01 * clean.std(axis=0) * rng.standard_normal(clean.shape)
    ude = tu.UDE(tu.Physics(["x", "v"], ["v", "v - x"])).fit(samples, t=t)
    truth = -clean[:, 1] * clean[:, 0] ** 2
    error = np.sqrt(np.mean((ude.residual(clean)[:, 1] - truth) ** 2) / np.mean(truth**2))
    assert error < 0.01 and ude.verdict_.status != "bad"


def test_find_period_keeps_a_grid_with_lost_samples() -> None:
    rng = np.random.default_rng(0)
    kept = np.flatnonzero(rng.random(2000) > 0.12)
    assert find_period([0.01 * kept]) == pytest.approx(0.01, rel=1e-9)
