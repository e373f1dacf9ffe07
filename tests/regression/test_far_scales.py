"""Channels whose values are many decades apart."""

import numpy as np
import pytest

import tinyude as tu


@pytest.mark.parametrize("small", [1e-6, 1e5])
def test_fit_learns_from_channels_ten_decades_apart(small: float) -> None:
    t = np.arange(0.0, 20.0, 0.01)
    decay = np.exp(-0.3 * t)
    x, v = decay * np.cos(2.0 * t), decay * (-0.3 * np.cos(2.0 * t) - 2.0 * np.sin(2.0 * t))
    samples = np.column_stack([small * x, v / small])
    samples += 0.005 * samples.std(axis=0) * np.random.default_rng(0).normal(size=samples.shape)
    physics = tu.Physics(["p", "w"], ["a*w", "-4.09*p/a"], parameters={"a": small**2})
    ude = tu.UDE(physics).fit(samples, t=0.01)
    assert ude.verdict_.status == "good"
    assert {row["term"]: row["learned"] for row in ude.terms_}["w"] == pytest.approx(-0.6, rel=0.02)


@pytest.mark.parametrize(
    ("size", "message"), [(1e20, "100% of p is not a number below 1e\\+15"), (1e-40, "p moves by .*, less than 1e-30")]
)
def test_fit_names_the_limit_of_far_values(size: float, message: str) -> None:
    samples = size * np.random.default_rng(0).normal(size=(200, 2))
    with pytest.raises(tu.TinyUDEError, match=message):
        tu.UDE(tu.Physics(["p", "w"], ["w", "-p"])).fit(samples, t=0.01)
