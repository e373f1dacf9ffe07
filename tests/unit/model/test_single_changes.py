"""One change of the known part that explains what was learned is named: a value, swapped inputs, a late channel."""

import re
from typing import Any

import numpy as np
import pytest

import tinyude as tu
from tinyude.model.dynamics import known_dynamics
from tinyude.model.simulation import free_run
from tinyude.model.validation import free_run as run_beside
from tinyude.physics import Parameter, Physics

SPRING = ["v", "(F - k*x - 0.4*v)/m"]


def record(physics: Physics, start: list[float], t: np.ndarray, u: np.ndarray, noise: float = 0.003) -> np.ndarray:
    """Noisy samples of all states; noise: of each one's spread."""
    x = free_run(known_dynamics(physics), np.array(start), t, np.maximum(np.abs(start), 1.0), u)
    return x + noise * x.std(axis=0) * np.random.default_rng(1).standard_normal(x.shape)


def held(t: np.ndarray, seconds: float, low: float, high: float, seed: int) -> np.ndarray:
    levels = np.random.default_rng(seed).uniform(low, high, int(t[-1] / seconds) + 1)
    return levels[(t / seconds).astype(int)]


def spring(mass: float, **options: Any) -> tu.UDE:
    t = np.arange(0.0, 30.0, 0.01)
    F = held(t, 0.8, -5.0, 5.0, 2)[:, None]
    Y = record(Physics(["x", "v"], SPRING, ["F"], {"k": 20.0, "m": 2.0}), [0.2, 0.0], t, F)
    known = Physics(["x", "v"], ["v", "(F - k*x)/m"], ["F"], {"k": 20.0, "m": mass})
    return tu.UDE(known, **options).fit(Y, t=0.01, u=F)


@pytest.mark.parametrize(("mass", "status"), [(2.0, "good"), (4.0, "caution")])
def test_a_value_that_a_network_makes_up_for_is_named(mass: float, status: str) -> None:
    verdict = spring(mass, library=None).verdict_
    assert verdict.status == status
    assert ("the value of the parameter m = 4 seems to be wrong" in str(verdict).lower()) == (mass == 4.0)


@pytest.mark.parametrize(("mass", "said"), [(12.0, False), (24.0, True)])
def test_a_value_that_several_learned_terms_make_up_for_is_named(mass: float, said: bool) -> None:
    t = np.arange(0.0, 40.0, 0.01)
    F = held(t, 0.7, 0.0, 240.0, 3)[:, None]
    truth = Physics(["v"], ["(F - 9.81*m)/(m + 30) - 0.9*v"], ["F"], {"m": 12.0})
    Y = record(truth, [0.0], t, F)
    ude = tu.UDE(Physics(["v"], ["(F - 9.81*m)/(m + 30)"], ["F"], {"m": mass})).fit(Y, t=0.01, u=F)
    assert (ude.verdict_.status == "good") != said
    assert ("m = 12 instead of your 24 explains what was learned of" in str(ude.verdict_)) == said


@pytest.mark.parametrize("swapped", [False, True])
def test_swapped_inputs_are_named_beside_a_large_missing_term(swapped: bool) -> None:
    t = np.arange(0.0, 600.0, 0.5)
    u = np.column_stack([held(t, 25.0, 2.0, 14.0, 4), held(t, 33.0, 3.0, 13.0, 5)])
    truth = Physics(["T"], ["(P - 0.6*(T - R))/8 - 0.02*T"], ["P", "R"])
    Y = record(truth, [18.0], t, u)
    ude = tu.UDE(Physics(["T"], ["(P - 0.6*(T - R))/8"], ["P", "R"])).fit(Y, t=0.5, u=u[:, ::-1] if swapped else u)
    assert ("inputs P and R seem to be swapped" in str(ude.verdict_)) == swapped
    assert (ude.verdict_.status == "good") != swapped


@pytest.mark.parametrize("late", [0, 4])
def test_a_late_channel_is_named_that_is_no_rate_of_another(late: int) -> None:
    t = np.arange(0.0, 400.0, 0.5)
    u = held(t, 20.0, 0.0, 2.0, 6)[:, None]
    truth = Physics(["a", "b"], ["u - 0.2*a", "0.3*a - 0.12*b"], ["u"])
    Y = record(truth, [4.0, 9.0], t, u, 0.001)
    Y[late:, 1] = Y[: len(Y) - late, 1]
    ude = tu.UDE(truth).fit(Y[late:], t=0.5, u=u[late:])
    named = [reason for reason in ude.verdict_.reasons if reason.kind == "late"]
    assert bool(named) == bool(late) and (ude.verdict_.status == "good") != bool(late)
    assert not late or ("b seems to be logged about 2" in named[0].text and "late" in named[0].text)


@pytest.mark.parametrize("late", [0, 9])
def test_a_late_channel_is_named_although_a_term_is_missing(late: int) -> None:
    t = np.arange(0.0, 80.0, 0.05)
    u = held(t, 3.0, 0.1, 1.1, 7)[:, None]
    truth = Physics(["a", "b"], ["-0.6*a + 0.35*b - 0.8*a/(1.5 + a) + u", "0.6*a - 0.35*b"], ["u"])
    Y = record(truth, [1.0, 0.5], t, u)
    Y[late:, 1] = Y[: len(Y) - late, 1]
    known = Physics(["a", "b"], ["-0.6*a + 0.35*b + u", "0.6*a - 0.35*b"], ["u"])
    verdict = tu.UDE(known).fit(Y[late:], t=0.05, u=u[late:]).verdict_
    assert (verdict.status == "good") != bool(late)
    found = re.match(r"b seems to be logged about ([\d.]+) s .* too late", verdict.summary)
    assert bool(found) == bool(late) and (not found or float(found[1]) == pytest.approx(0.05 * late, rel=0.2))


@pytest.mark.parametrize(("power", "said"), [("sqrt(a - b)", False), ("(a - b)", True)])
def test_the_exponent_of_a_difference_is_named(power: str, said: bool) -> None:
    t = np.arange(0.0, 60.0, 0.05)
    u = held(t, 2.0, 0.4, 1.2, 8)[:, None]
    truth = Physics(["a", "b"], ["u - sqrt(a - b)", "sqrt(a - b) - 0.5*b - 0.1*b**2"], ["u"])
    Y = record(truth, [2.5, 1.0], t, u)
    verdict = tu.UDE(Physics(["a", "b"], [f"u - {power}", f"{power} - 0.5*b"], ["u"])).fit(Y, t=0.05, u=u).verdict_
    assert (verdict.status == "good") != said
    assert ("exponent of a - b in" in verdict.summary and "seems to be 1/2, not 1" in verdict.summary) == said


def test_known_physics_alone_runs_with_the_values_that_were_given() -> None:
    t = np.arange(0.0, 20.0, 0.05)
    Y = record(Physics(["x"], ["-0.3*x"]), [5.0], t, np.zeros((len(t), 0)), 0.001)
    ude = tu.UDE(Physics(["x"], ["-k*x"], (), {"k": Parameter(0.6, True, 0.01, 3.0)})).fit(Y, t=0.05)
    run = run_beside(ude, t, Y, name="measured", x0=np.array([5.0]))
    np.testing.assert_allclose(run["known"][:, 0], 5.0 * np.exp(-0.6 * t), atol=1e-6)
    np.testing.assert_allclose(run["model"][:, 0], 5.0 * np.exp(-0.3 * t), atol=0.02)
