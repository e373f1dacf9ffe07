"""The number inside a term that all machines of a fleet share."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tinyude as tu
from tinyude.experiments.costs.simulated_fleet import SHARP, SimulatedFleet
from tinyude.fleet import shapes
from tinyude.fleet.paths import find_units
from tinyude.fleet.shapes import fitted_numbers, form_text, freed, term_form, with_fitted_numbers
from tinyude.fleet.work import Recipe
from tinyude.physics.file import load_physics_file
from tinyude.physics.library import given_terms

START = {"omega": -0.7, "tanh(26.0*omega)": -1.4}
TERM = "tanh(26.0*omega)"


def test_term_form_and_form_text_undo_each_other() -> None:
    physics = tu.Physics(["x"], ["-x"])
    term = given_terms(physics, ["exp(-3.5*x**2)*tanh(2.25*x)"])[0]
    form, numbers = term_form(term)
    assert sorted(map(abs, numbers)) == [2.25, 3.5]
    assert given_terms(physics, [form_text(form, numbers, 4)]) == [term]


def test_freed_physics_learns_coefficients_and_the_number() -> None:
    physics = tu.Physics(["theta", "omega"], ["omega", "-9.81*sin(theta)"])
    free = freed(physics, 1, START, TERM)
    assert len(free.learned) == 3 and free.angles == physics.angles
    x = np.array([0.3, 0.2])
    expected = physics.field(x) + np.array([0.0, -0.7 * 0.2 - 1.4 * np.tanh(26.0 * 0.2)])
    assert free.field(x) == pytest.approx(expected)


def test_fitted_numbers_hold_the_true_width_from_a_wrong_start(tmp_path: Path) -> None:
    rig = load_physics_file(SimulatedFleet(machines=1, weeks=1, seconds=15.0, seed=5).write(tmp_path))
    unit = find_units(f"{tmp_path}/logs/{{machine}}/{{date}}.parquet")[0]
    found = fitted_numbers((unit, START), Recipe(rig), state=1, term=TERM)
    assert found is not None
    (value, error), = found  # fmt: skip
    assert abs(value - SHARP) < 4.0 * error and error < 0.05 * SHARP


def test_with_fitted_numbers_takes_the_mean_by_errors_and_needs_several_machines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = [[(19.9, 0.1)], [(20.1, 0.1)], [(20.0, 0.1)], [(35.0, 20.0)], None]
    recipe = Recipe(tu.fleet.run.rig_of(tu.Physics(["omega"], ["-omega"])))
    monkeypatch.setattr(shapes, "results", lambda client, work, items, name: [(None, row, None) for row in items])
    assert with_fitted_numbers(None, told, recipe, 0, TERM) == "tanh(20*omega)"
    assert with_fitted_numbers(None, told[-3:], recipe, 0, TERM) == TERM
