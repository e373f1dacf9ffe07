from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import sympy as sp
from scipy.linalg import expm
from sklearn.base import clone
from threadpoolctl import threadpool_info, threadpool_limits

import tinyude as tu
from tinyude.estimator.ude import UDE
from tinyude.model.result import FitResult
from tinyude.systems.signals import jittered_times
from tinyude.systems.system import System
from tinyude.training.batch.fit import batch_fit

Stream = tuple[float, np.ndarray]
QUICK = {"hidden": (), "settings": {"stride": 4}}


def spring() -> tuple[tu.Physics, np.ndarray, np.ndarray]:
    """A driven mass on a spring whose damping -0.3 v is not in the physics; the force is held between samples."""
    physics = tu.Physics(["p", "v"], ["v", "tau - 9*p"], inputs=["tau"])
    rng = np.random.default_rng(2)
    force = np.repeat(rng.uniform(-4.0, 4.0, 60), 40)
    block = expm(np.array([[0.0, 1.0, 0.0], [-9.0, -0.3, 1.0], [0.0, 0.0, 0.0]]) * 0.005)
    states = np.zeros((len(force), 2))
    for k in range(len(force) - 1):
        states[k + 1] = block[:2] @ [*states[k], force[k]]
    return physics, states + [1e-3, 4e-3] * rng.standard_normal(states.shape), force


@pytest.fixture(scope="module")
def driven(quick_engine: str) -> UDE:
    physics, samples, force = spring()
    return UDE(physics, engine=quick_engine, **QUICK).fit(samples, t=0.005, u=force)


def test_fit_recovers_the_missing_damping(pendulum: System, short_stream: Stream, engine: str) -> None:
    period, samples = short_stream
    ude = UDE(pendulum.physics, engine=engine, **QUICK).fit(samples, t=period)
    assert pendulum.field_error(ude.predict) < 5e-4
    assert pendulum.damping(ude.residual)[0] == pytest.approx(0.4, rel=0.01)
    assert ude.diagnostics_["engine"] == engine


def test_fit_diagnostics_say_what_happened(fitted: UDE, pendulum: System, short_stream: Stream) -> None:
    found = fitted.diagnostics_
    _, clean = pendulum.clean(seed=1, seconds=12.0)
    np.testing.assert_allclose(found["noise"], 0.01 * np.sqrt(np.mean(clean**2, axis=0)), rtol=0.1)
    assert found["samples"] == len(short_stream[1])
    assert found["windows"] == found["accepted"] + sum(found["rejected"].values())
    assert set(found["rejected"]) == {"gap", "nonfinite", "stuck", "misfit", "jump", "inconsistent", "still", "outside"}
    assert found["rejected"]["misfit"] + found["rejected"]["jump"] > 60  # two kicks
    assert found["updates"] == 100 and found["rolled_back"] == 0 and found["changes"] == []
    assert found["window"]["samples"] == 2 * found["window"]["half_width_samples"] + 1
    assert found["seconds"] > 0.0 and found["warnings"] == []
    assert {"preset", "precision", "noise_relative", "terms", "parameters", "network", "memory", "static_bytes"} <= set(
        found
    )


def test_fit_history_is_the_loss_by_update(fitted: UDE) -> None:
    history = fitted.history_
    assert len(history["update"]) == len(history["loss"]) > 1
    assert np.all(np.diff(history["update"]) > 0) and history["update"][-1] == 100
    assert 0.0 < history["loss"][-1] < 0.5 * history["loss"][0]


@pytest.mark.parametrize("shape", [(2,), (5, 2), (3, 4, 2), (0, 2)])
def test_predict_and_residual_keep_the_shape(fitted: UDE, pendulum: System, shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).uniform(-1.0, 1.0, shape)
    predicted, residual = fitted.predict(x), fitted.residual(x)
    assert predicted.shape == residual.shape == shape
    np.testing.assert_allclose(predicted, pendulum.physics.field(x) + residual, rtol=1e-14)
    np.testing.assert_array_equal(residual[..., 0], 0.0)  # a pure derivative has nothing to learn


