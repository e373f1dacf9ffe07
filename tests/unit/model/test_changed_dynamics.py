"""A record within which friction jumps: the fit says so, and when."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import tinyude as tu

PHYSICS = tu.Physics(["th", "w"], ["w", "-9.81*sin(th) + tau"], inputs=["tau"])


def driven(before: float, after: float, when: float, seed: int = 0, dry: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """A driven pendulum for 60 s at 100 Hz whose friction changes from one value to another."""
    rng, t = np.random.default_rng(seed), 0.01 * np.arange(6_000)
    size, rate, phase = rng.standard_normal(5), rng.uniform(0.1, 0.8, 5), rng.uniform(0.0, 6.0, 5)

    def torque(s: float) -> float:
        return 2.0 * float(np.sum(size * np.sin(2.0 * np.pi * rate * s + phase)))

    def field(s: float, x: np.ndarray) -> list[float]:
        friction = (before if s < when else after) * (np.tanh(20.0 * x[1]) if dry else x[1])
        return [x[1], -9.81 * np.sin(x[0]) + torque(s) - friction]

    x = solve_ivp(field, (0.0, t[-1]), [1.0, 0.0], t_eval=t, rtol=1e-8, atol=1e-9, max_step=0.02).y.T
    return x + 0.01 * rng.standard_normal(x.shape), np.array([[torque(s)] for s in t])


@pytest.mark.parametrize(
    ("dry", "when", "refine"),
    [(False, 30.0, True), (False, 20.0, True), (True, 30.0, True), (False, 30.0, False), (True, 30.0, False)],
)
def test_a_jump_of_friction_is_named_with_its_time(dry: bool, when: float, refine: bool) -> None:
    samples, torque = driven(0.3, 0.6, when, seed=0, dry=dry)
    verdict = tu.UDE(PHYSICS, refine=refine).fit(samples, u=torque, t=0.01).verdict_
    (reason,) = [r for r in verdict.reasons if r.kind == "change" and r.severity == "caution"]
    told = float(reason.text.split("about ")[1].split(" s ")[0])
    assert verdict.status != "good" and abs(told - when) < 4.0
    assert "partial_fit" in reason.remedy


def test_no_jump_is_told_where_there_is_none() -> None:
    samples, torque = driven(0.3, 0.3, 30.0, seed=1)
    verdict = tu.UDE(PHYSICS).fit(samples, u=torque, t=0.01).verdict_
    assert not [r for r in verdict.reasons if r.kind == "change"]
