import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from scipy.integrate import cumulative_trapezoid

from tinyude import native
from tinyude.errors import TinyUDEError
from tinyude.estimator.ude import UDE
from tinyude.model.dynamics import Dynamics, known_dynamics
from tinyude.model.simulation import RUNAWAY, free_run, free_runs, outside, rollout
from tinyude.physics import Physics

TIMES = np.linspace(0.0, 3.0, 61)


def pendulum_physics() -> Physics:
    return Physics(["theta", "omega"], ["omega", "-9.81*sin(theta)"])


def test_rollout_follows_the_exact_solution() -> None:
    found = rollout(lambda x: np.array([x[1], -4.0 * x[0]]), [1.0, 0.0], TIMES, np.ones(2))
    np.testing.assert_allclose(found[:, 0], np.cos(2.0 * TIMES), atol=1e-6)
    assert found.shape == (61, 2)
    np.testing.assert_array_equal(found[0], [1.0, 0.0])


def pendulum(inputs: bool) -> Dynamics:
    rate = "-9.81*sin(theta) - 0.2*omega" + (" + tau" if inputs else "")
    return known_dynamics(Physics(["theta", "omega"], ["omega", rate], ["tau"] if inputs else []))


def scalar(rate: str, inputs: Sequence[str] = ()) -> Dynamics:
    return known_dynamics(Physics(["x"], [rate], inputs))


