"""Columns in each other's place, values that a term of another name stands for, and a library that explains nothing."""

import numpy as np
import pytest

import tinyude as tu
from tinyude.model.dynamics import known_dynamics
from tinyude.model.simulation import free_run

pytestmark = pytest.mark.filterwarnings("ignore::tinyude.TinyUDEWarning")


def simulated(physics: tu.Physics, start: list[float], t: np.ndarray, u: np.ndarray | None = None) -> np.ndarray:
    X = free_run(known_dynamics(physics), np.array(start), t, np.ones(len(start)), u)
    return X + 0.005 * X.std(axis=0) * np.random.default_rng(1).normal(size=X.shape)


def levels(t: np.ndarray, every: float, size: float, offset: float, seed: int) -> np.ndarray:
    values = np.random.default_rng(seed).uniform(-1.0, 1.0, int(t[-1] / every) + 2)
    return offset + size * values[(t / every).astype(int)]


@pytest.mark.parametrize(("order", "status"), [([0, 1], "good"), ([1, 0], "bad")])
def test_verdict_tells_swapped_columns(order: list[int], status: str) -> None:
    t = np.arange(0.0, 60.0, 0.05)
    truth = tu.Physics(["x", "y"], ["1 + x**2*y - 3.6*x", "2.6*x - x**2*y"])
    known = tu.Physics(["x", "y"], ["1 + x**2*y - 3.6*x", "2.6*x"])  # half of the second equation is missing
    verdict = tu.UDE(known).fit(simulated(truth, [1.0, 2.0], t)[:, order], t=t).verdict_
    assert verdict.status == status
    assert ("columns of x and y seem to be swapped" in verdict.summary) == (status == "bad")


@pytest.mark.parametrize(("order", "status"), [([0, 1], "good"), ([1, 0], "bad")])
def test_verdict_tells_swapped_inputs(order: list[int], status: str) -> None:
    t = np.arange(0.0, 300.0, 0.5)
    u = np.column_stack([levels(t, 13.0, 1.0, 1.0, 2), levels(t, 9.0, 1.0, 2.0, 3)])
    truth = tu.Physics(["h"], ["a - 0.5*b - 0.02*h"], ["a", "b"])
    known = tu.Physics(["h"], ["a - 0.5*b"], ["a", "b"])
    verdict = tu.UDE(known).fit(simulated(truth, [1.0], t, u), t=t, u=u[:, order]).verdict_
    assert verdict.status == status
    assert ("inputs a and b seem to be swapped" in verdict.summary) == (status == "bad")


@pytest.mark.parametrize(("factor", "status"), [(1.0, "good"), (2.0, "caution")])
def test_verdict_reads_a_value_off_a_term_that_looks_like_yours(factor: float, status: str) -> None:
    t = np.arange(0.0, 900.0, 0.5)
    u = levels(t, 25.0, 18.0, 0.0, 4)[:, None]
    truth = tu.Physics(["v"], ["(i - 6*(exp(25*v) - exp(-25*v))/2)/800"], ["i"])
    known = tu.Physics(["v"], ["i/C"], ["i"], {"C": factor * 800.0})
    library = ["v", "v**3", "v**5", "i*cos(3*v)"]  # v is small, so that the last one is i
    verdict = tu.UDE(known, library=library, network=None).fit(simulated(truth, [0.0], t, u), t=t, u=u).verdict_
    assert verdict.status == status
    assert ("another value of C explains it" in verdict.summary) == (status == "caution")


def test_fit_leaves_the_network_out_where_none_is_wanted_and_no_term_fits() -> None:
    t = np.arange(0.0, 6000.0, 2.0)
    u = levels(t, 250.0, 1000.0, 1300.0, 5)[:, None]
    truth = tu.Physics(["T"], ["(u - 6e-9*(T**4 - 300**4) - 1.5*(T - 300))/500"], ["u"])
    known = tu.Physics(["T"], ["(u - 1.5*(T - 300))/500"], ["u"])
    ude = tu.UDE(known, library=["sin(0.09*T)"], network=None).fit(simulated(truth, [500.0], t, u), t=t, u=u)
    assert ude.verdict_.status == "bad"
    assert not ude.config_.hidden
    assert "network" not in str(ude)


def test_verdict_takes_a_missing_term_for_no_value_that_is_wrong() -> None:
    t = np.arange(0.0, 60.0, 0.02)
    u = levels(t, 1.5, 0.4, 0.8, 6)[:, None]
    truth = tu.Physics(["P"], ["u - 0.3*sqrt(P - 1) - 0.15*(P - 1)"], ["u"])
    known = tu.Physics(["P"], ["u - k*sqrt(P - 1)"], ["u"], {"k": 0.3})  # P itself looks like sqrt(P - 1) from 2 to 4
    assert tu.UDE(known).fit(simulated(truth, [3.0], t, u), t=t, u=u).verdict_.status == "good"


def test_verdict_takes_known_terms_that_a_network_balances_for_no_matter_of_units() -> None:
    t = np.arange(0.0, 120.0, 0.05)
    u = levels(t, 4.0, 0.35, 0.8, 7)[:, None]
    truth = tu.Physics(["Q"], ["(40*n**2 - 900*Q**2 - 40*Q)/30"], ["n"])
    known = tu.Physics(["Q"], ["(40*n**2 - 900*Q**2)/30"], ["n"])  # 40 times the rate
    assert tu.UDE(known, library=None).fit(simulated(truth, [0.15], t, u), t=t, u=u).verdict_.status == "good"