def test_predict_is_the_engines_own_answer(short_stream: Stream, pendulum: System, engine: str) -> None:
    """The model evaluated in NumPy is the model that the learner holds, network included."""
    period, samples = short_stream
    ude = UDE(pendulum.physics, hidden=(4,), updates=60, library=None, skip=False, engine=engine)
    ude.fit(samples[:800], t=period)
    x = samples[:200:7]
    expected = ude._session_.engine.residual(x, np.empty((len(x), 0)))
    assert np.abs(expected).max() > 0.0
    np.testing.assert_allclose(ude.residual(x)[:, 1:], expected, rtol=1e-5, atol=1e-7)


def test_simulate_follows_the_truth(fitted: UDE, pendulum: System) -> None:
    times, states = pendulum.clean(seed=0, seconds=3.9)
    found = fitted.simulate(states[0], times[::50])
    assert found.shape == (len(times[::50]), 2)
    np.testing.assert_allclose(found, states[::50], atol=0.02)


def test_simulate_says_when_it_diverges(fitted: UDE) -> None:
    model = fitted.model_
    runaway = clone(fitted)
    coefficients = np.zeros_like(model.coefficients)
    coefficients[0, [str(term) for term in model.terms].index("omega**3")] = 1.0
    runaway.result_ = FitResult(replace(model, coefficients=coefficients))
    with pytest.raises(tu.TinyUDEError, match=r"diverged at t = \d.*shorter stretch"):
        runaway.simulate([0.0, 3.0], np.linspace(0.0, 10.0, 100))


def test_score_is_high_on_new_data_and_low_for_a_wrong_model(fitted: UDE, pendulum: System) -> None:
    _, samples = pendulum.stream(0.01, seed=7, seconds=6.0)
    assert fitted.score(samples[::5], t=0.005) > 0.999
    assert fitted.score(samples[::5] * [1.0, -1.0], t=0.005) < 0.9


def test_fit_with_positions_only(pendulum: System, short_stream: Stream, quick_engine: str) -> None:
    period, samples = short_stream
    ude = UDE(pendulum.physics, measured=["theta"], engine=quick_engine, **QUICK).fit(samples[:, :1], t=period)
    assert pendulum.field_error(ude.predict) < 0.01
    assert ude.n_features_in_ == 1 and len(ude.diagnostics_["noise"]) == 1
    assert ude.predict(samples[:3]).shape == (3, 2)


def test_fit_takes_measured_states_in_any_order(pendulum: System, short_stream: Stream, quick_engine: str) -> None:
    period, samples = short_stream
    swapped = UDE(pendulum.physics, measured=["omega", "theta"], library=["omega"], engine=quick_engine, **QUICK)
    swapped.fit(samples[:, ::-1], t=period)
    assert pendulum.damping(swapped.residual)[0] == pytest.approx(0.4, rel=0.01)


def test_fit_with_inputs_recovers_the_damping(driven: UDE) -> None:
    terms = driven.diagnostics_["terms"]
    assert [(entry["state"], entry["term"]) for entry in terms] == [("v", "v")]
    assert terms[0]["coefficient"] == pytest.approx(-0.3, abs=0.01)
    assert terms[0]["low"] < terms[0]["coefficient"] < terms[0]["high"]


def test_simulate_holds_inputs_between_times(driven: UDE) -> None:
    _, samples, force = spring()
    times = np.arange(400) * 0.005
    found = driven.simulate([0.0, 0.0], times, u=force[:400])
    np.testing.assert_allclose(found, samples[:400], atol=0.03)


