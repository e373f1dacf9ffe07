"""A record with many outliers of one channel."""

import numpy as np
import pytest

import tinyude as tu


def test_fit_finds_the_term_among_outliers() -> None:
    """Two samples in a hundred far off: a network was learned, with 40 times the error, and called good."""
    pendulum = tu.systems.pendulum("A")
    _, Y = pendulum.stream(noise=0.01, seconds=30.0)
    samples, rng = Y[::5].copy(), np.random.default_rng(1)
    far = rng.random(len(samples)) < 0.02
    samples[far, 0] += rng.normal(0.0, 1.0, far.sum())
    ude = tu.UDE(pendulum.physics, refine=False).fit(samples, t=5e-3)
    assert [term["term"] for term in ude.terms_] == ["omega"]
    assert ude.terms_[0]["learned"] == pytest.approx(-0.4, abs=0.003)
