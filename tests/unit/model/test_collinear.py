"""Terms that stand in for one another get no interval each."""

import warnings

import numpy as np
import pytest

import tinyude as tu
from tinyude.experiments.studies.zoo import plant_named
from tinyude.model.collinear import collinear_terms


@pytest.fixture(scope="module")
def converter() -> tu.UDE:
    """A load whose curve is told as a line and two saturating shapes: over the record nearly the same function."""
    plant = plant_named("buck converter load")
    samples, inputs = plant.record(0.01)
    shapes = {"library": ["c", "tanh(0.3*c)", "tanh(0.5*c)"], "keep": True, "network": None, "on": ["c"]}
    return tu.UDE(plant.physics, measured=plant.measured, refine=False, **shapes).fit(samples, u=inputs, t=plant.period)


def test_collinear_terms_are_told_without_intervals(converter: tu.UDE) -> None:
    shared = [row for row in converter.terms_ if row["collinear"]]
    assert len(shared) > 1 and all(np.isfinite(row["low"]) for row in shared)
    told = " ".join(str(converter).split())
    assert f"these {len(shared)} shapes of c cannot be told apart: only their sum is determined" in told


def test_collinear_terms_have_an_interval_of_their_sum(converter: tu.UDE) -> None:
    low, high = converter.residual_interval(converter.record_["x"], np.zeros((len(converter.record_["x"]), 1)))
    widest = np.max(high - low)
    single = max(row["high"] - row["low"] for row in converter.terms_ if row["collinear"])
    assert 0.0 < widest < single


def test_residual_without_inputs_is_rejected_by_their_name(converter: tu.UDE) -> None:
    for ask in (converter.residual, converter.residual_interval, converter.predict):
        with pytest.raises(tu.TinyUDEError, match=r"has inputs \(u\); pass their values as u"):
            ask(converter.record_["x"])


def test_terms_apart_keep_their_intervals() -> None:
    plant = plant_named("ship roll")
    samples, inputs = plant.record(0.01)
    given = inputs if plant.inputs else None
    ude = tu.UDE(plant.physics, measured=plant.measured, refine=False).fit(samples, u=given, t=plant.period)
    assert len(ude.terms_) == 2 and not any(row["collinear"] for row in ude.terms_)


def test_collinear_terms_of_no_windows_are_none(converter: tu.UDE) -> None:
    plant = plant_named("buck converter load")
    samples, inputs = plant.record(0.01)
    seen = converter._windows(converter._options.stream(samples, plant.period, inputs))
    nothing = seen.where(np.zeros(len(seen), dtype=bool))
    assert collinear_terms(converter.model_, nothing) == {}


def test_a_parameter_that_learned_terms_can_replace_is_doubted() -> None:
    """Growth r*n*(1 - n/K) beside learned n, n**3 and a constant, in a record of small excursions."""
    rng = np.random.default_rng(0)
    harvest = 0.25 + 0.2 * np.repeat(rng.uniform(-1.0, 1.0, 16), 100)
    n, rows = 0.7, []
    for rate in harvest:
        rows.append(n)
        for _ in range(10):
            n += 0.005 * (1.2 * n * (1.0 - n / 1.5) - rate * n - 0.25 * n**2 / (0.1 + n**2))
    samples = np.array(rows)[:, None] * (1.0 + 0.001 * rng.standard_normal((len(rows), 1)))
    growth = {"r": tu.Parameter(1.0, learn=True, min=0.2, max=5.0), "K": 1.5}
    physics = tu.Physics(["n"], ["r*n*(1 - n/K) - u*n"], ["u"], growth)
    told, kept = {}, {}
    for library in (["1", "n", "n**3"], ["n**2/(0.1 + n**2)"], ["n", "n**2"]):
        ude = tu.UDE(physics, library=library, keep=True, network=None, refine=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reasons = ude.fit(samples, t=0.05, u=harvest).verdict_.reasons
        told[len(library)] = any("The value of r depends on what was learned" in r.text for r in reasons)
        kept[len(library)] = any("r is not identified" in r.text for r in reasons)
    assert told == {3: True, 1: False, 2: False}
    assert kept == {3: False, 1: False, 2: True}, (
        "r*n*(1 - n/K) is made of n and n**2: beside them only rounding is left"
    )