@pytest.fixture(params=["compiled", "scipy"])
def without_core(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways to simulate."""
    known_dynamics.cache_clear()
    if request.param == "scipy":
        monkeypatch.setattr("tinyude.native.available", lambda: False)
    elif not native.available():
        pytest.skip("the core is not compiled")


@pytest.mark.usefixtures("without_core")
def test_free_run_follows_the_exact_solution() -> None:
    oscillator = known_dynamics(Physics(["x", "v"], ["v", "-4*x"]))
    found = free_run(oscillator, [1.0, 0.0], TIMES, np.ones(2))
    np.testing.assert_allclose(found[:, 0], np.cos(2.0 * TIMES), atol=1e-6)


@pytest.mark.usefixtures("without_core")
@pytest.mark.parametrize(
    ("hold", "area"),
    [("held", lambda t, u: np.cumsum(u[:-1] * np.diff(t))), ("linear", lambda t, u: cumulative_trapezoid(u, t))],
)
def test_free_run_integrates_inputs_as_they_are_held(hold: str, area: Any) -> None:
    rows = np.where(TIMES < 1.0, 2.0, -1.0)
    found = free_run(scalar("u + 0*x", ["u"]), [0.0], TIMES, np.ones(1), rows, hold=hold)
    np.testing.assert_allclose(found[1:, 0], area(TIMES, rows), atol=1e-9)


@pytest.mark.usefixtures("without_core")
@pytest.mark.parametrize("seconds", [3.0, 300.0])
def test_free_run_is_as_exact_where_few_times_are_asked_for(seconds: float) -> None:
    dense, far = np.arange(0.0, seconds, 0.01), [0.0, np.arange(0.0, seconds, 0.01)[-1]]
    found = free_run(pendulum(False), [2.0, 0.0], far, np.array([1.0, 3.0]))
    np.testing.assert_allclose(found[-1], free_run(pendulum(False), [2.0, 0.0], dense, np.ones(2))[-1], atol=1e-6)


@pytest.mark.skipif(not native.available(), reason="the core is not compiled")
def test_free_run_of_a_switching_field_comes_to_its_end_where_few_times_are_asked_for() -> None:
    found = free_run(scalar("-sign(x) + 0.2"), [1.0], [0.0, 5.0], np.ones(1))
    assert abs(found[-1, 0]) < 1e-3


@pytest.mark.skipif(not native.available(), reason="the core is not compiled")
@pytest.mark.parametrize("inputs", [False, True])
def test_free_runs_agree_with_scipy_and_with_single_runs(inputs: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    starts, u = rng.normal(size=(5, 2)), rng.normal(size=(5, len(TIMES), 1)) if inputs else None
    found = free_runs(pendulum(inputs), starts, TIMES, np.ones(2), u).states
    single = free_run(pendulum(inputs), starts[3], TIMES, np.ones(2), None if u is None else u[3])
    np.testing.assert_array_equal(found[3], single)
    known_dynamics.cache_clear()
    monkeypatch.setattr("tinyude.native.available", lambda: False)
    np.testing.assert_allclose(found, free_runs(pendulum(inputs), starts, TIMES, np.ones(2), u).states, atol=2e-6)
    known_dynamics.cache_clear()


@pytest.mark.skipif(not native.available(), reason="the core is not compiled")
def test_free_runs_answer_the_same_at_fewer_times() -> None:
    whole = free_runs(pendulum(False), [[1.2, 0.0]], TIMES, np.ones(2)).states[0]
    few = free_runs(pendulum(False), [[1.2, 0.0]], TIMES[::7], np.ones(2)).states[0]
    np.testing.assert_allclose(few, whole[::7], atol=1e-6)


@pytest.mark.usefixtures("without_core")
def test_free_runs_mark_the_run_that_diverges() -> None:
    runs = free_runs(scalar("x**2"), [[1.0], [-1.0]], TIMES, np.ones(1))
    assert runs.diverged[0] == pytest.approx(1.0, abs=0.01) and np.isnan(runs.diverged[1])
    assert np.isnan(runs.states[0, -1, 0])
    np.testing.assert_allclose(runs.states[1, :, 0], -1.0 / (1.0 + TIMES), atol=1e-6)


@pytest.mark.usefixtures("without_core")
def test_free_run_says_when_a_driven_model_diverges() -> None:
    with pytest.raises(TinyUDEError, match=r"diverged at t = 1\.3"):
        free_run(scalar("5*x + u", ["u"]), [1.0], TIMES, np.ones(1), np.zeros(61))


@pytest.mark.skipif(not native.available(), reason="the core is not compiled")
def test_free_runs_give_up_early_where_steps_are_too_short_ever_to_end() -> None:
    late = free_runs(scalar("1 - 1e8*x"), [[1.0]], TIMES, np.ones(1)).diverged[0]
    assert 0.0 < late < 0.05  # after 20,000,000 steps it would be beyond 0.5


@pytest.mark.skipif(not native.available(), reason="the core is not compiled")
def test_free_runs_end_where_they_take_many_steps() -> None:
    runs = free_runs(scalar("1 - 3e5*x"), [[1.0]], TIMES, np.ones(1))  # more than one look at the pace
    assert np.isnan(runs.diverged[0]) and runs.states[0, -1, 0] == pytest.approx(1.0 / 3e5, abs=1e-7)


def test_free_run_passes_a_switching_term(short_stream: tuple[float, np.ndarray], quick_engine: str) -> None:
    period, samples = short_stream
    ude = UDE(pendulum_physics(), hidden=(), library=["sign(omega)"], engine=quick_engine).fit(samples, period)
    speed = ude.simulate([1.0, 0.0], np.arange(0.0, 20.0, 0.01))[:, 1]
    assert np.abs(speed[-100:]).max() < 0.1 * np.abs(speed[:100]).max()  # dry friction brings it to rest


def test_simulate_equals_the_field_of_the_model(fitted: UDE) -> None:
    """One program for terms, networks and known physics: its slope is what predict says, on any revolution."""
    x = np.random.default_rng(0).normal(size=(20, 2)) + np.array([4.0 * np.pi, 0.0])
    np.testing.assert_allclose(fitted.model_.dynamics.field(x), fitted.predict(x), rtol=1e-9)


def test_simulate_takes_many_starts(fitted: UDE) -> None:
    starts = np.array([[0.5, 0.0], [-0.2, 1.0]])
    found = fitted.simulate(starts, TIMES)
    assert found.shape == (2, len(TIMES), 2)
    np.testing.assert_array_equal(found[1], fitted.simulate(starts[1], TIMES))


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
def test_rollout_rejects_a_start_that_does_not_fit(x0: list[float]) -> None:
    with pytest.raises(TinyUDEError, match="2 finite numbers"):
        rollout(lambda x: -x, x0, TIMES, np.ones(2))


@pytest.mark.parametrize("times", [[], [0.0, 0.0], [1.0, 0.5], [0.0, np.nan], [[0.0, 1.0]]])
def test_rollout_rejects_times_that_do_not_rise(times: list[float]) -> None:
    with pytest.raises(TinyUDEError, match="rising"):
        rollout(lambda x: -x, [1.0], times, np.ones(1))


def test_extrapolation_names_the_state_and_the_moment(fitted: UDE) -> None:
    low, high = fitted.diagnostics_["visited"]["omega"]
    inside = np.array([[0.0, 0.9 * low], [0.0, 0.9 * high]])
    assert fitted.extrapolation(inside) == []
    [said] = fitted.extrapolation(np.vstack([inside, [[0.0, 2.0 * high]]]), times=[0.0, 1.0, 2.5])
    assert said.startswith(f"omega reaches {2.0 * high:.4g} from t = 2.5 s on") and "extrapolates" in said
    assert fitted.extrapolation([0.1 + 4.0 * np.pi, 0.0]) == []  # the same angle two revolutions on


@pytest.mark.parametrize(("value", "leaves"), [(1.09, False), (1.11, True), (-0.09, False), (-0.11, True)])
def test_outside_allows_a_tenth_of_the_visited_range(value: float, leaves: bool) -> None:
    assert bool(outside(np.array([[0.5], [value]]), ["x"], {"x": (0.0, 1.0)}, [])) == leaves


def test_simulate_rejects_inputs_that_are_no_numbers(short_stream: tuple[float, np.ndarray], quick_engine: str) -> None:
    period, samples = short_stream
    driven = Physics(["theta", "omega"], ["omega", "-9.81*sin(theta) + tau"], inputs=["tau"])
    ude = UDE(driven, hidden=(), library=["omega"], engine=quick_engine)
    ude.fit(samples, period, np.sin(np.arange(len(samples))))
    with pytest.raises(TinyUDEError, match=r"u is not a number at t = 0.5 s"):
        ude.simulate([0.1, 0.0], [0.0, 0.5, 1.0], [0.0, np.nan, 0.0])


def test_free_runs_agree_from_several_threads() -> None:
    """The compiled field of a physics is shared: every call has a plan of its own."""
    dynamics = known_dynamics(pendulum_physics())
    starts = np.random.default_rng(0).uniform(-1.0, 1.0, (16, 2))
    lengths = [40 + 7 * k for k in range(16)]

    def run(k: int) -> np.ndarray:
        return free_run(dynamics, starts[k], np.linspace(0.0, 2.0, lengths[k]), np.ones(2))

    alone = [run(k) for k in range(16)]
    with ThreadPoolExecutor(4) as pool:
        for together, single in zip(pool.map(run, range(16)), alone, strict=True):
            np.testing.assert_array_equal(together, single)
