"""Uncertainty of the learned residual: its linear part is solved without each group of windows in turn (jackknife).

The linear part: library coefficients, learned parameters, and the last layer of the network over the features
of the layers before it. The spread of the solutions is a delete-a-group jackknife, as in the learner.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.model import jackknife
from tinyude.model.model import Model
from tinyude.model.windows import Windows

Array = NDArray[Any]

BLOCKS = 3  # of consecutive windows, for each group
LEAST_SHARE = 0.5  # of the blocks' own variance
RIDGE = 3e-3  # of the mean square of a feature: bounds directions that training leaves undetermined


@dataclass(frozen=True)
class Spread:
    """Jackknife deviations from the fitted model; `groups` of them."""

    terms: Array  # (groups, on, terms)
    network: Array  # (groups, on, features)


def with_neighbours(model: Model, seen: Windows) -> Model:
    """The model with errors of its terms and learned parameters that account for correlated neighbouring blocks.

    For records without measured rates: the noise of a second derivative is a difference of differences, so what it adds
    to one block it takes from the next. The learner's groups ignore that, so their errors are too large.
    """
    if len(seen) < 4 * jackknife.GROUPS * BLOCKS or not (model.physics.learned or model.errors.any()):
        return model
    none = np.zeros((len(seen.owner), 0))
    design, owner = _design(model, seen, model.term_values(seen.node_x, seen.node_u), none)
    target = _unexplained(model, seen)
    size = np.sqrt(np.einsum("nik,nik->k", design, design)) + np.finfo(np.float64).tiny
    design = design / size
    total = np.einsum("nik,nil->kl", design, design) + 1e-9 * np.eye(len(size))
    rest = target - design @ np.linalg.solve(total, np.einsum("nik,ni->k", design, target))
    parts = np.array_split(np.einsum("nik,ni->nk", design, rest), jackknife.GROUPS * BLOCKS)
    moved = np.array([np.linalg.solve(total, part.sum(axis=0)) for part in parts])  # by each block
    own, shared = (moved**2).sum(axis=0), 2.0 * (moved[1:] * moved[:-1]).sum(axis=0)
    factor = np.sqrt(np.clip(1.0 + shared / np.where(own > 0.0, own, 1.0), LEAST_SHARE, 1.0))
    errors, parameter_errors = model.errors.copy(), model.parameter_errors.copy()
    for (kind, row, index), share in zip(owner, factor, strict=True):
        if kind == "term":
            errors[row, index] *= share
        else:
            parameter_errors[index] *= share
    return replace(model, errors=errors, parameter_errors=parameter_errors)


def spread(model: Model, seen: Windows) -> Spread:
    """The deviations; those of the terms are scaled to the learner's errors over all windows."""
    groups = min(jackknife.GROUPS, len(seen) // BLOCKS)
    shape = (max(groups, 0), len(model.on))
    kept = model.errors > 0.0
    features = model.features(seen.node_x, seen.node_u)
    terms = model.term_values(seen.node_x, seen.node_u)
    empty = Spread(np.zeros((*shape, kept.shape[1])), np.zeros((*shape, features.shape[-1])))
    if groups < 2 or not (kept.any() or features.shape[-1]):
        return empty
    design, owner = _design(model, seen, terms, features)
    unexplained = _unexplained(model, seen)
    deviations = _jackknife(design, unexplained, groups, np.array([kind == "network" for kind, _, _ in owner]))
    size = jackknife.error(deviations)
    for column, (kind, row, index) in enumerate(owner):
        if kind == "term" and size[column] > 0.0:
            empty.terms[:, row, index] = deviations[:, column] * model.errors[row, index] / size[column]
        elif kind == "network":
            empty.network[:, row, index] = deviations[:, column]
    return empty


def posterior_error(model: Model, x: Array, u: Array | None) -> Array:
    """The standard error of the residual at states x, shaped like x, from the covariance of all its unknowns.

    Along its eigenvectors: weights of wide kernel units are large and cancel, and the remaining variance is
    near rounding. A plain sum of products was negative at some states, and the error 0.
    """
    assert model.covariance is not None
    values, vectors = np.linalg.eigh(model.covariance)
    along = model.residual_jacobian(x, u) @ vectors
    return np.asarray(np.sqrt(along**2 @ np.maximum(values, 0.0)))


def residual_error(model: Model, found: Spread, x: Array, u: Array | None) -> Array:
    """The standard error of the residual at states x, shaped like x."""
    error = np.zeros(x.shape)
    groups = len(found.terms)
    if groups:
        moved = np.einsum("...k,gik->g...i", model.term_values(x, u), found.terms)
        moved = moved + np.einsum("...k,gik->g...i", model.features(x, u), found.network)
        with np.errstate(over="ignore"):  # of a model that a file makes huge: an infinite interval
            error[..., list(model.on)] = np.sqrt((groups - 1) * np.mean(moved**2, axis=0))
    return error


def _design(model: Model, seen: Windows, terms: Array, features: Array) -> tuple[Array, list[tuple[str, int, int]]]:
    """Contribution of each linear quantity to each window's rate (windows, on, columns), and each column's kind."""
    columns: list[Array] = []
    owner: list[tuple[str, int, int]] = []
    on = list(model.on)
    unit = model.dx_scale[on]
    sensitivity = model.physics.parameter_jacobian(seen.node_x, seen.inputs)
    for index in range(len(model.physics.learned)):
        columns.append(seen.view(sensitivity[..., index])[:, on] / unit)
        owner.append(("parameter", 0, index))
    for row, state in enumerate(on):
        own = [("term", int(k), terms[:, k]) for k in np.flatnonzero(model.errors[row] > 0.0)]
        if features.shape[-1] and model.network_on[row]:
            own += [("network", k, features[:, k]) for k in range(features.shape[-1])]
        for kind, index, values in own:
            column = np.zeros((len(seen), len(on)))
            column[:, row] = seen.seen(values, state) / unit[row]
            columns.append(column)
            owner.append((kind, row, index))
    return np.stack(columns, axis=-1), owner


def _unexplained(model: Model, seen: Windows) -> Array:
    """The model's remainder of the derivatives in the windows, in units of their scale."""
    on = list(model.on)
    flow = seen.view(model.field(seen.node_x, seen.inputs))
    return np.asarray((seen.dx - flow)[:, on] / model.dx_scale[on])


def _jackknife(design: Array, target: Array, groups: int, free: Array) -> Array:
    """Solutions without each group minus their mean: (groups, columns). The `free` columns have a ridge penalty."""
    block = np.arange(len(target)) * (BLOCKS * groups) // len(target) % groups
    square = np.array([np.einsum("nik,nil->kl", design[block == g], design[block == g]) for g in range(groups)])
    cross = np.array([np.einsum("nik,ni->k", design[block == g], target[block == g]) for g in range(groups)])
    total = square.sum(axis=0)
    size = np.sqrt(np.diag(total))
    size = np.where(size > 0.0, size, 1.0)
    ridge = np.diag(np.where(free, RIDGE, 1e-9))
    matrices = (total - square) / np.outer(size, size) + ridge
    left_out = np.linalg.solve(matrices, ((cross.sum(axis=0) - cross) / size)[..., None])[..., 0] / size
    return np.asarray(left_out - left_out.mean(axis=0))
