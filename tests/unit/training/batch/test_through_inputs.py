"""A cart with a pole: friction of the cart is a force, and enters both accelerations as the motor's force does."""

from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import tinyude as tu

pytestmark = pytest.mark.slow
VALUES = {"M": 1.0, "m": 0.3, "l": 0.5, "g": 9.81}
RATES = [
    "v",
    "w",
    "(f + m*sin(a)*(l*w**2 + g*cos(a)))/(M + m*sin(a)**2)",
    "(-f*cos(a) - m*l*w**2*cos(a)*sin(a) - (M + m)*g*sin(a))/(l*(M + m*sin(a)**2))",
]
CART = tu.Physics(["p", "a", "v", "w"], RATES, inputs=["f"], parameters=VALUES)


def force(t: np.ndarray) -> np.ndarray:
    return 6.0 * np.sin(1.7 * t) + 4.0 * np.sin(4.1 * t + 0.5)


def friction(v: np.ndarray) -> np.ndarray:
    return -0.8 * v - 0.6 * np.tanh(v / 0.05)


def record() -> tuple[np.ndarray, np.ndarray]:
    t = np.arange(0.0, 15.0, 0.005)

    def rate(now: float, x: np.ndarray) -> np.ndarray:
        return np.asarray(CART.field(x, np.array([force(now) + friction(x[2])])))

    states = solve_ivp(rate, (0.0, 15.0), [0.0, 0.3, 0.0, 0.0], "LSODA", t, rtol=1e-8, atol=1e-8).y.T
    return t, states


@pytest.fixture(scope="module")
def found() -> tuple[tu.UDE, np.ndarray, np.ndarray]:
    t, states = record()
    noise = 0.001 * states[:, :2].std(axis=0) * np.random.default_rng(3).standard_normal((len(t), 2))
    ude = tu.UDE(CART, measured=["p", "a"]).fit(states[:, :2] + noise, t=t, u=force(t))
    return ude, t, states


def test_friction_is_found_as_a_force(found: tuple[tu.UDE, np.ndarray, np.ndarray]) -> None:
    ude, t, states = found
    assert {(row["state"], row["term"].split("(")[0]) for row in ude.terms_} == {("f", "v"), ("f", "tanh")}
    u = force(t)[:, None]
    truth = CART.field(states, u + friction(states[:, 2:3])) - CART.field(states, u)
    error = np.sqrt(np.mean((ude.residual(states, u) - truth) ** 2) / np.mean(truth**2))
    assert error < 2e-3
    assert ude.verdict_.status == "good"


def test_terms_through_inputs_are_told(found: tuple[tu.UDE, np.ndarray, np.ndarray]) -> None:
    text = str(found[0])
    assert "where f acts as f - 0.8" in text and "missing in f:" in text
    assert found[0].parameters_ == []


def test_model_with_input_terms_survives_its_file(found: tuple[tu.UDE, np.ndarray, np.ndarray], tmp_path: Path) -> None:
    ude, t, states = found
    ude.save(tmp_path / "cart.tinyude")
    again = tu.load(tmp_path / "cart.tinyude")
    u = force(t)[:, None]
    assert np.array_equal(again.residual(states, u), ude.residual(states, u))
    assert again.physics == CART and str(again) == str(ude)


def test_interval_of_input_terms_is_that_of_their_coefficients(
    found: tuple[tu.UDE, np.ndarray, np.ndarray],
) -> None:
    ude = found[0]
    at, u = np.array([0.0, 0.0, 3.0, 0.0]), np.array([0.0])
    low, high = ude.residual_interval(at, u)
    model, covariance = ude.model_, ude.model_.covariance
    assert covariance is not None
    steps = 1e-6 * np.diag(np.abs(model.unknowns) + 1e-3)
    by_unknowns = [(model.with_unknowns(model.unknowns + step).residual(at, u) - model.residual(at, u)) / step.max()
                   for step in steps]  # fmt: skip
    slopes = np.array(by_unknowns).T
    half = 1.645 * np.sqrt(np.einsum("ia,ab,ib->i", slopes, covariance, slopes))
    assert half[2] > 0.0 and high[0] == low[0]
    np.testing.assert_allclose(high - low, 2.0 * half, rtol=1e-3, atol=1e-9)
    np.testing.assert_allclose(low + high, 2.0 * ude.residual(at, u), rtol=1e-9, atol=1e-12)


def test_drag_on_rates_stays_a_term_of_rates() -> None:
    """Air drag of a planar rotorcraft acts on its velocity, not through its thrust."""
    t = np.arange(0.0, 12.0, 0.01)
    thrust = 5.0 + np.sin(2.0 * t) + 0.7 * np.sin(5.3 * t)
    tilt = 0.4 * np.sin(1.3 * t) + 0.3 * np.sin(3.1 * t)
    physics = tu.Physics(["vx", "vz"], ["-T*sin(p)", "T*cos(p) - 5.0"], inputs=["T", "p"])

    def rate(now: float, x: np.ndarray) -> list[float]:
        own, angle = np.interp(now, t, thrust), np.interp(now, t, tilt)
        return [-own * np.sin(angle) - 0.4 * x[0], own * np.cos(angle) - 5.0 - 0.4 * x[1]]

    states = solve_ivp(rate, (0.0, 12.0), [0.0, 0.0], "RK45", t, rtol=1e-8, atol=1e-8, max_step=0.01).y.T
    noisy = states + 0.005 * states.std(axis=0) * np.random.default_rng(1).standard_normal(states.shape)
    ude = tu.UDE(physics).fit(noisy, t=t, u=np.stack([thrust, tilt], axis=1))
    assert {(row["state"], row["term"]) for row in ude.terms_} == {("vx", "vx"), ("vz", "vz")}


def test_model_survives_its_file_if_refinement_drops_the_only_term_of_a_free_state(tmp_path: Path) -> None:
    """The windows found a term of p, which refinement drops: the perceptron's inputs stay those of its weights."""
    t = np.arange(0.0, 25.0, 0.02)
    cart = CART.with_parameters({"m": 0.2})
    pull = 2.0 * np.sin(1.1 * t) + 1.5 * np.sign(np.sin(0.9 * t))

    def rate(now: float, x: np.ndarray) -> np.ndarray:
        return np.asarray(
            cart.field(x, np.array([2.0 * np.sin(1.1 * now) + 1.5 * np.sign(np.sin(0.9 * now)) - 0.8 * x[2]]))
        )

    states = solve_ivp(rate, (0.0, 25.0), [0.0, 0.5, 0.0, 0.0], t_eval=t, rtol=1e-7, max_step=0.02).y.T
    noise = 0.002 * np.random.default_rng(3).standard_normal(states.shape)
    ude = tu.UDE(cart).fit(states + noise, t=t, u=pull[:, None])
    assert ude.config_.sees == ude.model_.sees and len(ude.model_.weights) > 0
    ude.save(tmp_path / "cart.tinyude")
    assert str(tu.load(tmp_path / "cart.tinyude")) == str(ude)
