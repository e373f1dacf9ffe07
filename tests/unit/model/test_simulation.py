import re

import numpy as np
import pytest

from tinyude.errors import TinyUDEError
from tinyude.model.simulation import RUNAWAY, held_rollout, rollout
from tinyude.physics import Physics
from tinyude.ude import UDE

TIMES = np.linspace(0.0, 3.0, 61)


def test_rollout_follows_the_exact_solution() -> None:
    found = rollout(lambda x: np.array([x[1], -4.0 * x[0]]), [1.0, 0.0], TIMES, np.ones(2))
    np.testing.assert_allclose(found[:, 0], np.cos(2.0 * TIMES), atol=1e-6)
    assert found.shape == (61, 2)
    np.testing.assert_array_equal(found[0], [1.0, 0.0])


def test_rollout_holds_inputs_from_each_time_to_the_next() -> None:
    rows = np.where(TIMES < 1.0, 2.0, -1.0)
    found = held_rollout(lambda x, u: u - 0.0 * x, [0.0], TIMES, rows[:, None], np.ones(1), 0.01)
    expected = np.concatenate([[0.0], np.cumsum(rows[:-1] * np.diff(TIMES))])
    np.testing.assert_allclose(found[:, 0], expected, atol=1e-12)


def test_held_rollout_says_when_a_model_diverges() -> None:
    with pytest.raises(TinyUDEError, match=r"diverged at t = "):
        held_rollout(lambda x, u: 5.0 * x, [1.0], TIMES, np.zeros((61, 1)), np.ones(1), 0.01)


def test_rollout_of_one_time_is_the_start() -> None:
    np.testing.assert_array_equal(rollout(lambda x: -x, [2.0], [5.0], np.ones(1)), [[2.0]])


def test_rollout_says_when_a_model_diverges() -> None:
    with pytest.raises(TinyUDEError, match=r"diverged at t = .* s: a state grew beyond .*shorter stretch") as caught:
        rollout(lambda x: 5.0 * x, [1.0], TIMES, np.ones(1))
    said = re.search(r"t = ([\d.]+) s", str(caught.value))
    assert said and float(said[1]) == pytest.approx(np.log(RUNAWAY) / 5.0, rel=1e-3)


def test_rollout_says_when_a_model_blows_up_in_finite_time() -> None:
    with pytest.raises(TinyUDEError, match=r"diverged at t = 0\.99"):
        rollout(lambda x: x**2, [1.0], TIMES, np.ones(1))


@pytest.mark.parametrize("answer", [np.nan, np.inf])
def test_rollout_never_returns_what_is_not_a_number(answer: float) -> None:
    def broken(x: np.ndarray) -> np.ndarray:
        return np.where(x > 2.0, answer, 1.0)

    with pytest.raises(TinyUDEError, match=r"diverged at t = "):
        rollout(broken, [1.0], TIMES, np.ones(1))


@pytest.mark.parametrize("x0", [[1.0], [1.0, np.nan], [1.0, 2.0, 3.0]])
def test_rollout_refuses_a_start_that_does_not_fit(x0: list[float]) -> None:
    with pytest.raises(TinyUDEError, match="2 finite numbers"):
        rollout(lambda x: -x, x0, TIMES, np.ones(2))


@pytest.mark.parametrize("times", [[], [0.0, 0.0], [1.0, 0.5], [0.0, np.nan], [[0.0, 1.0]]])
def test_rollout_refuses_times_that_do_not_rise(times: list[float]) -> None:
    with pytest.raises(TinyUDEError, match="rising"):
        rollout(lambda x: -x, [1.0], times, np.ones(1))


def test_extrapolation_names_the_state_and_the_moment(fitted: UDE) -> None:
    low, high = fitted.diagnostics_["visited"]["omega"]
    inside = np.array([[0.0, 0.9 * low], [0.0, 0.9 * high]])
    assert fitted.extrapolation(inside) == []
    [said] = fitted.extrapolation(np.vstack([inside, [[0.0, 2.0 * high]]]), times=[0.0, 1.0, 2.5])
    assert said.startswith(f"omega reaches {2.0 * high:.4g} from t = 2.5 s on") and "extrapolates" in said
    assert fitted.extrapolation([0.1 + 4.0 * np.pi, 0.0]) == []  # the same angle two turns on


def test_simulate_refuses_inputs_that_are_no_numbers(short_stream: tuple[float, np.ndarray], quick_engine: str) -> None:
    period, samples = short_stream
    driven = Physics(["theta", "omega"], ["omega", "-9.81*sin(theta) + tau"], inputs=["tau"])
    ude = UDE(driven, hidden=(), library=["omega"], engine=quick_engine)
    ude.fit(samples, period, np.sin(np.arange(len(samples))))
    with pytest.raises(TinyUDEError, match=r"u is not a number at t = 0.5 s"):
        ude.simulate([0.1, 0.0], [0.0, 0.5, 1.0], [0.0, np.nan, 0.0])
