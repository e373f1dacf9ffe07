"""Library terms for one residual state: chosen jointly, shape parameters fitted, redundant terms merged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.training.batch.evidence import posterior
from tinyude.training.batch.library import Entry, free_shapes, with_shape
from tinyude.training.batch.problem import WhiteRows
from tinyude.training.batch.selection import (
    OVERFULL,
    Gram,
    criterion,
    gains,
    grow,
    limit,
    make_gram,
    select,
    small_sets,
    solve,
)
from tinyude.training.batch.shape_search import search_shapes, shape_unit

Array = NDArray[Any]

BROAD = 3.0  # prior spread of a term's contribution, in units of the residual's RMS
SHAPE_PRICE = 0.1  # of a term's price, for fitting a shape: the offered value was arbitrary
SAME = 0.02  # least share of a column outside the others' span after a shape fit (tanh slopes 18 % apart: 0.02)
FEWEST = 10.0  # windows, as many of equal weight as a fitted shape has in effect
WEAK = 5.0  # standard errors from 0, below which leaving a term out is tried
WEAK_TRIED = 2  # weak terms tried at a time
MOST_SHAPED = 3  # terms whose shapes are freed together
FREED_SETS, FREED_SWITCHES = 4, 8  # sets of each small size, and pairs with a constant, whose shapes are freed


@dataclass(frozen=True)
class TermsFit:
    """Terms of one state, the columns of its learned parameters first."""

    entries: list[Entry]
    coefficients: Array  # (parameters + entries,)
    free: list[tuple[int, tuple[int, int]]]  # (entry, (factor, parameter)) of every freed shape
    spread: Callable[[], Array]  # the covariance: a search asks for few
    chi2: float
    noise: float  # scale of the whitened noise, 1 where the noise model holds
    evidence: float

    @cached_property
    def covariance(self) -> Array:
        """Of the coefficients, then the freed shapes; noise scale included."""
        return self.spread()


@dataclass(frozen=True)
class Columns:
    """Whitened columns of a library."""

    entries: list[Entry]
    design: Array  # (rows, parameters + entries)
    gram: Gram
    parameters: int

    @cached_property
    def small(self) -> list[list[int]]:
        """Sets of few columns that explain the most, of each size the best first."""
        return small_sets(self.gram, self.parameters)

    @cached_property
    def beside_constant(self) -> list[list[int]]:
        """Pairs of a column and the constant, those that explain the most first; none if no constant is offered."""
        if () not in self.entries:
            return []
        constant = [*range(self.parameters), self.parameters + self.entries.index(())]
        gain = gains(self.gram, constant)
        return [[*constant, int(k)] for k in np.argsort(-gain) if gain[k] > 0.0]

    def named(self, chosen: Sequence[int]) -> list[Entry]:
        """The entries of a set of columns."""
        return [self.entries[k - self.parameters] for k in chosen[self.parameters :]]


def make_columns(problem: WhiteRows, entries: Sequence[Entry], sensitivity: Array) -> Columns:
    """Columns of the learned parameters (nodes, parameters) and of the entries that are finite and not all 0."""
    with np.errstate(all="ignore"):
        seen = problem.filtered(entries)
        power = np.einsum("nk,nk->k", seen, seen)
    fine = np.isfinite(power) & (power > 0.0)
    kept = [entry for entry, good in zip(entries, fine, strict=True) if good]
    design = np.concatenate([problem.fixed(sensitivity), problem.whitened(seen[:, fine])], axis=1)
    return Columns(kept, design, make_gram(design, problem.y), sensitivity.shape[1])


def noise_scale(problem: WhiteRows, columns: Columns) -> float:
    """s^2: the residual variance of a large set, at least that of noise alone."""
    full = grow(columns.gram, list(range(columns.parameters)), 0.0, columns.parameters + OVERFULL)
    left = criterion(columns.gram, full, 0.0) / max(len(problem.y) - len(full), 1)
    return max(left, problem.whitener.expected)


def choose_terms(problem: WhiteRows, columns: Columns, s2: float, start: Sequence[Entry] = ()) -> TermsFit:
    """The terms worth their price, in the offered shapes; `start`: entries to grow from."""
    price = s2 * limit(len(columns.entries), problem.rows)
    first = [columns.parameters + columns.entries.index(e) for e in start if e in columns.entries]
    chosen = select(columns.gram, price, first, columns.parameters, small=columns.small)
    fixed = columns.design[:, : columns.parameters]
    return solve_terms(problem, columns.named(chosen), fixed, [], len(columns.entries))


def all_terms(problem: WhiteRows, columns: Columns) -> TermsFit:
    """All terms, without selection."""
    fixed = columns.design[:, : columns.parameters]
    return solve_terms(problem, columns.entries, fixed, [], len(columns.entries))


def fit_terms(
    problem: WhiteRows, columns: Columns, s2: float, angles: Sequence[int] = (), start: Sequence[Entry] | None = None
) -> TermsFit:
    """Choose terms and fit their shapes; start: entries to grow from; if given, shapes of small sets are fitted too."""
    found = choose_terms(problem, columns, s2, start or ())
    price = s2 * limit(len(columns.entries), problem.rows)
    fixed, offered = columns.design[:, : columns.parameters], len(columns.entries)

    def cost(fit: TermsFit) -> float:
        if fit is not found and (_redundant(problem, fit.entries, fixed) or _hardly_seen(problem, fit)):
            return np.inf  # two shapes that have become equal mimic a third; one far off follows a few windows' noise
        return fit.chi2 + price * (len(fit.entries) + SHAPE_PRICE * len(fit.free))

    def refit(entries: list[Entry]) -> TermsFit:
        return fit_shapes(problem, entries, fixed, angles, offered)

    best = _free(found, refit, cost, angles)
    if start is not None and len(best.entries) > 1:  # a few fitted shapes may replace many offered ones
        small = [refit(entries) for entries in _shaped_sets(columns, len(best.entries), angles)]
        best = max([best, *(fit for fit in small if np.isfinite(cost(fit)))], key=lambda fit: fit.evidence)
    return best if best is found else _without_weak(best, columns.parameters, refit, cost)


def _shaped_sets(columns: Columns, most: int, angles: Sequence[int]) -> list[list[Entry]]:
    """Sets of few terms whose shapes may be freed: the best of each size, and the best with a constant.

    A switch goes from one level to another: with a wrong threshold it explains little without a constant.
    """
    found: dict[int, list[list[Entry]]] = {}
    beside = [entries for chosen in columns.beside_constant if (entries := columns.named(chosen))]
    for entries in [columns.named(chosen) for chosen in columns.small]:
        if len(entries) <= min(most, MOST_SHAPED) and any(free_shapes(entry, angles) for entry in entries):
            found.setdefault(len(entries), []).append(entries)
    sets = [entries for own in found.values() for entries in own[:FREED_SETS]]
    shaped = [entries for entries in beside if any(free_shapes(entry, angles) for entry in entries)]
    return sets + [entries for entries in shaped[:FREED_SWITCHES] if entries not in sets]


def _free(
    found: TermsFit, refit: Callable[[list[Entry]], TermsFit], cost: Callable[[TermsFit], float], angles: Sequence[int]
) -> TermsFit:
    """Fit the shapes; drop terms that become redundant; keep what lowers the criterion."""
    shaped = [entry for entry in found.entries if free_shapes(entry, angles)]
    if not shaped:
        return found
    best = found
    entries = [entry for entry in found.entries if entry not in shaped]
    for _ in range(min(len(shaped), MOST_SHAPED)):
        fits = [refit([*entries, entry]) for entry in shaped]
        grown = min(fits, key=cost)
        if cost(grown) >= cost(best) and len(entries) >= len(found.entries):
            break
        best, entries = min(best, grown, key=cost), grown.entries
    return best


def _without_weak(
    best: TermsFit, parameters: int, refit: Callable[[list[Entry]], TermsFit], cost: Callable[[TermsFit], float]
) -> TermsFit:
    """Drop terms that are weak after the shape fit, and one of two of the same shape, while that lowers the criterion.

    Two corners may stand for one between them.
    """
    while len(best.entries) > 1:
        errors = np.sqrt(np.diag(best.covariance))[parameters : parameters + len(best.entries)]
        sure = np.abs(best.coefficients[parameters:]) / np.maximum(errors, 1e-300)
        tried = [k for k in np.argsort(sure)[:WEAK_TRIED] if sure[k] < WEAK]
        tried += [k for k in _twins(best.entries) if k not in tried]
        fits = [refit([entry for j, entry in enumerate(best.entries) if j != k]) for k in tried]
        fewer = min(fits, key=cost, default=best)
        if cost(fewer) >= cost(best):
            break
        best = fewer
    return best


def _twins(entries: Sequence[Entry]) -> list[int]:
    """Terms that differ from an earlier one in freed shapes only."""
    alike = [tuple((f.kind, f.column, f.minus, f.given) for f in entry) for entry in entries]
    return [k for k, entry in enumerate(entries) if free_shapes(entry) and alike[k] in alike[:k]]


def _redundant(problem: WhiteRows, entries: Sequence[Entry], fixed: Array) -> bool:
    """Whether some column is nearly a combination of the others."""
    gram = make_gram(np.concatenate([fixed, problem.columns(entries)], axis=1), problem.y)
    inverse = np.diag(np.linalg.pinv(gram.columns, hermitian=True))
    return bool(np.max(inverse, initial=0.0) > 1.0 / SAME**2)


def _hardly_seen(problem: WhiteRows, fit: TermsFit) -> bool:
    """Whether some fitted shape differs from 0 in a few windows only: the tail of a bump or of an exponential."""
    columns = problem.columns([fit.entries[k] for k in sorted({k for k, _ in fit.free})])
    largest = np.max(np.abs(columns), axis=0)
    if not np.all(largest > 0.0):  # a corner at the end of the range
        return True
    power = (columns / largest) ** 2
    return not bool(np.all(power.sum(axis=0) ** 2 >= FEWEST * np.sum(power**2, axis=0)))


def fit_shapes(
    problem: WhiteRows, entries: Sequence[Entry], fixed: Array, angles: Sequence[int], offered: int
) -> TermsFit:
    """The terms with their shape parameters fitted."""
    free = [(k, where) for k, entry in enumerate(entries) for where in free_shapes(entry, angles)]
    if not free:
        return solve_terms(problem, entries, fixed, [], offered)
    return solve_terms(problem, search_shapes(problem, entries, fixed, free), fixed, free, offered)


def solve_terms(
    problem: WhiteRows, entries: Sequence[Entry], fixed: Array, free: list[tuple[int, tuple[int, int]]], offered: int
) -> TermsFit:
    """Coefficients, covariance with freed shapes, and log evidence with broad priors."""
    design = np.concatenate([fixed, problem.columns(entries)], axis=1)
    gram = make_gram(design, problem.y)
    everything = list(range(design.shape[1]))
    coefficients, covariance = solve(gram, everything)
    chi2 = criterion(gram, everything, 0.0)
    prior = BROAD * problem.size / problem.rms(entries)
    scaled = np.concatenate([fixed * _parameter_prior(fixed, problem), design[:, fixed.shape[1] :] * prior], axis=1)
    found = posterior(scaled, problem.y, np.sqrt(problem.whitener.expected))
    noise = max(chi2 / max(len(problem.y) - len(everything) - len(free), 1), 1e-300)
    noise = max(noise / problem.whitener.expected, 1.0)
    evidence = found.evidence - (len(entries) + 0.5 * len(free)) * float(np.log(max(offered, 2)))
    evidence -= 0.5 * len(free) * float(np.log(max(problem.rows, 2)))

    def spread() -> Array:
        if not free:
            return covariance * noise
        return noise * _with_shapes(problem, entries, free, coefficients[fixed.shape[1] :], design)

    return TermsFit(list(entries), coefficients, free, spread, chi2, float(np.sqrt(noise)), evidence)


def term_prior(problem: WhiteRows, entries: Sequence[Entry]) -> Array:
    """Prior spread of every coefficient: a contribution of a few times the residual."""
    return BROAD * problem.size / problem.rms(entries)


def _parameter_prior(fixed: Array, problem: WhiteRows) -> Array:
    size = np.linalg.norm(fixed, axis=0)
    return np.linalg.norm(problem.y) / np.where(size > 0.0, size, 1.0)


def _with_shapes(
    problem: WhiteRows,
    entries: Sequence[Entry],
    free: list[tuple[int, tuple[int, int]]],
    coefficients: Array,
    design: Array,
) -> Array:
    """Covariance of coefficients and shapes for unit noise, by linearising in the shapes."""
    slopes = []
    for k, where in free:
        value = entries[k][where[0]].shape[where[1]]
        step = 1e-4 * (shape_unit(entries[k], where) or abs(value))
        high, low = (problem.columns([with_shape(entries[k], where, value + s * step)]) for s in (1.0, -1.0))
        slopes.append(coefficients[k] * (high - low)[:, 0] / (2.0 * step))
    full = np.concatenate([design, np.stack(slopes, axis=1)], axis=1)
    size = np.linalg.norm(full, axis=0)
    size = np.where(size > 0.0, size, 1.0)  # a shape without effect is undetermined
    unit = full / size
    inverse = np.linalg.inv(unit.T @ unit + 1e-10 * np.eye(len(size)))
    return inverse / np.outer(size, size)
