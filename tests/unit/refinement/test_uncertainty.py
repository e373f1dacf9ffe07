"""The covariance of refined unknowns: against the scatter of estimates over records with coloured noise."""

import numpy as np
from scipy.signal import lfilter

import tinyude as tu

CORRELATION = 0.9
RECORDS = 8


def oscillator(times: np.ndarray, damping: float, frequency: float = 2.0) -> np.ndarray:
    decay, rate = 0.5 * damping, np.sqrt(frequency**2 - 0.25 * damping**2)
    x = np.exp(-decay * times) * np.cos(rate * times)
    return np.column_stack([x, -decay * x - rate * np.exp(-decay * times) * np.sin(rate * times)])


def test_intervals_widen_where_noise_is_coloured() -> None:
    """With noise that lasts ten samples an information of white noise is four times too certain."""
    times = 0.02 * np.arange(1500)
    clean = oscillator(times, 0.1)
    physics = tu.Physics(
        ["x", "v"], ["v", "-k*x - c*v"],
        parameters={"k": tu.Parameter(4.4, learn=True), "c": tu.Parameter(0.12, learn=True)},
    )  # fmt: skip
    apart = []
    for seed in range(RECORDS):
        white = np.random.default_rng(seed).standard_normal((1700, 2))
        noise = lfilter([np.sqrt(1.0 - CORRELATION**2)], [1.0, -CORRELATION], white, axis=0)[200:]
        ude = tu.UDE(physics, library=None, network=None).fit(clean + 0.01 * noise, t=0.02)
        for (name, value, low, high), truth in zip(ude.parameters_, (4.0, 0.1), strict=True):
            assert high > low, name
            apart.append((value - truth) / (high - low))
    inside = np.abs(apart) < 0.5
    assert inside.mean() > 0.75
