"""Effects of inputs in the fitted model against those in the known physics."""

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
import sympy as sp

import tinyude as tu
from tinyude.model.input_effects import input_effects
from tinyude.model.model import Model
from tinyude.model.windows import Windows
from tinyude.physics.input_terms import InputTerm


def drag_in_wind(noise: float = 0.01) -> tuple[tu.Physics, float, np.ndarray, np.ndarray]:
    """A cart in wind w: known are its drive F and a little linear drag, missing is the quadratic drag."""
    period, rng = 0.1, np.random.default_rng(7)
    times = period * np.arange(2500)
    drive = np.repeat(rng.uniform(-0.7, 3.0, 50), 50)
    wind = 8.0 * np.sin(0.05 * times) + 4.0 * np.sin(0.13 * times + 1.0)
    speed = np.empty(len(times))
    speed[0] = 3.0
    for k in range(len(times) - 1):
        now = speed[k]
        for _ in range(100):  # steps of 1 ms
            now += period / 100 * (drive[k] - 0.01 * (now - wind[k]) - 0.004 * (now - wind[k]) * abs(now - wind[k]))
        speed[k + 1] = now
    samples = speed + noise * speed.std() * rng.standard_normal(len(times))
    physics = tu.Physics(["v"], ["F - r*(v - w)"], inputs=["F", "w"], parameters={"r": 0.01})
    return physics, period, samples[:, None], np.stack([drive, wind], axis=1)


def test_drag_in_wind_is_no_wrong_unit_of_the_wind() -> None:
    physics, period, samples, inputs = drag_in_wind()
    found = tu.UDE(physics, refine=False).fit(samples, t=period, u=inputs)
    assert found.terms_ and all("v - w" in row["term"] for row in found.terms_)
    assert found.verdict_.status == "good", found.verdict_


def effect(physics: tu.Physics, terms: tuple[sp.Expr, ...] = (), values: tuple[float, ...] = ()) -> list[object]:
    """Of the only input u on the only state x, over u from -1 to 1, with these learned terms."""
    u = np.linspace(-1.0, 1.0, 400)[:, None]
    one = np.ones((400, 1))
    seen = SimpleNamespace(x=0.3 * one, u=u, weight=one, dx=u, rms=lambda values: np.sqrt(np.mean(values**2, axis=0)))
    learned = np.array([values])
    model = Model(
        physics=physics, on=(0,), sees=(), hidden=(), x_scale=np.ones(1), u_scale=np.ones(1),
        dx_scale=np.ones(1), weights=np.zeros(0), network_on=np.zeros(1, dtype=bool), terms=terms,
        coefficients=learned, errors=np.abs(learned), parameter_errors=np.zeros(len(physics.learned)),
    )  # fmt: skip
    (found,) = input_effects(model, cast(Windows, seen))
    return [found.factor, found.reshaped]


def test_effects_of_inputs_are_those_of_the_learned_part_over_the_stated_ones() -> None:
    u, physics = sp.Symbol("u", real=True), tu.Physics(["x"], ["2*u - x"], ["u"])
    assert effect(physics, (u,), (-1.2,)) == [pytest.approx(0.4), False]
    factor, reshaped = effect(physics, (u, sp.tanh(4 * u)), (-2.0, 1.0))
    assert reshaped and 0.5 < factor < 0.8


def test_effects_of_inputs_count_terms_that_act_through_them_as_learned() -> None:
    physics = tu.Physics(["x"], ["2*u - x"], ["u"])
    through = physics.with_input_terms([InputTerm("u", sp.Symbol("u"), "u_1", ())], {"u_1": -0.6})
    assert effect(through)[0] == pytest.approx(0.4)
