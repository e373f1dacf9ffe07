"""Logs that are faster than their sensors, and encoders with uneven time stamps."""

import numpy as np
import pytest

import tinyude as tu

PENDULUM = tu.systems.pendulum("A")


@pytest.mark.parametrize("rows", [(4, 4), (1, 10)])
def test_fit_uses_rows_with_new_values_only(rows: tuple[int, int]) -> None:
    """Four fifths of the rates stayed unexplained, and nothing or nonsense was learned."""
    t, Y = PENDULUM.stream(noise=0.01, seconds=30.0)
    row = np.arange(len(Y))
    held = np.column_stack([Y[count * (row // count), channel] for channel, count in enumerate(rows)])
    ude = tu.UDE(PENDULUM.physics, refine=False).fit(held, t=t)
    assert [term["term"] for term in ude.terms_] == ["omega"]
    assert ude.terms_[0]["learned"] == pytest.approx(-0.4, abs=0.003)
    assert ude.verdict_.status == "good"
    assert [reason.kind for reason in ude.verdict_.reasons].count("held") == sum(count > 1 for count in rows)


def test_fit_of_an_encoder_with_uneven_stamps() -> None:
    """The step of the encoder was lost on the grid: nearly every window was rejected, or a rest called a fault."""
    t, Y = PENDULUM.stream(noise=0.0)
    uneven = t + np.random.default_rng(0).uniform(-1e-4, 1e-4, len(t))
    angle = 0.003 * np.round(np.interp(uneven, t, Y[:, 0]) / 0.003)
    ude = tu.UDE(PENDULUM.physics, measured=["theta"], refine=False).fit(angle, t=uneven)
    assert ude.terms_[0]["learned"] == pytest.approx(-0.4, abs=1e-3)
    assert ude.verdict_.status == "good"
