"""An actuator that answers some samples late: the verdict says by how many."""

import re

import numpy as np
import pytest

import tinyude as tu
from tinyude.model.dynamics import known_dynamics
from tinyude.model.simulation import free_run

LATE = 7


def test_verdict_names_the_delay_of_an_input() -> None:
    rng = np.random.default_rng(5)
    t, force = 0.01 * np.arange(2000), np.repeat(rng.uniform(-1.0, 1.0, 40), 50)
    applied = np.concatenate([np.zeros(LATE), force[:-LATE]])[:, None]
    true = tu.Physics(["x", "v"], ["v", "3*F - 0.5*v - 2*x - 0.4*v*Abs(v)"], inputs=["F"])
    states = free_run(known_dynamics(true), [0.0, 0.0], t, np.full(2, 10.0), applied)
    samples = states + np.array([0.003, 0.01]) * rng.standard_normal(states.shape)
    physics = tu.Physics(["x", "v"], ["v", "3*F - 0.5*v - 2*x"], inputs=["F"])
    with pytest.warns(tu.TinyUDEWarning):
        ude = tu.UDE(physics).fit(samples, t=0.01, u=force)
    assert ude.verdict_.status != "good"
    found = re.match(r"F seems to act about ([\d.]+) samples .* later than logged", ude.verdict_.summary)
    assert found and float(found[1]) == pytest.approx(LATE, rel=0.15)
