"""Terms found on the filter's sums, one after the other: for records that windows cannot look into.

At a solution every offered term has a coefficient of 0, a gradient and an information; what a set of them would gain
follows from these sums without another pass. The best one is taken in, terms are swapped, all unknowns are refined, and
so on.
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
MOST_SWAPS = 20  # of one term for another after each addition
MORE = 1.0 + 1e-6  # times what a set explains, that a swap must come to: sums are not exact


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


def best_additions(setup: Setup, found: Estimate, model: Model, count: int) -> list[Model]:
    """The model with one term more than it has, in the ways that lower the cost most; none when no term is new.

    A term that came in while others were missing often stands for one of these: beside the new one, each is swapped
    for any that is out as long as that lowers the cost further. The sums are those at a coefficient of 0: where much
    is missing, the term that promises most there need not be the one that keeps it.

    Parameters
    ----------
    found : Estimate
        Where the numbers of `model` come from.
    model : Model
        From `offered`, with the numbers of the estimate.
    count : int
        Ways, at most.
    """
    own = hybrid(model)
    passed = setup.make(own.field, found.batch, setup.plan).run(own.unknowns.values, found.noise, found.gate)
    if not np.isfinite(passed.cost):
        return []
    matrix, gradient = own.unknowns.system(passed.information.sum(axis=0), passed.gradient.sum(axis=0))
    first, (rows, columns) = len(model.physics.learned), np.nonzero(model.coefficients)
    terms = np.arange(first, first + len(rows))
    values = np.where(np.abs(own.unknowns.values) > NOTHING, own.unknowns.values, 0.0)
    start = np.where(np.isin(np.arange(len(values)), terms), values, 0.0)
    made = []
    for chosen in _best_sets(matrix, gradient, start, terms, count):
        coefficients = model.coefficients.copy()
        left = ~chosen[terms]
        coefficients[rows[left], columns[left]] = 0.0
        made.append(replace(model, coefficients=coefficients))
    return made


def _best_sets(matrix: Array, gradient: Array, values: Array, terms: Array, count: int) -> list[Array]:
    """Which unknowns are in, with one term more than have a value now, in at most so many ways, the best first.

    The cost is a quadratic form in the unknowns: a term that is out has lost its value.
    """
    size = np.sqrt(np.maximum(np.diag(matrix), 1e-300))
    scaled, slope, values = matrix / np.outer(size, size), gradient / size, values * size
    slope = slope + scaled @ values  # as seen from where every term is 0
    inside = np.ones(len(values), dtype=bool)
    inside[terms[values[terms] == 0.0]] = False
    gains = _gains(scaled, slope, inside)
    found: list[Array] = []
    for new in np.argsort(-gains, kind="stable")[:count]:
        if gains[new] > 0.0:
            larger = inside.copy()
            larger[new] = True
            found.append(_swapped(scaled, slope, larger, terms[terms != new]))
    found.sort(key=lambda chosen: -_explained(scaled, slope, chosen))
    return [chosen for k, chosen in enumerate(found) if not any(np.array_equal(chosen, f) for f in found[:k])]


def _swapped(matrix: Array, slope: Array, inside: Array, terms: Array) -> Array:
    """The set after every swap of one of these terms for any that is out, as long as that explains more."""
    inside = inside.copy()
    for _ in range(MOST_SWAPS):
        best, swap = MORE * _explained(matrix, slope, inside), None
        for old in terms[inside[terms]]:
            without = inside.copy()
            without[old] = False
            gains = _gains(matrix, slope, without)
            new = int(np.argmax(gains))
            if new != old and (total := _explained(matrix, slope, without) + gains[new]) > best:
                best, swap = total, (old, new)
        if swap is None:
            break
        inside[swap[0]], inside[swap[1]] = False, True
    return inside


def _explained(matrix: Array, slope: Array, inside: Array) -> float:
    """By how much the unknowns inside lower the cost."""
    own = slope[inside]
    return float(own @ np.linalg.pinv(matrix[np.ix_(inside, inside)], rcond=1e-12, hermitian=True) @ own)


def _gains(matrix: Array, slope: Array, inside: Array) -> Array:
    """By how much each unknown that is out would lower the cost further if it were let in, the others moving along."""
    solve = np.linalg.pinv(matrix[np.ix_(inside, inside)], rcond=1e-12, hermitian=True)
    rows = matrix[np.ix_(~inside, inside)] @ solve
    left = np.diag(matrix)[~inside] - np.sum(rows * matrix[np.ix_(~inside, inside)], axis=1)
    rest = slope[~inside] - rows @ slope[inside]
    gains = np.zeros(len(slope))
    gains[~inside] = np.where(left > LEAST_NEW, rest**2 / np.maximum(left, LEAST_NEW), 0.0)
    return gains
