"""Terms that refinement finds to be 0 are left out."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tinyude as tu
from tinyude.refinement import weak_terms
from tinyude.refinement.hybrid import hybrid
from tinyude.refinement.structures import hybrids_of
from tinyude.refinement.weak_terms import _without


@pytest.fixture(scope="module")
def damped() -> tuple[np.ndarray, tu.Physics]:
    _, samples = tu.systems.pendulum("A").stream(noise=0.01, seed=5, seconds=12.0)
    return samples[::4], tu.Physics(["theta", "omega"], ["omega", "-9.81*sin(theta)"])


@pytest.mark.parametrize("seconds", [2.0, 0.1])  # 0.1: the work is done before weak terms are looked for
def test_fit_leaves_out_a_term_that_the_rows_do_not_pay_for(
    damped: tuple[np.ndarray, tu.Physics], monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    samples, physics = damped
    monkeypatch.setattr("tinyude.estimator.fitting.REFINE_SECONDS", seconds)
    given = ["omega", "theta**2*omega", "theta**3"]
    everything = tu.UDE(physics, library=given, keep=True, refine=False).fit(samples, t=0.004)
    assert len(everything.terms_) == 3  # as if the windows had found all of them
    monkeypatch.setattr("tinyude.estimator.fitting.batch_fit", lambda *_: everything_found(samples, physics, given))
    refined = tu.UDE(physics, library=given).fit(samples, t=0.004)
    assert [c.name for c in refined.candidates_ if c.best] == ["fewer terms"]
    assert [row["term"] for row in refined.terms_] == ["omega"]
    assert refined.terms_[0]["learned"] == pytest.approx(-0.4, abs=0.01)


def everything_found(samples: np.ndarray, physics: tu.Physics, given: list[str]) -> object:
    from tinyude.data.streams import as_stream
    from tinyude.physics.library import given_terms
    from tinyude.training.batch.fit import batch_fit
    from tinyude.training.batch.regression import BatchOptions

    stream = as_stream(samples, 0.004, None, list(physics.states), ())
    return batch_fit(physics, stream, BatchOptions(library=given_terms(physics, given), keep=True))


def test_without_a_term_its_shape_is_no_unknown(damped: tuple[np.ndarray, tu.Physics]) -> None:
    samples, physics = damped
    ude = tu.UDE(physics, library=["omega", "tanh(5*omega)"], keep=True, refine=False).fit(samples, t=0.004)
    model = ude.model_
    fewer = _without(model, [(0, len(model.terms) - 1)])
    assert len(fewer.unknowns) < len(model.unknowns) and set(fewer.shapes) <= set(model.shapes)
    assert hybrids_of(fewer, physics)["terms"].model.coefficients.any()


def test_weak_terms_leave_a_parameter_within_its_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    physics = tu.Physics(["r"], ["-d*r"], [], {"d": tu.Parameter(0.64, learn=True, min=0.56, max=0.8)})
    t = np.arange(0.0, 20.0, 0.05)
    samples = (np.sin(t) * np.exp(-0.05 * t))[:, None]
    ude = tu.UDE(physics, library=["r", "r**3"], keep=True, network=None, refine=False).fit(samples, t=0.05)
    own = hybrid(ude.model_.with_unknowns(np.array([0.64, 0.3, -1.2])))
    covariance = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1e-6]])  # without r, d would be 0.37
    monkeypatch.setattr(weak_terms, "information_covariance", lambda found: covariance)
    found: Any = SimpleNamespace(unknowns=own.unknowns, batch=SimpleNamespace(rows=400))
    out, values = weak_terms._weak(own, found, 1.0)
    assert out == [(0, 0)]
    assert own.moved(values).physics.parameters["d"].value == 0.56


@pytest.mark.parametrize(("seen", "out"), [(1.0, [(0, 1)]), (0.25, [])])
def test_weak_terms_cost_less_where_only_a_part_of_the_record_was_used(
    seen: float, out: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over the whole record a coefficient would be surer: squared standard errors grow with the rows."""
    t = np.arange(0.0, 20.0, 0.05)
    samples = (np.sin(t) * np.exp(-0.05 * t))[:, None]
    physics = tu.Physics(["r"], ["0"])
    ude = tu.UDE(physics, library=["r", "r**3"], keep=True, network=None, refine=False).fit(samples, t=0.05)
    own = hybrid(ude.model_.with_unknowns(np.array([-10.0, 2.0])))
    monkeypatch.setattr(weak_terms, "information_covariance", lambda found: np.eye(2))  # 2 standard errors
    found: Any = SimpleNamespace(unknowns=own.unknowns, batch=SimpleNamespace(rows=400))
    assert weak_terms._weak(own, found, seen)[0] == out  # prices: ln 400 = 6.0; ln 1600 / 4 = 1.8
