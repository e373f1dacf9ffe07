"""Short windows at kicks, whose rates are mostly noise, made a term's share of the rate twenty times too small."""

import numpy as np
import pytest

import tinyude as tu


def test_term_shares_are_those_of_the_true_rates() -> None:
    plant = tu.systems.pendulum("A")
    t, Y = plant.stream(noise=0.01, seconds=20.0)
    _, clean = plant.stream(noise=0.0, seconds=20.0)
    (term,) = tu.UDE(plant.physics, refine=False).fit(Y, t=t).terms_
    rate = np.sqrt(np.mean(plant.truth(clean)[:, 1] ** 2))
    assert term["share"] == pytest.approx(
        0.4 * np.sqrt(np.mean(clean[:, 1] ** 2)) / rate, rel=0.08
    )  # no windows at kicks
