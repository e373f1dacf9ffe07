"""Uncertainty of the residual, against sums written out here."""

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

import tinyude as tu
from tinyude.model.jackknife import groups_of
from tinyude.model.model import Model
from tinyude.model.uncertainty import (
    BLOCKS,
    Spread,
    _design,
    _jackknife,
    _unexplained,
    residual_error,
    spread,
    with_neighbours,
)
from tinyude.model.windows import Windows
from tinyude.reference.network.mlp import mlp_count

THETA, OMEGA = sp.symbols("theta omega", real=True)
COUNT = 960  # windows


@pytest.fixture
def model() -> Model:
    """A pendulum with a learned constant, two terms and a network in the second equation."""
    rng = np.random.default_rng(4)
    physics = tu.Physics(
        ["theta", "omega"], ["omega", "-k*sin(theta)"], parameters={"k": tu.Parameter(9.0, learn=True)}
    )
    return Model(
        physics, on=(1,), sees=(0, 1), hidden=(3,), network_on=np.ones(1),
        weights=rng.normal(size=mlp_count((2, 3, 1))),
        x_scale=np.array([0.5, 2.0]), u_scale=np.ones(0), dx_scale=np.array([1.5, 4.0]), terms=(OMEGA, THETA**3),
        coefficients=np.array([[-0.4, 0.2]]), errors=np.array([[0.01, 0.02]]), parameter_errors=np.array([0.03]),
    )  # fmt: skip


@pytest.fixture
def seen(model: Model) -> Windows:
    """Windows of two nodes with unequal weights, whose rates are the model's and white noise."""
    rng = np.random.default_rng(5)
    states = rng.normal(size=(2 * COUNT, 2))
    weights = np.tile([[0.25, 0.5], [0.75, 0.5]], (COUNT, 1))
    rates = (weights * model.field(states, None)).reshape(COUNT, 2, 2).sum(axis=1)
    rates[:, 1] += 0.1 * rng.standard_normal(COUNT)
    zeros, rows = np.zeros((COUNT, 2)), np.arange(COUNT)
    return Windows(
        channel=(0, 1), order=(0, 0), period=0.01, sigma=np.ones(2), usual=4, passed=1.0,
        run=np.zeros(COUNT, dtype=int), centre=rows, half=np.full(COUNT, 4), times=0.01 * rows,
        room=np.full(COUNT, 9), x=states[::2], dx=rates,
        x_error=zeros, u=np.zeros((COUNT, 0)), floor=zeros, owner=np.repeat(rows, 2), node_x=states,
        node_u=np.zeros((2 * COUNT, 0)), weights=weights, rejected=np.zeros((0, 3)),
    )  # fmt: skip


def test_unexplained_is_the_rate_less_the_filtered_field_over_its_scale(model: Model, seen: Windows) -> None:
    flow = [0.5 * (model.field(a, None) + model.field(b, None))[1] for a, b in seen.node_x.reshape(COUNT, 2, 2)]
    np.testing.assert_allclose(_unexplained(model, seen)[:, 0], (seen.dx[:, 1] - flow) / 4.0, rtol=1e-9, atol=1e-12)


def test_design_is_how_much_each_unknown_lowers_what_stays_unexplained(model: Model, seen: Windows) -> None:
    terms, features = model.term_values(seen.node_x, None), model.features(seen.node_x, None)
    design, owner = _design(model, seen, terms, features)
    assert [kind for kind, _, _ in owner] == ["parameter"] + ["term"] * 2 + ["network"] * features.shape[-1]
    for column, (kind, row, index) in enumerate(owner[:3]):
        moved = replace(model, physics=model.physics.with_parameters({"k": 9.001}))
        if kind == "term":
            coefficients = model.coefficients.copy()
            coefficients[row, index] += 1e-3
            moved = replace(model, coefficients=coefficients)
        lowered = (_unexplained(model, seen) - _unexplained(moved, seen)) / 1e-3
        np.testing.assert_allclose(design[..., column], lowered, rtol=1e-6, atol=1e-9)


