"""A UDE in scikit-learn's model selection: a data frame holds times and inputs, so that every part has its own."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit, cross_val_score

import tinyude as tu
from tinyude.model.dynamics import known_dynamics
from tinyude.model.simulation import free_run

PHYSICS = tu.Physics(["x", "v"], ["v", "-4*x + u"], ["u"])


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    t = np.arange(0.0, 20.0, 0.01)
    u = np.sign(np.sin(0.8 * t)) + 0.5 * np.sin(2.2 * t)
    plant = known_dynamics(tu.Physics(["x", "v"], ["v", "-4*x + u - 0.5*v - 0.3*v*abs(v)"], ["u"]))
    states = free_run(plant, np.array([0.5, 0.0]), t, np.ones(2), u[:, None])
    noisy = states + 0.003 * np.random.default_rng(0).standard_normal(states.shape)
    return pd.DataFrame({"time": t, "x": noisy[:, 0], "v": noisy[:, 1], "u": u})


def test_cross_val_score_splits_a_frame(frame: pd.DataFrame) -> None:
    ude = tu.UDE(PHYSICS, library=["v"], network=None, refine=False)
    scores = cross_val_score(ude, frame, cv=TimeSeriesSplit(2), params={"t": "time"})
    assert np.all((scores > 0.9) & (scores < 1.0))


def test_grid_search_finds_the_better_library(frame: pd.DataFrame) -> None:
    grid = {"library": [["v"], ["v", "v*abs(v)"]]}
    search = GridSearchCV(tu.UDE(PHYSICS, network=None, refine=False), grid, cv=TimeSeriesSplit(2))
    assert search.fit(frame, t="time").best_params_ == {"library": ["v", "v*abs(v)"]}
