"""States that no channel sees: what is missing is found where it is, whatever the guess of the state."""

from collections.abc import Sequence

import numpy as np

import tinyude as tu
from tinyude.model.dynamics import known_dynamics
from tinyude.model.simulation import free_run


def measured(true: tu.Physics, t: np.ndarray, u: np.ndarray, noise: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """States from rest, and noisy samples of the first; noise as a share of its spread."""
    states = free_run(known_dynamics(true), np.zeros(true.n_states), t, np.full(true.n_states, 1e3), u)
    sigma = noise * states[:, 0].std()
    return states, states[:, :1] + sigma * np.random.default_rng(seed).standard_normal((len(t), 1))


def errors(found: np.ndarray, true: np.ndarray, states: Sequence[int] = (0,)) -> np.ndarray:
    return np.sqrt(np.mean((found - true) ** 2, axis=0))[list(states)] / true.std(axis=0)[list(states)]


def test_friction_of_a_motor_whose_current_is_not_measured() -> None:
    """Friction was offered only of states that are told to be the rate of another; w is the rate of none."""
    rng = np.random.default_rng(1)
    t, u = 0.01 * np.arange(2000), np.repeat(rng.uniform(-6.0, 6.0, 40), 50)[:, None]
    current = "(v - i - 0.05*w)/0.02"
    true = tu.Physics(["w", "i"], ["(0.05*i - 0.002*w - 0.06*tanh(3*w))/0.01", current], inputs=["v"])
    states, speed = measured(true, t, u, 0.01, 2)
    told = tu.Physics(["w", "i"], ["(0.05*i - 0.002*w)/0.01", current], inputs=["v"])
    ude = tu.UDE(told, measured=["w"], unmeasured={"i": (0.0, 2.0)}).fit(speed, t=0.01, u=u)
    assert {row["state"] for row in ude.terms_} == {"w"}
    speeds = np.array([0.5, 3.0, -3.0])
    friction = ude.residual(np.column_stack([speeds, np.zeros(3)]), np.zeros((3, 1)))[:, 0]
    np.testing.assert_allclose(friction, -6.0 * np.tanh(3.0 * speeds), rtol=0.1)
    free = ude.simulate([0.0, 0.0], t[:500], u[:500])  # a guess of 0 is no scale: any current had diverged at once
    assert max(errors(free, states[:500], (0, 1))) < 0.02


def test_heat_loss_of_a_node_beside_two_that_are_not_measured() -> None:
    """The hold of the heater was chosen by physics that lack the loss; the first term by what it promised at 0."""
    rng = np.random.default_rng(5)
    t, u = 5.0 * np.arange(1440), np.repeat(rng.choice([0.0, 5.0, 10.0, 15.0], 24), 60)[:, None]
    nodes = ["((T1-T2)/2 - (T2-T3)/3)/90", "((T2-T3)/3 - T3/5)/200"]
    true = tu.Physics(["T1", "T2", "T3"], ["(P - (T1-T2)/2)/40 - 0.002*T1", *nodes], inputs=["P"])
    states, sensed = measured(true, t, u, 0.004, 6)
    told = tu.Physics(["T1", "T2", "T3"], ["(P - (T1-T2)/2)/40", *nodes], inputs=["P"])
    ude = tu.UDE(told, measured=["T1"], unmeasured={"T2": (0.0, 1.0), "T3": (0.0, 1.0)}).fit(sensed, t=5.0, u=u)
    assert [(row["state"], row["term"]) for row in ude.terms_] == [("T1", "T1")]
    assert abs(ude.terms_[0]["learned"] + 0.002) < 1e-5
    assert max(errors(ude.simulate(np.zeros(3), t, u), states, (0, 1, 2))) < 0.01
    assert ude.verdict_.status == "good"


def test_a_scale_that_no_sensor_shows_is_told() -> None:
    """Only the product of two rates is determined: each alone looked surer than the direction they share."""
    rng = np.random.default_rng(0)
    t, u = 0.2 * np.arange(900), np.repeat(rng.uniform(0.2, 2.0, 18), 50)[:, None]
    true = tu.Physics(["p", "m"], ["0.6*m - 0.3*p", "1.5*u - 0.8*m"], inputs=["u"])
    _, protein = measured(true, t, u, 0.01, 1)
    guesses = {name: tu.Parameter(value, learn=True, min=0.0) for name, value in (("a", 1.0), ("d", 1.0), ("k", 1.0))}
    told = tu.Physics(["p", "m"], ["k*m - 0.3*p", "a*u - d*m"], inputs=["u"], parameters=guesses)
    ude = tu.UDE(told, measured=["p"], unmeasured={"m": (1.0, 1.0)}).fit(protein, t=0.2, u=u)
    found = {name: value for name, value, _, _ in ude.parameters_}
    assert abs(found["a"] * found["k"] - 0.9) < 0.02 and abs(found["d"] - 0.8) < 0.02
    assert ude.verdict_.status == "caution" and any("not identified" in r.text for r in ude.verdict_.reasons)
    unseen = ude.validate(2.0 * protein, 0.2, 2.0 * u)  # a motion twice as large leaves the range of the fit
    assert unseen.figures["outside"] > 0.2 and "extrapolation" in {reason.kind for reason in unseen.reasons}