def test_spread_of_the_terms_has_the_model_s_errors(model: Model, seen: Windows) -> None:
    found = spread(model, seen)
    assert found.terms.shape == (16, 1, 2) and found.network.any()
    assert np.sqrt(15 * np.var(found.terms, axis=0)) == pytest.approx(model.errors, rel=1e-9)


def test_spread_of_the_network_is_that_of_fits_to_other_noise(model: Model, seen: Windows) -> None:
    """The residual's error, averaged over the states, against fits of all linear quantities to 100 records."""
    rng = np.random.default_rng(6)
    terms, features = model.term_values(seen.node_x, None), model.features(seen.node_x, None)
    design = _design(model, seen, terms, features)[0][:, 0]
    noise = 0.1 / 4.0 * rng.standard_normal((COUNT, 100))
    fits = np.linalg.lstsq(design, noise, rcond=None)[0][1:]
    at = seen.x[:50]
    columns = np.hstack([model.term_values(at, None), model.features(at, None)])
    true = np.sqrt(np.mean((columns @ fits) ** 2))
    exact = replace(model, errors=np.sqrt(np.mean(fits[:2] ** 2, axis=1))[None])
    error = residual_error(exact, spread(exact, seen), at, None)
    assert not error[:, 0].any()
    assert np.sqrt(np.mean(error[:, 1] ** 2)) == pytest.approx(true, rel=0.3)


def test_residual_error_is_the_jackknife_error_of_terms_and_network(model: Model) -> None:
    rng = np.random.default_rng(7)
    features = model.features(np.zeros((1, 2)), None).shape[-1]
    found = Spread(rng.standard_normal((5, 1, 2)), rng.standard_normal((5, 1, features)))
    at = rng.standard_normal((6, 2))
    error = residual_error(model, found, at, None)
    for row, x in enumerate(at):
        moves = [found.terms[g, 0] @ [x[1], x[0] ** 3] + found.network[g, 0] @ model.features(x[None], None)[0]
                 for g in range(5)]  # fmt: skip
        assert error[row] == pytest.approx([0.0, np.sqrt(4.0 / 5.0 * np.sum(np.square(moves)))], rel=1e-9)


def test_residual_interval_is_the_residual_plus_or_minus_1645_standard_errors(model: Model) -> None:
    """Two uncertain unknowns, so that the error can be written out; 90 % of a normal distribution."""
    plain = replace(model, hidden=(), weights=np.zeros(0), network_on=np.zeros(1))
    covariance = np.zeros((len(plain.unknowns),) * 2)
    covariance[-2, -2], covariance[-1, -1] = 0.01**2, 0.02**2
    ude = tu.UDE(plain.physics)
    ude.result_ = type("Result", (), {"model": replace(plain, covariance=covariance)})()
    low, high = ude.residual_interval([0.5, 2.0])
    assert (low + high) / 2.0 == pytest.approx([0.0, -0.4 * 2.0 + 0.2 * 0.125], rel=1e-9)
    assert (high - low)[1] / 2.0 == pytest.approx(1.645 * np.hypot(0.01 * 2.0, 0.02 * 0.125), rel=1e-3)


def test_residual_interval_without_a_covariance_is_student_s_over_the_groups(model: Model) -> None:
    """Five groups have four degrees of freedom: 2.132 standard errors for 90 %, 4.604 for 99 %."""
    rng = np.random.default_rng(8)
    features = model.features(np.zeros((1, 2)), None).shape[-1]
    found = Spread(rng.standard_normal((5, 1, 2)), rng.standard_normal((5, 1, features)))
    ude = tu.UDE(model.physics)
    ude.result_ = type("Result", (), {"model": model, "spread": found})()
    at = np.array([0.5, 2.0])
    error = residual_error(model, found, at, None)
    for level, factor in ((0.9, 2.132), (0.99, 4.604)):
        low, high = ude.residual_interval(at, level=level)
        assert (low + high) / 2.0 == pytest.approx(model.residual(at, None), rel=1e-9)
        assert (high - low) / 2.0 == pytest.approx(factor * error, rel=1e-3)


