"""Covariance of the refined unknowns: the innovations' information, widened by the disagreement between stretches."""

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

    The jackknife leaves out one piece of the record at a time (one Gauss-Newton step each). If innovations
    are white both agree; if the model is incomplete only the jackknife is valid.
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
    longest = max(12, result.batch.rows // jackknife.GROUPS)
    parts = with_starts(pieces(result.batch.stretches, longest), setup.measurement)
    count = len(parts)
    if count < 4:
        return np.ones(len(inverse))
    passed = setup.make(result.field, batch_of(parts), setup.plan).run(
        result.unknowns.values, result.noise, result.gate
    )
    if not np.isfinite(passed.cost):
        return np.ones(len(inverse))
    gradients = passed.gradient * result.unknowns.scale
    moved = (gradients - gradients.mean(axis=0)) @ inverse
    with np.errstate(over="ignore"):  # undetermined parameters
        error = np.sqrt(np.sum(moved**2, axis=0) * count / (count - 1))
    error[~np.isfinite(error)] = 0.0
    expected = np.sqrt(np.maximum(np.diag(inverse), 1e-300))
    chance = 1.0 + 1.0 / np.sqrt(2.0 * (count - 1))  # chance excess of a jackknife with so few pieces
    return np.asarray(np.where(error > chance * expected, error / expected, 1.0))
