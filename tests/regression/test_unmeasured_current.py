"""A motor whose current is not measured: process noise of the current stood for the friction that is missing."""

import numpy as np

import tinyude as tu
from tinyude.model.dynamics import known_dynamics
from tinyude.model.simulation import free_run


def test_fit_looks_for_friction_where_it_is_and_does_not_call_a_stand_in_good() -> None:
    rng = np.random.default_rng(1)
    t, u = 0.01 * np.arange(2000), np.repeat(rng.uniform(-6.0, 6.0, 40), 50)[:, None]
    current = "(v - i - 0.05*w)/0.02"
    true = tu.Physics(["w", "i"], ["(0.05*i - 0.002*w - 0.06*tanh(3*w))/0.01", current], inputs=["v"])
    speed = free_run(known_dynamics(true), [0.0, 0.0], t, np.full(2, 1e3), u)[:, :1]
    speed = speed + 0.01 * speed.std() * rng.standard_normal(speed.shape)
    told = tu.Physics(["w", "i"], ["(0.05*i - 0.002*w)/0.01", current], inputs=["v"])
    ude = tu.UDE(told, measured=["w"], unmeasured={"i": (0.0, 2.0)}).fit(speed, t=0.01, u=u)
    assert {row["state"] for row in ude.terms_} == {"w"}
    assert ude.verdict_.status != "good"
    free = ude.simulate([0.0, 0.0], t[:500], u[:500])  # a guess of 0 is no scale: any current had diverged at once
    assert np.sqrt(np.mean((free[:, 0] - speed[:500, 0]) ** 2)) < 0.3 * speed.std()
