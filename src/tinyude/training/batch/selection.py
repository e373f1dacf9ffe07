"""Sparse regression on whitened columns: sets of terms that matter alone or only together.

Everything works on the Gram matrix, so that a step is cheap compared with computing the columns. Sets are
grown from nothing, shrunk from far too many terms, and searched broadly while small; swaps improve them. Criterion:
chi^2 / s^2 + limit x terms.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.training.batch.triangular import lower_factor, solve_factored, solve_lower

Array = NDArray[Any]

MOST = 12  # terms of one equation
OVERFULL = 30  # terms of the set that backward elimination starts from
NEW = 1e-3  # least share of a column outside the span of the others
ROUNDS = 20
SMALL, BROAD_SEARCH = 4, 12  # size up to which sets are searched broadly, and the beam width


@dataclass(frozen=True)
class Gram:
    """Sums over whitened rows: column by column, column by target, and the target squared."""

    columns: Array  # (columns, columns), unit diagonal
    target: Array  # (columns,)
    power: float
    size: Array  # (columns,) norms taken out of the columns
    rows: int


def make_gram(design: Array, target: Array) -> Gram:
    """The sums of a whitened design (rows, columns) and target (rows,)."""
    size = np.sqrt(np.einsum("nk,nk->k", design, design))
    size = np.where(size > 0.0, size, np.inf)
    unit = design / size
    columns = unit.T @ unit
    np.fill_diagonal(columns, np.where(np.isfinite(size), 1.0, 0.0))
    return Gram(columns, unit.T @ target, float(target @ target), size, len(target))


def limit(columns: int, rows: int) -> float:
    """Least drop of chi^2 for one more term, in units of the noise: the penalty for searching so many columns."""
    return 2.0 * float(np.log(max(columns, 1))) + float(np.log(max(rows, 1))) + 4.0


def select(
    gram: Gram, price: float, start: Iterable[int] = (), fixed: int = 0, most: int = MOST,
    small: Iterable[list[int]] | None = None,
) -> list[int]:  # fmt: skip
    """The best set found; the first `fixed` columns always stay.

    price: limit times the noise scale s^2. start: columns to grow from. small: the sets of small_sets, if known.
    """
    always = list(range(fixed))
    grown = grow(gram, [*always, *(k for k in start if k >= fixed)], price, most + fixed)
    overfull = grow(gram, grown, 0.0, OVERFULL + fixed)
    shrunk = _shrink(gram, overfull, price, fixed, most + fixed)
    small = small_sets(gram, fixed) if small is None else small
    least = min([always, *small], key=lambda chosen: criterion(gram, chosen, price))
    sets = [_polish(gram, chosen, price, fixed, most + fixed) for chosen in (grown, shrunk, least)]
    return min(sets, key=lambda chosen: criterion(gram, chosen, price))


def small_sets(gram: Gram, fixed: int = 0) -> list[list[int]]:
    """For each size up to SMALL, the sets that lower chi^2 the most, the best first.

    Columns are added one by one to the best smaller sets and to the best of all pairs: in greedy growth the first one
    often replaces two correct ones, and stays.
    """
    always = list(range(fixed))
    pairs = [[*always, *pair] for pair in _best_pairs(gram, always, BROAD_SEARCH)[1]]
    found: list[list[int]] = []
    active = [always]
    for size in range(1, SMALL + 1):
        offered: dict[frozenset[int], tuple[float, list[int]]] = {}
        for chosen in active:
            explained, gain = _explained(gram, chosen), gains(gram, chosen)
            for column in np.argsort(-gain)[:BROAD_SEARCH]:
                if gain[column] > 0.0:
                    made = [*chosen, int(column)]
                    offered[frozenset(made)] = (explained + float(gain[column]), made)
        if size == 2:
            offered |= {frozenset(pair): (_explained(gram, pair), pair) for pair in pairs}
        best = sorted(offered.values(), key=lambda one: -one[0])[:BROAD_SEARCH]
        active = [made for _, made in best]
        found += active
    return found


def criterion(gram: Gram, chosen: list[int], price: float) -> float:
    """chi^2 plus the price of every term."""
    return gram.power - _explained(gram, chosen) + price * len(chosen)


def solve(gram: Gram, chosen: list[int]) -> tuple[Array, Array]:
    """Coefficients and their covariance for unit noise, in the units of the columns as given."""
    if not chosen:
        return np.zeros(0), np.zeros((0, 0))
    factor = lower_factor(_block(gram, chosen))
    size = gram.size[chosen]
    inverse = solve_factored(factor, np.eye(len(chosen)))
    return solve_factored(factor, gram.target[chosen]) / size, inverse / np.outer(size, size)


def _block(gram: Gram, chosen: list[int]) -> Array:
    return gram.columns[np.ix_(chosen, chosen)] + 1e-12 * np.eye(len(chosen))


def _explained(gram: Gram, chosen: list[int]) -> float:
    if not chosen:
        return 0.0
    try:
        factor = lower_factor(_block(gram, chosen))
    except np.linalg.LinAlgError:
        return -np.inf
    return float(gram.target[chosen] @ solve_factored(factor, gram.target[chosen]))


def gains(gram: Gram, chosen: list[int]) -> Array:
    """The drop of chi^2 if each column joined the chosen ones; 0 for those in their span."""
    left, across = _beside(gram, chosen)
    free = np.diag(gram.columns) - np.einsum("kc,kc->c", across, across)
    usable = free > NEW**2
    usable[chosen] = False
    return np.where(usable, left**2 / np.where(usable, free, 1.0), 0.0)


def _beside(gram: Gram, chosen: list[int]) -> tuple[Array, Array]:
    """Products of the columns with the chosen ones' residual, and their share in the span of the chosen."""
    if not chosen:
        return gram.target, np.zeros((0, len(gram.target)))
    lower = lower_factor(_block(gram, chosen))
    across = solve_lower(lower, gram.columns[chosen])
    return gram.target - across.T @ solve_lower(lower, gram.target[chosen]), across


