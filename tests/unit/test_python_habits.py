"""What people write: frames, functions of time, names in a text instead of a list."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

import tinyude as tu

PHYSICS = tu.Physics(["x", "v"], ["v", "f - 8*x"], ["f"])
T = np.arange(0.0, 12.0, 0.01)
F = 2.0 * np.sign(np.sin(1.3 * T))


@pytest.fixture(scope="module")
def record() -> np.ndarray:
    truth = tu.Physics(["x", "v"], ["v", "f - 8*x - 0.5*v"], ["f"])
    from tinyude.model.dynamics import known_dynamics
    from tinyude.model.simulation import free_run

    X = free_run(known_dynamics(truth), np.zeros(2), T, np.ones(2), F[:, None])
    return X + 0.01 * X.std(axis=0) * np.random.default_rng(0).normal(size=X.shape)


@pytest.fixture(scope="module")
def ude(record: np.ndarray) -> tu.UDE:
    return tu.UDE(PHYSICS, refine=False).fit(record, t=0.01, u=F[:, None])


def test_predict_finds_inputs_beside_the_states_in_a_frame(ude: tu.UDE, record: np.ndarray) -> None:
    frame = pd.DataFrame({"time": T, "f": F, "v": record[:, 1], "x": record[:, 0]})
    np.testing.assert_array_equal(ude.predict(frame), ude.predict(record, F[:, None]))
    np.testing.assert_array_equal(ude.residual(frame), ude.residual(record, F[:, None]))
    with pytest.raises(tu.TinyUDEError, match="has inputs"):
        ude.predict(frame[["x", "v"]])


def test_simulate_takes_a_function_of_the_time_and_a_start_by_name(ude: tu.UDE) -> None:
    run = ude.simulate([0.1, 0.0], T, F[:, None])
    assert run.shape == (len(T), 2)
    np.testing.assert_array_equal(ude.simulate({"v": 0.0, "x": 0.1}, T, lambda t: 2.0 * np.sign(np.sin(1.3 * t))), run)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"measured": "x"}, r"measured is 'x'; give a list of names, e.g. \['x'\]"),
        ({"on": "v"}, "on is 'v'; give a list"),
        ({"sees": "v"}, "sees is 'v'; give a list"),
        ({"library": 3}, "library is 3; use 'auto'"),
        ({"window": 0.05, "refine": False}, "window is 0.05 s, and .* 6 sample periods: give 0.06 s or more"),
        ({"settings": [1]}, r"settings is \[1\]; give a mapping"),
        ({"unmeasured": {"v": 1.0}}, r"unmeasured\['v'\] is 1.0; give a guess and a spread above 0: \(1.0, 0.5\)"),
    ],
)
def test_fit_says_what_a_choice_should_be(options: dict[str, object], message: str, record: np.ndarray) -> None:
    with pytest.raises(tu.TinyUDEError, match=message):
        tu.UDE(PHYSICS, **options).fit(record, t=0.01, u=F[:, None])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda ude, Y: ude.plot_residual(ax=3), "ax is 3; give axes of Matplotlib"),
        (lambda ude, Y: tu.UDE(PHYSICS).fit(Y.T, t=0.01, u=F[:, None]), r"Y has shape .* Rows are samples: give Y\.T"),
        (lambda ude, Y: tu.UDE(PHYSICS).fit(Y, t=0.01, u=F[:, None], progress="yes"), "progress is 'yes'; give True"),
        (
            lambda ude, Y: tu.UDE(PHYSICS, refine=False).fit([Y, Y[::2]], t=[0.01, 0.02], u=[F, F[::2]]),
            "only refinement takes both: leave refine on",
        ),
    ],
)
def test_wrong_calls_are_told(
    call: Callable[[tu.UDE, np.ndarray], object], message: str, ude: tu.UDE, record: np.ndarray
) -> None:
    with pytest.raises(tu.TinyUDEError, match=message):
        call(ude, record)


def test_fit_without_library_and_network_learns_no_terms(record: np.ndarray) -> None:
    with pytest.warns(tu.TinyUDEWarning):
        ude = tu.UDE(PHYSICS, library=None, network=None).fit(record, t=0.01, u=F[:, None])
    assert ude.terms_ == [] and not any(ude.diagnostics_["network"].values())
    assert np.all(ude.residual(record, F[:, None]) == 0.0)


def test_names_and_times_of_the_fit_are_remembered(ude: tu.UDE, record: np.ndarray) -> None:
    assert list(ude.feature_names_in_) == ["x", "v"] and ude.n_features_in_ == 2
    given = ude.validate(record, 0.01, F[:, None])
    assert ude.validate(record, u=F[:, None]).figures == given.figures


def test_remedies_name_what_is_there(record: np.ndarray) -> None:
    frame = pd.DataFrame({"time": T, "f": F, "v": record[:, 1], "x": record[:, 0]})
    with pytest.raises(tu.TinyUDEError, match="no such column; its columns are time, f, v, x; give the sample period"):
        tu.UDE(PHYSICS).fit(frame, t="tme")
    with pytest.raises(tu.TinyUDEError, match=r't is missing; .* the name of the column .* fit\(frame, t="time"\)'):
        tu.UDE(PHYSICS).fit(frame)
    with pytest.raises(tu.TinyUDEError, match=r"shape \(3, 400, 2\).*Several runs are a list: give list\(Y\)\."):
        tu.UDE(PHYSICS).fit(record.reshape(3, 400, 2), t=0.01, u=F.reshape(3, 400, 1))


def test_physics_takes_rates_by_the_names_of_states() -> None:
    assert tu.Physics(["x", "v"], {"v": "f - 8*x", "x": "v"}, ["f"]) == PHYSICS
    with pytest.raises(tu.TinyUDEError, match="rhs names x; it must name each state: x, v"):
        tu.Physics(["x", "v"], {"x": "v"})


def test_physics_lists_public_names_only() -> None:
    assert "field" in dir(PHYSICS) and "_compiled" not in dir(PHYSICS)


def test_learned_parameters_are_plain_numbers(record: np.ndarray) -> None:
    physics = tu.Physics(["x", "v"], ["v", "f - k*x - 0.5*v"], ["f"], {"k": tu.Parameter(7.0, learn=True)})
    ((name, *numbers),) = tu.UDE(physics, library=[], refine=False).fit(record, t=0.01, u=F[:, None]).parameters_
    assert name == "k" and all(type(number) is float for number in numbers)
