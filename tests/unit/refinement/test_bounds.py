"""Unknowns at their bounds, and parameters that the windows let vanish."""

from dataclasses import replace

import numpy as np
import pytest

import tinyude as tu
from tinyude.refinement.gauss_newton import step_within
from tinyude.refinement.identified import _kept
from tinyude.refinement.structures import hybrids_of
from tinyude.refinement.unknowns import Unknowns


def bounded(values: list[float], lower: list[float], upper: list[float], positive: list[bool]) -> Unknowns:
    n, start = len(values), np.array(values)
    chosen = np.array(positive)
    mean = np.where(chosen, np.log(np.where(chosen, start, 1.0)), start)
    nothing = np.zeros((n, n))
    names = tuple(f"p{k}" for k in range(n))
    return Unknowns(names, start, np.array(lower), np.array(upper), chosen, mean, nothing, nothing)


def test_step_within_is_the_best_beside_an_unknown_at_its_bound() -> None:
    """The others must not make up for a step that the bounded one does not take."""
    matrix, gradient = np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([-3.0, 1.0])
    free = np.linalg.solve(matrix, gradient)
    at_bound = bounded([0.0, 0.5], [0.0, -np.inf], [np.inf, np.inf], [False, False])
    step = step_within(at_bound, matrix, gradient, 0.0)
    assert free[0] < 0.0 and step[0] == 0.0
    np.testing.assert_allclose(step[1], gradient[1] / matrix[1, 1], rtol=1e-9)


def test_step_within_stops_where_a_bound_is_and_leaves_others_alone() -> None:
    matrix, gradient = np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([4.0, 0.0])
    near = bounded([1.0, 0.0], [0.1, -np.inf], [1.5, np.inf], [True, False])
    step = step_within(near, matrix, gradient, 0.0)
    np.testing.assert_allclose(step, [np.log(1.5), -np.log(1.5) / 2.0], rtol=1e-9)
    far = bounded([1.0, 0.0], [0.0, -np.inf], [np.inf, np.inf], [True, False])
    np.testing.assert_allclose(step_within(far, matrix, gradient, 0.0), np.linalg.solve(matrix, gradient), rtol=1e-9)


def test_hybrids_of_begin_anew_with_a_parameter_that_vanished() -> None:
    """In its logarithm a friction near 0 hardly changes the model: refinement would never find it again."""
    guess = {"b": tu.Parameter(0.2, learn=True, min=0.0), "k": tu.Parameter(4.0, learn=True, min=1.0)}
    physics = tu.Physics(["x", "v"], ["v", "-k*x - b*v"], parameters=guess)
    t = 0.02 * np.arange(600)
    samples = np.column_stack([np.cos(2.0 * t), -2.0 * np.sin(2.0 * t)])
    model = tu.UDE(physics, hidden=(), library=[], refine=False).fit(samples, t=0.02).model_
    vanished = replace(model, physics=physics.with_parameters({"b": 1e-6, "k": 3.9}))
    made = hybrids_of(vanished, physics)
    assert made["parameters"].model.physics.parameters["b"].value == 0.2
    assert made["parameters"].model.physics.parameters["k"].value == 3.9
    assert made["windows"].model.physics.parameters["b"].value == 1e-6


def test_errors_beside_a_kept_parameter_are_those_of_a_fit_in_which_it_is_fixed() -> None:
    free = bounded([3.0, 0.5], [0.0, -np.inf], [np.inf, np.inf], [True, False])
    kept = _kept(free, 0, 2.0)
    assert (kept.values[0], kept.lower[0], kept.upper[0]) == (2.0, 2.0, 2.0)
    assert kept.values[1] == 0.5 and kept.prior_mean[0] == pytest.approx(np.log(2.0))
    information = np.array([[10.0, 9.0], [9.0, 10.0]])
    for precision in (kept.prior_precision, kept.first_precision):
        covariance = np.linalg.inv(information + precision)
        np.testing.assert_allclose(covariance, [[0.0, 0.0], [0.0, 0.1]], atol=1e-12)
    assert not free.prior_precision.any() and free.values[0] == 3.0  # what was given stays