def test_with_neighbours_adds_the_covariance_of_neighbouring_blocks(model: Model, seen: Windows) -> None:
    """Each block moves a coefficient by a known amount; the variance changes by twice the products of neighbours."""
    plain = replace(model, hidden=(), weights=np.zeros(0), network_on=np.zeros(1), errors=np.array([[0.01, 0.0]]))
    plain.physics.learned = ()
    flow, column = seen.view(plain.field(seen.node_x, None)), seen.seen(seen.node_x[:, 1], 1)
    block = np.arange(COUNT) // (COUNT // (16 * BLOCKS))
    size = np.bincount(block, column**2)
    for pattern in ([1.0, 1.0, -1.0, -1.0], [1.0, -1.0, 0.0, -1.0, 0.0, 1.0, 0.0, 1.0, 0.0, -1.0, 0.0], [1.0, -1.0]):
        moves = np.resize(pattern, len(size)) / size
        moves -= np.average(moves, weights=size)  # else the fit takes up their mean
        found = with_neighbours(plain, replace(seen, dx=flow + (moves[block] * column)[:, None]))
        moved = moves * size
        expected = 1.0 + 2.0 * np.sum(moved[1:] * moved[:-1]) / np.sum(moved**2)
        assert found.errors[0, 0] == pytest.approx(0.01 * np.sqrt(np.clip(expected, 0.5, 1.0)), rel=1e-6)


def test_jackknife_is_the_least_squares_without_each_group_less_their_mean() -> None:
    """Stretches of the record go to the groups one after the other; columns may be of very different sizes."""
    rng, groups, stretch = np.random.default_rng(0), 4, 5
    group = np.arange(BLOCKS * groups * stretch) // stretch % groups
    design = rng.standard_normal((len(group), 2, 3)) * [1.0, 1e3, 1e-2]
    target = design @ [2.0, 3e-3, 5.0] + 0.1 * rng.standard_normal((len(group), 2))
    rows = [(design[group != g].reshape(-1, 3), target[group != g].ravel()) for g in range(groups)]
    left_out = np.array([np.linalg.lstsq(a, b, rcond=None)[0] for a, b in rows])
    found = _jackknife(design, target, groups, free=np.zeros(3, bool))
    np.testing.assert_allclose(found, left_out - left_out.mean(axis=0), rtol=1e-6, atol=1e-12)


def test_windows_weigh_by_their_noise_and_leave_out_jumps_in_a_score(seen: Windows) -> None:
    """The noise of a window is at least the typical one: a quiet window does not outweigh all others."""
    chosen = np.arange(COUNT) < 4
    few = replace(seen, floor=np.tile([[1.0], [1.0], [0.0], [3.0]], (COUNT // 4, 2))).where(chosen)
    inverse = 1.0 / np.array([2.0, 2.0, 1.0, 10.0])
    np.testing.assert_allclose(few.weight[:, 0], inverse / inverse.mean(), rtol=1e-12)
    rates = np.array([1.0, -1.0, 1.0, 50.0])[:, None] * np.ones(2)
    jumps = replace(few, dx=rates, room=np.array([9, 9, 9, 0]), floor=np.ones((4, 2)))
    left = np.array([0.1, 0.1, -0.1, 40.0])
    assert jumps.r2(left, 1) == pytest.approx(1.0 - 0.03 / np.sum((rates[:3, 1] - 1.0 / 3.0) ** 2), rel=1e-9)


def test_groups_of_are_consecutive_and_equal() -> None:
    np.testing.assert_array_equal(groups_of(32), np.repeat(np.arange(16), 2))
    np.testing.assert_array_equal(groups_of(16), np.arange(16))
