"""Smoothed states: against least squares over all rows, for known and for estimated unknowns."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg
import sympy as sp

from tinyude import native
from tinyude.physics.programs import program
from tinyude.refinement.compiled import CompiledFilter, NumpyFilter
from tinyude.refinement.field import Field
from tinyude.refinement.smoother import directions_of
from tinyude.refinement.stretches import batch_of

A = np.array([[0.0, 1.0], [-1.0, -0.2]])
PUSH = np.array([0.0, 1.0])  # of the unknown
ROWS = 12
GATE = 5.0
engines = pytest.mark.parametrize(
    "engine",
    [
        NumpyFilter,
        pytest.param(
            CompiledFilter, marks=pytest.mark.skipif(not native.available(), reason="the core is not compiled")
        ),
    ],
)


def linear(driven):
    """A linear system, where filter and smoother are exact: its field, batch and plan."""
    x, v, u, c = sp.symbols("x v u c")
    field = Field(program([v, -x - 0.2 * v + c], [x, v, u, c]), 2, 1, 1)
    stretch = driven.batch.stretches[0].cut(0, ROWS)
    samples = np.column_stack([np.sin(stretch.times), np.cos(stretch.times)])
    return field, batch_of([replace(stretch, samples=samples)]), replace(driven.plan, longest_step=0.005)


def least_squares(batch, noise, of_unknown: float | None = None) -> tuple[np.ndarray, np.ndarray]:
    """All states and the unknown, and their covariance; of_unknown: its value, if known."""
    (stretch,), count = batch.stretches, 2 * ROWS + 1
    rows, targets = [], []

    def add(matrix: np.ndarray, target: np.ndarray, weight: np.ndarray) -> None:
        rows.append(weight @ matrix)
        targets.append(weight @ target)

    def states(k: int, matrix: np.ndarray) -> np.ndarray:
        row = np.zeros((len(matrix), count))
        row[:, 2 * k : 2 * k + 2] = matrix
        return row

    add(states(0, np.eye(2)), stretch.start, np.diag(stretch.start_variance**-0.5))
    for k in range(ROWS):
        add(states(k, np.eye(2)), stretch.samples[k], np.diag(noise.measurement**-0.5))
    for k in range(ROWS - 1):
        span = stretch.times[k + 1] - stretch.times[k]
        Phi = scipy.linalg.expm(A * span)
        row = states(k + 1, np.eye(2)) + states(k, -Phi)
        row[:, -1] = -np.linalg.solve(A, (Phi - np.eye(2)) @ PUSH)
        weight = np.linalg.inv(np.linalg.cholesky(np.diag(noise.process) * span + 1e-14 * np.eye(2)))
        add(row, np.zeros(2), weight)
    if of_unknown is not None:
        known = np.zeros((1, count))
        known[0, -1] = 1.0
        add(known, np.array([of_unknown]), np.array([[1e7]]))
    matrix, target = np.vstack(rows), np.concatenate(targets)
    normal = matrix.T @ matrix
    return np.linalg.solve(normal, matrix.T @ target), np.linalg.inv(normal)


@engines
def test_smooth_equals_least_squares_over_all_rows(driven, engine) -> None:
    field, batch, plan = linear(driven)
    states, variances = engine(field, batch, plan).smooth(np.array([0.3]), driven.noise, 0.0, np.zeros((0, 1)))
    expected, covariance = least_squares(batch, driven.noise, 0.3)
    np.testing.assert_allclose(states.ravel(), expected[:-1], atol=1e-5)
    np.testing.assert_allclose(variances.ravel(), np.diag(covariance)[:-1], rtol=1e-3)


@engines
def test_smooth_adds_what_the_errors_of_unknowns_bring(driven, engine) -> None:
    """States and unknown estimated together: the covariance of both is that of one least-squares problem."""
    field, batch, plan = linear(driven)
    expected, covariance = least_squares(batch, driven.noise)
    along = directions_of(covariance[-1:, -1:])
    states, variances = engine(field, batch, plan).smooth(expected[-1:], driven.noise, 0.0, along)
    np.testing.assert_allclose(states.ravel(), expected[:-1], atol=1e-5)
    np.testing.assert_allclose(variances.ravel(), np.diag(covariance)[:-1], rtol=1e-3)
    alone = engine(field, batch, plan).smooth(expected[-1:], driven.noise, 0.0, np.zeros((0, 1)))[1]
    assert (variances > 1.1 * alone).any()


@pytest.mark.skipif(not native.available(), reason="the core is not compiled")
def test_compiled_smooth_equals_numpy(driven) -> None:
    """With missing and rejected samples, an input, two stretches and two unknowns."""
    along = directions_of(np.array([[0.01, 0.002], [0.002, 0.0004]]) + 1e-6 * np.eye(2))
    found = [
        engine(driven.field, driven.batch, driven.plan).smooth(driven.values, driven.noise, GATE, along)
        for engine in (NumpyFilter, CompiledFilter)
    ]
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-11)


def test_directions_of_span_the_covariance_of_unknowns_that_count() -> None:
    root = np.array([[1.0, 0.0, 0.0], [2e3, 1e3, 0.0], [0.0, 0.0, 0.0]])
    covariance = root @ root.T
    along = directions_of(covariance)
    assert along.shape == (2, 3)
    np.testing.assert_allclose(along.T @ along, covariance, rtol=1e-12, atol=1e-9)
