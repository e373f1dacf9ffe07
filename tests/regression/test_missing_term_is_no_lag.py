"""dy/dt = x + 0.2 y, told as dy/dt = x: the missing term was reported as a lag of y by 150 ms; a lag still is one."""

import re

import numpy as np
import pytest

import tinyude as tu
from tinyude.experiments.studies.zoo import plant_named
from tinyude.model.dynamics import known_dynamics
from tinyude.model.simulation import free_run


def test_lags_are_not_told_of_a_state_whose_equation_lacks_a_term() -> None:
    plant = plant_named("Rossler, spiral")
    samples, _ = plant.record(0.01)
    ude = tu.UDE(plant.physics, refine=False).fit(samples, t=plant.period)
    assert not [reason for reason in ude.verdict_.reasons if "lags" in str(reason)]
    assert ude.verdict_.status == "good"


@pytest.mark.parametrize("on", [None, ["x", "v"]])
def test_lags_are_told_of_a_late_rate(on: list[str] | None) -> None:
    physics = tu.Physics(["x", "v"], ["v", "-30*x"])
    truth = tu.Physics(["x", "v"], ["v", "-30*x - 0.2*v - 4*x**3"])
    t = 0.005 * np.arange(8_000)
    states = free_run(known_dynamics(truth), np.array([1.5, 0.0]), t, np.ones(2))
    states[8:, 1] = states[:-8, 1].copy()
    states += 0.003 * states.std(axis=0) * np.random.default_rng(2).standard_normal(states.shape)
    with pytest.warns(tu.TinyUDEWarning):
        ude = tu.UDE(physics, on=on, refine=False).fit(states[8:], t=0.005)
    told = [str(reason) for reason in ude.verdict_.reasons if "v lags" in str(reason)]
    assert told and 38 <= float(re.search(r"lags ([\d.]+) ms", told[0])[1]) <= 42