@pytest.mark.parametrize("u", [None, np.ones(7), np.ones((400, 2))])
def test_simulate_rejects_inputs_that_do_not_fit(driven: UDE, u: np.ndarray | None) -> None:
    with pytest.raises(tu.TinyUDEError, match=r"a row for each of the 400 times and a column for each input \(tau\)"):
        driven.simulate([0.0, 0.0], np.arange(400) * 0.005, u=u)


@pytest.mark.parametrize("u", [None, np.ones((3, 2)), np.ones(2)])
def test_predict_rejects_inputs_that_do_not_fit(driven: UDE, u: np.ndarray | None) -> None:
    with pytest.raises(tu.TinyUDEError, match="tau"):
        driven.predict(np.ones((3, 2)), u=u)


def test_predict_takes_inputs_as_a_column_or_a_vector(driven: UDE) -> None:
    x, u = np.ones((3, 2)), np.array([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(driven.predict(x, u), driven.predict(x, u[:, None]))
    assert np.ptp(driven.predict(x, u)[:, 1]) == pytest.approx(2.0)


def test_fit_takes_a_list_of_runs(pendulum: System, short_stream: Stream, quick_engine: str) -> None:
    period, samples = short_stream
    runs = [samples[:790], samples[805:1500], samples[1700:]]
    ude = UDE(pendulum.physics, library=["omega"], engine=quick_engine, **QUICK).fit(runs, t=period)
    assert pendulum.damping(ude.residual)[0] == pytest.approx(0.4, rel=0.01)
    reach = 2 * ude.diagnostics_["window"]["half_width_samples"]
    assert ude.diagnostics_["rejected"]["gap"] == pytest.approx(3 * reach / 4, abs=5)


def test_fit_takes_uneven_time_stamps(pendulum: System, quick_engine: str) -> None:
    """Jitter, a hole, lost rows and repeated stamps in one record; ignoring the stamps must be worse."""
    rng = np.random.default_rng(0)
    times = jittered_times(2400, 0.005, 0.3, rng)
    states = pendulum.states_at(times, seed=1)
    noisy = states + 0.001 * np.sqrt(np.mean(states**2, axis=0)) * rng.standard_normal(states.shape)
    keep = np.ones(2400, dtype=bool)
    keep[[300, 301, 900, *range(1200, 1300)]] = False
    order = np.sort(np.append(np.flatnonzero(keep), [50, 51]))
    ude = UDE(pendulum.physics, library=["omega"], engine=quick_engine, refine=False, **QUICK).fit(
        noisy[order], t=times[order]
    )
    assert pendulum.field_error(ude.predict) < 1e-3
    assert ude.diagnostics_["repeated_times"] == 2 and ude.diagnostics_["filled"] >= 3
    blind = UDE(pendulum.physics, library=["omega"], engine=quick_engine, refine=False, **QUICK).fit(noisy, t=0.005)
    assert pendulum.field_error(blind.predict) > 2.0 * pendulum.field_error(ude.predict)


def test_fit_learns_a_parameter_with_its_interval(short_stream: Stream, quick_engine: str) -> None:
    period, samples = short_stream
    length = tu.Parameter(0.7, learn=True, min=0.1, max=5.0)
    physics = tu.Physics(
        ["theta", "omega"], ["omega", "-(g/L)*sin(theta) - 0.4*omega"], parameters={"g": 9.81, "L": length}
    )
    ude = UDE(physics, library=[], engine=quick_engine, **QUICK).fit(samples[:1600], t=period)
    [(name, value, low, high)] = ude.diagnostics_["parameters"]
    assert name == "L" and value == pytest.approx(1.0, abs=0.01)
    assert low < 1.0 < high and high - low < 0.03
    assert ude.model_.physics.parameters["L"].value == value
    assert physics.parameters["L"].value == 0.7  # what the user gave stays theirs


def test_fit_keeps_a_parameter_within_its_bounds(short_stream: Stream, quick_engine: str) -> None:
    period, samples = short_stream
    physics = tu.Physics(
        ["theta", "omega"], ["omega", "-(9.81/L)*sin(theta)"], parameters={"L": tu.Parameter(0.7, learn=True, max=0.8)}
    )
    ude = UDE(physics, library=["omega"], engine=quick_engine, **QUICK).fit(samples[:1200], t=period)
    assert ude.diagnostics_["parameters"][0][1] == 0.8


@pytest.mark.parametrize("preset", ["paper-v1", "paper-v2"])
def test_fit_paper_presets_train_the_network_alone(
    pendulum: System, short_stream: Stream, quick_engine: str, preset: str
) -> None:
    period, samples = short_stream
    ude = UDE(pendulum.physics, hidden=(4,), preset=preset, updates=150, engine=quick_engine).fit(samples, t=period)
    found = ude.diagnostics_
    assert found["terms"] == [] and found["network"] == {"theta": 1.0, "omega": 1.0}
    assert found["window"]["samples"] == 11
    assert pendulum.field_error(ude.predict, samples) < (0.1 if preset == "paper-v2" else 0.5)


def test_fit_is_deterministic_under_random_state(pendulum: System, short_stream: Stream, quick_engine: str) -> None:
    period, samples = short_stream

    def predicted(seed: int) -> np.ndarray:
        ude = UDE(pendulum.physics, hidden=(4,), preset="paper-v2", updates=60, engine=quick_engine, random_state=seed)
        return ude.fit(samples[:1000], t=period).predict(samples[:20])

    np.testing.assert_array_equal(predicted(1), predicted(1))
    assert not np.array_equal(predicted(1), predicted(2))


def test_fit_reports_progress_to_the_end(pendulum: System, short_stream: Stream, quick_engine: str) -> None:
    seen: list[tuple[int, int]] = []
    period, samples = short_stream
    ude = UDE(pendulum.physics, hidden=(4,), updates=120, preset="paper-v2", engine=quick_engine)
    ude.fit(samples[:1000], t=period, progress=lambda done, total: seen.append((done, total)))
    done = [step for step, _ in seen]
    assert done == sorted(done) and {total for _, total in seen} == {1120}
    assert done[-1] == 1120


def test_clone_and_params_follow_scikit_learn(fitted: UDE, short_stream: Stream) -> None:
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    with pytest.raises(tu.TinyUDEError, match="not fitted yet; call fit"):
        copy.predict([[0.0, 0.0]])
    copy.set_params(hidden=(), random_state=9)
    assert copy.hidden == () and fitted.hidden == (4,)
    period, samples = short_stream
    again = clone(fitted).fit(samples, t=period)
    np.testing.assert_array_equal(again.predict(samples[:9]), fitted.predict(samples[:9]))


def test_partial_fit_says_how_far_calibration_is(pendulum: System, short_stream: Stream, quick_engine: str) -> None:
    period, samples = short_stream
    ude = UDE(pendulum.physics, engine=quick_engine)
    assert ude.partial_fit(samples[:100], t=period) is ude
    with pytest.raises(tu.TinyUDEError, match="100 of 10000 samples; push more"):
        ude.predict(samples[:3])
    with pytest.raises(tu.TinyUDEError, match=r"sample period changed from 0\.005 s to 0\.01 s"):
        ude.partial_fit(samples[:100], t=0.01)


def test_fit_library_can_be_named_or_left_out(pendulum: System, short_stream: Stream, quick_engine: str) -> None:
    period, samples = short_stream
    omega = sp.Symbol("omega")
    ude = UDE(pendulum.physics, library=[omega, "omega*abs(omega)"], engine=quick_engine, **QUICK)
    assert [entry["term"] for entry in ude.fit(samples, t=period).diagnostics_["terms"]] == ["omega"]
    skip = UDE(pendulum.physics, library=None, engine=quick_engine, **QUICK).fit(samples, t=period)
    assert [entry["term"] for entry in skip.diagnostics_["terms"]] == ["1", "theta", "omega"]


def test_fit_learns_nothing_from_noise_alone(pendulum: System, quick_engine: str) -> None:
    """White noise has no dynamics: no term rises above it, and the verdict doubts the record."""
    samples = np.random.default_rng(0).standard_normal((500, 2))
    with pytest.warns(tu.TinyUDEWarning, match="verdict: caution"):
        ude = UDE(pendulum.physics, engine=quick_engine, **QUICK).fit(samples, t=0.005)
    assert ude.terms_ == [] and not ude.residual(samples).any()


def test_residual_interval_widens_with_the_level_and_where_nothing_was_seen(fitted: UDE) -> None:
    x = np.array([[0.5, 1.0], [0.5, 10.0]])
    low, high = fitted.residual_interval(x)
    wide_low, wide_high = fitted.residual_interval(x, level=0.99)
    middle = fitted.residual(x)[:, 1]
    assert np.all((wide_low < low)[:, 1] & (low[:, 1] < middle) & (middle < high[:, 1]) & (high < wide_high)[:, 1])
    assert np.all(low[:, 0] == high[:, 0])  # nothing is learned about d(theta)/dt
    assert high[1, 1] - low[1, 1] > 5.0 * (high[0, 1] - low[0, 1])
    with pytest.raises(tu.TinyUDEError, match="level is 90"):
        fitted.residual_interval(x, level=90)


def test_residual_interval_knows_the_network(pendulum: System, short_stream: tuple[float, np.ndarray]) -> None:
    """Of a network that is trained to the end: it holds most of the truth, and is a small part of it."""
    period, samples = short_stream
    ude = UDE(pendulum.physics, hidden=(6,), library=None, skip=False).fit(samples, t=period)
    x = samples[::100]
    low, high = (end[:, 1] for end in ude.residual_interval(x))
    truth = pendulum.missing(x)[:, 1]
    assert np.mean((low < truth) & (truth < high)) > 0.7
    assert np.sqrt(np.mean((high - low) ** 2)) < 0.2 * np.sqrt(np.mean(truth**2))


def test_keep_leaves_every_given_term_in() -> None:
    t, Y = tu.systems.pendulum("A").stream(noise=0.01)
    terms = ["omega", "theta**3", "1"]
    chosen, kept = (
        tu.UDE(tu.systems.pendulum("A").physics, library=terms, keep=keep, hidden=(), refine=False).fit(Y, t=t)
        for keep in (False, True)
    )
    assert [entry["term"] for entry in chosen.terms_] == ["omega"]
    assert {entry["term"] for entry in kept.terms_} == set(terms)
    for entry in kept.terms_:
        if entry["term"] != "omega":
            assert abs(entry["learned"]) < 5.0 * entry["error"]
    with pytest.raises(tu.TinyUDEError, match="keep=True needs a list of terms"):
        tu.UDE(tu.systems.pendulum("A").physics, keep=True).fit(Y, t=t)


def test_fit_uses_one_blas_thread_and_gives_the_others_back(
    pendulum: System, short_stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def spied(*given: Any) -> Any:
        seen.extend(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")
        return batch_fit(*given)

    monkeypatch.setattr("tinyude.estimator.fitting.batch_fit", spied)
    period, samples = short_stream
    with threadpool_limits(2, user_api="blas"):
        before = threadpool_info()
        UDE(pendulum.physics, refine=False).fit(samples, t=period)
        assert threadpool_info() == before
    assert set(seen) == {1}


def test_fit_with_an_empty_library_learns_by_the_network_alone(pendulum: System, short_stream: Stream) -> None:
    period, samples = short_stream
    empty, none = (
        UDE(pendulum.physics, library=library, refine=False).fit(samples, t=period) for library in ([], None)
    )
    np.testing.assert_array_equal(empty.predict(samples[:50]), none.predict(samples[:50]))
