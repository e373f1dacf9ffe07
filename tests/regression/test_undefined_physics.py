"""Known physics and terms without a value, beyond all numbers, or 0 throughout: told in one line, or left out."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import tinyude as tu

TIMES = np.arange(0.0, 60.0, 0.05)


def emptied_tank(empty: float) -> tuple[np.ndarray, np.ndarray]:
    """Level and inflow of a leaking tank whose inflow stops for so many seconds."""
    inflow = np.where(-empty > TIMES % 30.0 - 30.0, 0.6 + 0.2 * np.sin(TIMES), 0.0)

    def rate(t: float, level: np.ndarray) -> np.ndarray:
        return np.interp(t, TIMES, inflow) - 0.5 * np.sqrt(np.maximum(level, 0.0)) - 0.1 * level

    level = solve_ivp(rate, (0.0, 60.0), [0.5], t_eval=TIMES, rtol=1e-8, atol=1e-10, max_step=0.05).y[0]
    return level + 0.01 * level.std() * np.random.default_rng(1).standard_normal(len(level)), inflow


def test_fit_leaves_out_windows_in_which_the_known_physics_has_no_value() -> None:
    level, inflow = emptied_tank(5.0)
    physics = tu.Physics(["h"], ["q - 0.5*sqrt(h)"], inputs=["q"])
    ude = tu.UDE(physics, hold="linear").fit(level, t=0.05, u=inflow)
    [row] = ude.terms_
    assert row["term"] == "h" and row["learned"] == pytest.approx(-0.1, abs=0.01)


def test_fit_rejects_physics_without_a_value_in_much_of_a_record() -> None:
    level, inflow = emptied_tank(20.0)
    physics = tu.Physics(["h"], ["q - 0.5*sqrt(h)"], inputs=["q"])
    with pytest.raises(tu.TinyUDEError, match=r"not finite at h = -.*at most 20%.*sqrt\(abs\(x\)\)"):
        tu.UDE(physics).fit(level, t=0.05, u=inflow)


@pytest.fixture(scope="module")
def swing() -> tuple[np.ndarray, np.ndarray]:
    t, Y = tu.systems.pendulum("A").stream(noise=0.01, seconds=8.0)
    return np.asarray(t), np.asarray(Y)


@pytest.mark.parametrize("rhs", ["1e200*theta", "*".join(["(theta + omega + 1)**16"] * 15), "-g*sin(theta)"])
def test_fit_rejects_physics_whose_squares_are_no_numbers(swing: tuple[np.ndarray, np.ndarray], rhs: str) -> None:
    t, Y = swing
    physics = tu.Physics(["theta", "omega"], ["omega", rhs], parameters={"g": tu.Parameter(1e200)})
    with pytest.raises(tu.TinyUDEError, match=r"physics of omega is beyond 1e\+100 at theta = .*check the equation"):
        tu.UDE(physics).fit(Y, t=t)


@pytest.mark.parametrize(
    "term", ["max(theta - 100, 0)", "1e-200*omega", "exp(-1000*(theta - 50)**2)", "exp(9000*theta)"]
)
def test_fit_rejects_to_keep_a_term_of_which_the_record_says_nothing(
    swing: tuple[np.ndarray, np.ndarray], term: str
) -> None:
    t, Y = swing
    physics = tu.Physics(["theta", "omega"], ["omega", "-9.81*sin(theta)"])
    with pytest.raises(tu.TinyUDEError, match=r"keep=True keeps the term .* is 0 throughout.*: leave it out, or"):
        tu.UDE(physics, library=[term, "omega"], keep=True).fit(Y, t=t)
    offered = tu.UDE(physics, library=[term, "omega"], refine=False).fit(Y, t=t)
    assert [row["term"] for row in offered.terms_] == ["omega"]
    alone = tu.UDE(physics, library=[term], network=None, refine=False).fit(Y, t=t)
    assert alone.terms_ == []
