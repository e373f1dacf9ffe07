import numpy as np
import pytest

import tinyude as tu
from tinyude.errors import TinyUDEError


def test_grey_box_fits_parameters_by_simulation() -> None:
    plant = tu.systems.pendulum("A")
    t, Y = plant.stream(noise=0.002, seconds=3.5)
    told = {"g": tu.Parameter(7.0, learn=True, min=1.0), "c": tu.Parameter(0.1, learn=True)}
    physics = tu.Physics(["theta", "omega"], ["omega", "-g*sin(theta) - c*omega"], parameters=told)
    grey = tu.baselines.GreyBox(physics, ["theta"], segment=60).fit(Y[::20, :1], t=t[::20])
    assert grey.physics_.parameters["g"].value == pytest.approx(9.81, rel=2e-3)
    assert grey.physics_.parameters["c"].value == pytest.approx(0.4, rel=2e-2)
    run = grey.simulate([1.2, 0.0], t[::20])
    assert np.sqrt(np.mean((run - plant.clean()[1][: len(t) : 20]) ** 2)) < 0.02


def test_grey_box_says_when_there_is_nothing_to_fit() -> None:
    physics = tu.Physics(["x", "v"], ["v", "-x"])
    with pytest.raises(TinyUDEError, match="learn=True"):
        tu.baselines.GreyBox(physics).fit(np.zeros((100, 2)) + np.arange(100)[:, None], t=1e-3)
    with pytest.raises(TinyUDEError, match="not fitted"):
        tu.baselines.GreyBox(physics).simulate([0.0, 1.0], [0.0, 1.0])