def _best_pairs(gram: Gram, chosen: list[int], count: int) -> tuple[Array, list[list[int]]]:
    """The pairs of columns that lower chi^2 the most, the best first, and by how much."""
    left, across = _beside(gram, chosen)
    among = gram.columns - across.T @ across
    free = np.diag(among).copy()
    usable = free > NEW**2
    usable[chosen] = False
    scale = np.where(usable, 1.0 / np.sqrt(np.where(usable, free, 1.0)), 0.0)
    left, among = left * scale, among * np.outer(scale, scale)
    apart = 1.0 - among**2
    told = np.triu((apart > NEW**2) & np.outer(usable, usable), 1)
    both = left[:, None] ** 2 + left**2 - 2.0 * among * np.outer(left, left)
    both = np.where(told, both / np.where(told, apart, 1.0), 0.0).ravel()
    best = np.argpartition(-both, min(count, len(both) - 1))[:count]
    best = best[np.argsort(-both[best])]
    return both[best], [[int(k) for k in np.unravel_index(place, among.shape)] for place in best if both[place] > 0.0]


def _losses(gram: Gram, chosen: list[int]) -> Array:
    """The rise of chi^2 if each chosen term were left out."""
    inverse = np.linalg.inv(_block(gram, chosen))
    return np.asarray((inverse @ gram.target[chosen]) ** 2 / np.diag(inverse))


def grow(gram: Gram, chosen: list[int], price: float, most: int) -> list[int]:
    """Forward selection: add one column, or two at once, as long as that lowers the criterion."""
    chosen, most = list(chosen), min(most, len(gram.target))
    while len(chosen) < most:
        gain = gains(gram, chosen)
        best = int(np.argmax(gain))
        if gain[best] > price:
            chosen.append(best)
            continue
        together, pairs = _best_pairs(gram, chosen, 1) if price > 0.0 else (np.zeros(1), [])
        if not pairs or not together[0] > 2.0 * price or len(chosen) + 2 > most:
            break
        chosen += pairs[0]
    return chosen


def _shrink(gram: Gram, chosen: list[int], price: float, fixed: int, most: int) -> list[int]:
    chosen = list(chosen)
    while len(chosen) > fixed:
        losses = _losses(gram, chosen)[fixed:]
        worst = int(np.argmin(losses))
        if losses[worst] >= price and len(chosen) <= most:
            break
        del chosen[fixed + worst]
    return chosen


def _polish(gram: Gram, chosen: list[int], price: float, fixed: int, most: int) -> list[int]:
    """Swap, shrink and grow until nothing helps."""
    for _ in range(ROUNDS):
        before = criterion(gram, chosen, price)
        chosen = _shrink(gram, grow(gram, _swap(gram, chosen, fixed), price, most), price, fixed, most)
        if criterion(gram, chosen, price) >= before - 1e-6 * max(price, 1.0):
            break
    return chosen


def _swap(gram: Gram, chosen: list[int], fixed: int) -> list[int]:
    """Replace each term by the best other one, if that lowers the criterion."""
    chosen = list(chosen)
    for place in range(fixed, len(chosen)):
        rest = chosen[:place] + chosen[place + 1 :]
        gain = gains(gram, rest)
        best = int(np.argmax(gain))
        if gain[best] > gain[chosen[place]] * (1.0 + 1e-9) + 1e-9:
            chosen[place] = best
    return chosen
