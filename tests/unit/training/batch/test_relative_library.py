"""Forces between two bodies, flows between two levels, end stops: terms of differences, and corners."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tinyude as tu
from tinyude.systems.zoo import Plant
from tinyude.training.batch.library import BEYOND, corner_places

MASSES = Plant(
    "two masses, friction between", "", "x v y w", ("v", "-10*x - 6*(x - y)", "w", "8*(x - y) - 7*y"),
    {"v": "-0.6*tanh(10*(v - w)) - 4*(x - y)**3", "w": "0.9*tanh(10*(v - w)) + 6*(x - y)**3"},
    ((1.5, 0.0, -1.0, 0.0), (-1.0, 2.0, 1.0, -1.0)), 0.01, 1500,
)  # fmt: skip
TANKS = Plant(
    "connected tanks", "", "h g", ("-0.02*sqrt(h)", "-0.01*sqrt(g)"),
    {"h": "-0.05*sqrt(abs(h - g))", "g": "0.05*sqrt(abs(h - g))"}, ((2.0, 0.5), (3.0, 1.0)), 0.1, 300,
)  # fmt: skip
STOP = Plant(
    "end stop", "", "x v", ("v", "-5*x - 0.3*v"), {"v": "-60*max(x - 0.4, 0)"}, ((-2.0, 0.0), (-1.5, 2.0)), 0.01, 1000
)


@pytest.mark.parametrize("plant", [MASSES, TANKS, STOP], ids=lambda plant: plant.name)
def test_terms_of_differences_and_corners_are_found(plant: Plant) -> None:
    runs, _ = plant.record(0.005, 1)
    found = tu.UDE(plant.physics, refine=False).fit(runs, t=plant.period)
    assert plant.error(found.residual) < 0.01
    assert all("-" in row["term"] for row in found.terms_), "only differences and corners"


def test_a_corner_is_printed_saved_and_loaded_as_max(tmp_path: object) -> None:
    runs, _ = STOP.record(0.005, 1)
    found = tu.UDE(STOP.physics, refine=False).fit(runs, t=STOP.period)
    assert re.search(r"max\(x - 0\.(40\d*|4|399\d*), 0\)", str(found))
    found.save(f"{tmp_path}/stop.tinyude")
    loaded = tu.load(f"{tmp_path}/stop.tinyude")
    states = np.array([[0.3, 0.0], [0.5, 0.0], [1.0, 2.0]])
    np.testing.assert_allclose(loaded.residual(states), found.residual(states), rtol=1e-12)
    assert str(loaded) == str(found)


def test_corners_are_offered_where_states_lie_on_both_sides() -> None:
    values = np.concatenate([np.linspace(0.0, 1.0, 1000), [9.0, 10.0]])
    places = corner_places(values)
    assert places and all(0.95 * BEYOND < np.mean(values < place) < 1.0 - 0.95 * BEYOND for place in places)
    assert corner_places(np.linspace(0.0, 1.0, 1001)) == (0.1, 0.3, 0.5, 0.7, 0.9)
