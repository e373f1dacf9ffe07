"""Stepwise search for terms on the filter's sums, for records without usable windows.

At a solution every offered term has a coefficient of 0, a gradient and an information; the gain of a set of them
follows from these sums without another pass. The best one is added, terms are swapped, all unknowns are refined, and
this is repeated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from tinyude.model.model import Model
from tinyude.refinement.estimate import Estimate, Setup
from tinyude.refinement.hybrid import hybrid

Array = NDArray[Any]
NOTHING = 1e-300  # a coefficient that is nonzero but has no effect
MOST_OFFERED = 120  # coefficients
LEAST_NEW = 1e-3  # least share of a term's information outside the span of the included unknowns
MOST_SWAPS = 20  # of one term for another after each addition
MORE = 1.0 + 1e-6  # factor by which a swap must explain more: sums are not exact


class Offer(Protocol):
    """What a search may add to a model."""

    def wide(self, model: Model) -> tuple[Model, Array]:
        """The model with everything added, without effect yet; and the indices of all that among its unknowns."""

    def narrow(self, model: Model, places: Array, chosen: Array) -> Model:
        """The wide model with only the chosen of its unknowns."""


@dataclass(frozen=True)
class Added:
    """Terms that a search may add to every equation.

    Attributes
    ----------
    terms : sequence of expressions
    without : sequence of str
        Names that no term may contain.
    """

    terms: Sequence[sp.Expr]
    without: Sequence[str] = ()

    def wide(self, model: Model) -> tuple[Model, Array]:
        wide = offered(model, self.terms, self.without)
        first = len(wide.physics.learned)
        return wide, np.arange(first, first + np.count_nonzero(wide.coefficients))

    def narrow(self, model: Model, places: Array, chosen: Array) -> Model:
        coefficients, (rows, columns) = model.coefficients.copy(), np.nonzero(model.coefficients)
        left = ~chosen[places]
        coefficients[rows[left], columns[left]] = 0.0
        return replace(model, coefficients=coefficients)


def offered(model: Model, terms: Sequence[sp.Expr], without: Sequence[str] = ()) -> Model:
    """The model with these terms added, each with a coefficient that has no effect yet.

    without: names that no term may contain.
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


def best_additions(setup: Setup, found: Estimate, model: Model, offer: Offer, count: int) -> list[Model]:
    """The model with one more term, in the ways that lower the cost most; none if no term is new.

    A term added while others were missing often replaces one of these: together with the new one, each is swapped
    for any excluded one as long as that lowers the cost further. The sums are those at a coefficient of 0: if much
    is missing, the most promising term there need not be the best one after a fit.

    Parameters
    ----------
    found : Estimate
        The estimate with the values of `model`.
    model : Model
    offer : Offer
    count : int
        Most ways returned.
    """
    wide, terms = offer.wide(model)
    own = hybrid(wide)
    passed = setup.make(own.field, found.batch, setup.plan).run(own.unknowns.values, found.noise, found.gate)
    if not np.isfinite(passed.cost):
        return []
    matrix, gradient = own.unknowns.system(passed.information.sum(axis=0), passed.gradient.sum(axis=0))
    values = np.where(np.abs(own.unknowns.values) > NOTHING, own.unknowns.values, 0.0)
    start = np.where(np.isin(np.arange(len(values)), terms), values, 0.0)
    return [offer.narrow(wide, terms, chosen) for chosen in _best_sets(matrix, gradient, start, terms, count)]


def _best_sets(matrix: Array, gradient: Array, values: Array, terms: Array, count: int) -> list[Array]:
    """Included unknowns with one more term than now, in at most `count` ways, the best first.

    The cost is a quadratic form in the unknowns; excluded terms are 0 in it.
    """
    size = np.sqrt(np.maximum(np.diag(matrix), 1e-300))
    scaled, slope, values = matrix / np.outer(size, size), gradient / size, values * size
    slope = slope + scaled @ values  # the gradient where every term is 0
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
    """The set after swapping these terms for excluded ones, as long as that explains more."""
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
    """By how much the included unknowns lower the cost."""
    own = slope[inside]
    return float(own @ np.linalg.pinv(matrix[np.ix_(inside, inside)], rcond=1e-12, hermitian=True) @ own)


def _gains(matrix: Array, slope: Array, inside: Array) -> Array:
    """By how much each excluded unknown would lower the cost further, with the others solved again."""
    solve = np.linalg.pinv(matrix[np.ix_(inside, inside)], rcond=1e-12, hermitian=True)
    rows = matrix[np.ix_(~inside, inside)] @ solve
    left = np.diag(matrix)[~inside] - np.sum(rows * matrix[np.ix_(~inside, inside)], axis=1)
    rest = slope[~inside] - rows @ slope[inside]
    gains = np.zeros(len(slope))
    gains[~inside] = np.where(left > LEAST_NEW, rest**2 / np.maximum(left, LEAST_NEW), 0.0)
    return gains
