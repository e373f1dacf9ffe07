"""Terms found on the filter's sums, one after the other: for records that windows cannot look into.

At a solution every offered term has a coefficient of 0, a gradient and an information; what it would gain by itself
follows from these sums without another pass. The best one is taken in, all unknowns are refined, and so on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from tinyude.model.model import Model
from tinyude.refinement.estimate import Estimate, Setup
from tinyude.refinement.hybrid import hybrid

Array = NDArray[Any]
NOTHING = 1e-300  # a coefficient that is in, and adds nothing
MOST_OFFERED = 120  # coefficients
LEAST_NEW = 1e-3  # share of a term's information that the unknowns already in must leave


def offered(model: Model, terms: Sequence[sp.Expr], without: Sequence[str] = ()) -> Model:
    """The model with these terms beside its own, each with a coefficient that adds nothing yet.

    without: names that no term may hold.
    """
    fresh = [term for term in terms if term not in model.terms]
    fresh = fresh[: max(0, MOST_OFFERED // max(len(model.on), 1) - len(model.terms))]
    wide = np.hstack([model.coefficients, np.zeros((len(model.on), len(fresh)))])
    errors = np.zeros(wide.shape)
    errors[:, : model.errors.shape[1]] = model.errors
    everything = (*model.terms, *fresh)
    fitting = np.array([not {s.name for s in term.free_symbols} & set(without) for term in everything], dtype=bool)
    wide = np.where((wide == 0.0) & fitting, NOTHING, wide)
    return replace(model, terms=everything, forms=(), shapes={}, coefficients=wide, errors=errors, covariance=None)


def best_addition(setup: Setup, found: Estimate, model: Model) -> Model | None:
    """The model with the one term more that lowers the cost most; None when none is new.

    Parameters
    ----------
    found : Estimate
        Where the numbers of `model` come from.
    model : Model
        From `offered`, with the numbers of the estimate.
    """
    own = hybrid(model)
    passed = setup.make(own.field, found.batch, setup.plan).run(own.unknowns.values, found.noise, found.gate)
    if not np.isfinite(passed.cost):
        return None
    matrix, gradient = own.unknowns.system(passed.information.sum(axis=0), passed.gradient.sum(axis=0))
    out = np.abs(own.unknowns.values) <= NOTHING
    gains = _gains(matrix, gradient, out)
    if not np.any(gains > 0.0):
        return None
    chosen = np.zeros(len(out), dtype=bool)
    chosen[int(np.argmax(gains))] = True
    first = len(model.physics.learned)
    coefficients = model.coefficients.copy()
    rows, columns = np.nonzero(coefficients)
    left = (out & ~chosen)[first : first + len(rows)]
    coefficients[rows[left], columns[left]] = 0.0
    return replace(model, coefficients=coefficients)


def _gains(matrix: Array, gradient: Array, out: Array) -> Array:
    """By how much each unknown that is out would lower the cost if it were let in, the others moving along."""
    size = np.sqrt(np.maximum(np.diag(matrix), 1e-300))
    scaled, slope = matrix / np.outer(size, size), gradient / size
    inside = np.flatnonzero(~out)
    gains = np.zeros(len(out))
    solve = np.linalg.pinv(scaled[np.ix_(inside, inside)], rcond=1e-12, hermitian=True)
    for k in np.flatnonzero(out):
        row = scaled[k, inside] @ solve
        left = scaled[k, k] - row @ scaled[inside, k]
        if left > LEAST_NEW:
            gains[k] = (slope[k] - row @ slope[inside]) ** 2 / left
    return gains
