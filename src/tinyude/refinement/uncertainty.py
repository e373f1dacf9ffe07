"""Covariance of the refined unknowns: the innovations' information, widened where parts of the record disagree."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.model import jackknife
from tinyude.model.model import Model
from tinyude.model.parts import MLP, Terms
from tinyude.refinement.estimate import Estimate, Setup
from tinyude.refinement.gating import pieces
from tinyude.refinement.hybrid import Hybrid
from tinyude.refinement.starts import with_starts
from tinyude.refinement.stretches import batch_of

Array = NDArray[Any]
LEAST_ROWS, LEAST_GROUPS = 12, 4  # of a group; of groups
GROUPS_AN_UNKNOWN = 4  # each unknown and start state takes up the misfit of a group
MOVED = 0.01  # standard errors by which an unknown is moved for a derivative
ROUNDING = 1e-12  # of the largest eigenvalue: below that there is no information


def covariance_of(setup: Setup, own: Hybrid, result: Estimate, model: Model) -> Model:
    """The model with the covariance and standard errors of the refined unknowns; other values count as exact."""
    matrix = unknown_covariance(setup, result)
    everything = np.zeros((len(model.unknowns),) * 2)
    everything[np.ix_(own.places, own.places)] = matrix
    errors = np.sqrt(np.maximum(np.diag(everything), 0.0))
    count = len(model.physics.learned)
    changed: dict[str, Any] = {"covariance": everything, "parameter_errors": errors[:count]}
    if model.parts and isinstance(model.parts[0], Terms):
        kept = np.nonzero(model.coefficients)
        by_term = np.zeros(model.coefficients.shape)
        by_term[kept] = errors[count : count + len(kept[0])]
        changed["errors"] = by_term
    if any(isinstance(part, MLP) for part in model.parts):
        changed["covariance"] = None  # its weights were not refined: the windows' jackknife applies
    return replace(model, **changed)


def unknown_covariance(setup: Setup, result: Estimate) -> Array:
    """(unknowns, unknowns): inverse information times the mean squared innovation, at least that of the jackknife.

    The jackknife leaves out one group of consecutive rows at a time (one Gauss-Newton step each). If innovations
    are white both agree; if noise is coloured or the model incomplete only the jackknife is valid.
    """
    inverse = _inverse_information(result)
    scale = result.unknowns.scale * _jackknife(setup, result, inverse)
    return np.asarray(inverse * np.outer(scale, scale))


def information_covariance(result: Estimate) -> Array:
    """(unknowns, unknowns): inverse information times the mean squared innovation, without a jackknife."""
    scale = result.unknowns.scale
    return np.asarray(_inverse_information(result) * np.outer(scale, scale))


def _inverse_information(result: Estimate) -> Array:
    unknowns, passed = result.unknowns, result.solution.passed
    matrix, _ = unknowns.system(result.solution.information, np.zeros(len(unknowns)))
    return _scaled_inverse(matrix) * max(1.0, float(passed.squares.sum() / max(passed.counts.sum(), 1.0)))


def _scaled_inverse(matrix: Array) -> Array:
    """The inverse of a covariance-like matrix whose entries may differ by many orders of magnitude, never negative.

    Directions that rounding made negative count as those without information: they are left out.
    """
    size = np.where(np.diag(matrix) > 1e-300, np.sqrt(np.abs(np.diag(matrix))), np.inf)
    values, vectors = np.linalg.eigh(matrix / np.outer(size, size))
    kept = values > ROUNDING * values[-1] if len(values) else values > 0.0
    root = vectors[:, kept] / np.sqrt(values[kept]) / size[:, None]
    return np.asarray(root @ root.T)


def _jackknife(setup: Setup, result: Estimate, inverse: Array) -> Array:
    """For each unknown, the ratio of its jackknife error to that from the information, at least 1."""
    if not np.isfinite(inverse).all():
        return np.ones(len(inverse))
    if setup.measurement.sensors.guess:
        gradients, fitted = _of_pieces(setup, result), 1
    else:
        gradients, fitted = _of_groups(setup, result, inverse)
    count = len(gradients)
    if count < LEAST_GROUPS or not np.isfinite(gradients).all():
        return np.ones(len(inverse))
    gradients = gradients * result.unknowns.scale
    moved = (gradients - gradients.mean(axis=0)) @ inverse
    with np.errstate(over="ignore"):  # undetermined parameters
        error = np.sqrt(np.sum(moved**2, axis=0) * count / (count - min(fitted, count // 2)))
    error[~np.isfinite(error)] = 0.0
    expected = np.sqrt(np.maximum(np.diag(inverse), 1e-300))
    chance = 1.0 + 1.0 / np.sqrt(2.0 * (count - 1))  # chance excess of a jackknife with so few groups
    return np.asarray(np.where(error > chance * expected, error / expected, 1.0))


def _of_pieces(setup: Setup, result: Estimate) -> Array:
    """Gradients over pieces of the record that begin with start states of their own, (pieces, unknowns).

    For unmeasured states: pieces whose starts are guessed anew disagree about what only the guess determines.
    """
    longest = max(LEAST_ROWS, result.batch.rows // jackknife.GROUPS)
    parts = with_starts(pieces(result.batch.stretches, longest), setup.measurement)
    filter_ = setup.make(result.field, batch_of(parts), setup.plan)
    return filter_.run(result.unknowns.values, result.noise, result.gate).gradient


def _of_groups(setup: Setup, result: Estimate, inverse: Array) -> tuple[Array, int]:
    """Gradients over groups of rows of one uninterrupted pass, and the number of values that take up their misfit.

    A pass over each piece alone would begin with a new start state, which takes up the slow part of coloured noise.
    """
    fitted = len(inverse) + len(result.batch.starts) * result.field.states
    count = min(max(jackknife.GROUPS, GROUPS_AN_UNKNOWN * fitted), result.batch.rows // LEAST_ROWS)
    if count < LEAST_GROUPS:
        return np.zeros((0, len(inverse))), fitted
    group = jackknife.groups_of(result.batch.rows, count)
    return _gradients(setup, result, inverse, group), fitted


def _gradients(setup: Setup, result: Estimate, inverse: Array, group: Array) -> Array:
    """Sums of h e / S over each group of rows, (groups, unknowns).

    h follows from frozen passes with one unknown moved a little.
    """
    filter_, values = setup.make(result.field, result.batch, setup.plan), result.unknowns.values
    passed = filter_.run(values, result.noise, result.gate, sensitivities=False)
    used = np.isfinite(passed.variances)
    weighted = np.where(used, passed.innovations / np.where(used, passed.variances, 1.0), 0.0)
    errors = np.sqrt(np.maximum(np.diag(inverse), 0.0)) * result.unknowns.scale
    sums = np.zeros((int(group[-1]) + 1, len(values)))
    for k, error in enumerate(errors):
        moved = values.copy()
        moved[k] += MOVED * (min(error, abs(values[k])) or error)
        if moved[k] == values[k]:
            continue
        beside = filter_.run(moved, result.noise, result.gate, frozen=passed).innovations
        slope = np.where(used, passed.innovations - beside, 0.0) / (moved[k] - values[k])
        sums[:, k] = np.bincount(group, np.sum(slope * weighted, axis=1), len(sums))
    return sums
