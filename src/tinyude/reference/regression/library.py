"""Sparse library regression: running sums over all accepted windows, and the few terms that exceed the noise.

Each block of windows goes to one of several groups, each with its own sums. Leaving one group out at a time gives every
coefficient its jackknife error, for any noise distribution and any overlap of windows. A term is kept if it exceeds
that error by the threshold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.reference.numeric.statistics import statistics_error

Array = NDArray[Any]
MEMORY = 1 << 18  # windows after which all sums are halved, so that the oldest lose weight
MAX_CHOSEN = 12  # beyond the forced ones
MIN_GROUPS = 6  # minimum number of filled groups for a jackknife error
COLLINEAR = 1e-3  # share of a column that must be new for it to be chosen
DEPENDENT = 1e-7  # the same for forced columns
WORTH = 1e-8  # share of the squared target below which a term is not chosen


@dataclass
class Library:
    sums: Array  # (groups, columns + 1, columns + 1), the target last
    coefficients: Array  # 0 for a term that is not selected
    errors: Array  # jackknife standard errors
    held: int = 0  # windows in the sums, in units of a new window's weight
    blocks: int = 0  # blocks since the last clear
    windows: int = 0  # windows in the current block
    deficient: int = 0  # forced columns that the data cannot distinguish
    solved: bool = False


def library_init(groups: int, columns: int) -> Library:
    sums = np.zeros((groups, columns + 1, columns + 1))
    return Library(sums, np.zeros(columns), np.zeros(columns))


def library_add(library: Library, design: Array, left: Array, target: Array | None = None) -> None:
    """Add one window: for each residual state a row of the design and the target's remainder for the library.

    In units of that state's scale; target: the full target, if a network explains part of it.
    """
    rows = np.column_stack([design, left])
    products = rows.T @ rows
    products[-1, -1] = left @ left if target is None else target @ target
    library.sums[library.blocks % len(library.sums)] += products
    library.windows += 1


def library_end_block(library: Library, forget: int = 0) -> None:
    """Close the current block; halve all sums when they hold too many windows.

    forget: windows after which the weight of older ones falls to 1 / e; 0: equal weights.
    """
    block = library.windows
    library.held += library.windows
    library.windows = 0
    library.blocks += 1
    if library.held >= MEMORY:
        library_weigh(library, 0.5)
    elif forget:
        library_weigh(library, 1.0 - block / forget)


def library_weigh(library: Library, weight: float) -> None:
    """Give every window so far the weight of `weight` new windows: the noise variance has changed by that factor."""
    if library.held:
        weight = min(weight, MEMORY / library.held)
    library.sums *= weight
    library.held = int(weight * library.held)


def library_clear(library: Library) -> None:
    """Clear the data; keep the model until the next solution."""
    library.sums[:] = 0.0
    library.blocks = library.held = library.windows = 0


def library_solve(library: Library, forced: int, threshold: float) -> bool:
    """Select terms forward by explained share, prune backward by jackknife error. False: too little data."""
    sums = library.sums
    groups = [g for g in range(len(sums)) if sums[g, -1, -1] > 0.0]
    if len(groups) < MIN_GROUPS:
        return False
    total = sums.sum(axis=0)
    columns = total.shape[0] - 1
    chosen: list[int] = []
    for column in range(forced):
        if _explained(total, chosen, column, DEPENDENT) is not None:
            chosen.append(column)
    library.deficient = forced - len(chosen)
    kept = len(chosen)
    while len(chosen) < kept + MAX_CHOSEN:
        gains = [
            (_explained(total, chosen, j, COLLINEAR) or 0.0, -j) for j in range(forced, columns) if j not in chosen
        ]
        if not gains or max(gains)[0] <= WORTH * total[-1, -1]:
            break
        trial = [*chosen, -max(gains)[1]]
        solution, errors = _jackknife(sums, total, groups, trial)
        if abs(solution[-1]) <= threshold * errors[-1]:
            break
        chosen = trial
    solution, errors = _jackknife(sums, total, groups, chosen)
    while len(chosen) > kept:
        ratio = np.abs(solution[kept:]) / errors[kept:]
        worst = int(np.argmin(ratio))
        if ratio[worst] > threshold:
            break
        del chosen[kept + worst]
        solution, errors = _jackknife(sums, total, groups, chosen)
    library.coefficients[:] = 0.0
    library.errors[:] = 0.0
    library.coefficients[chosen] = solution
    library.errors[chosen] = errors
    library.solved = True
    return True


def _explained(total: Array, chosen: list[int], column: int, novelty: float) -> float | None:
    """Squared target explained by adding this column to the chosen ones; None if it is nearly collinear with them."""
    norm, cross = total[column, column], total[column, -1]
    if chosen:
        share = _solve(total, chosen, column)
        left = norm - share @ total[chosen, column]
        cross = cross - share @ total[chosen, -1]
    else:
        left = norm
    return float(cross**2 / left) if left > novelty * norm else None


def _jackknife(sums: Array, total: Array, groups: list[int], chosen: list[int]) -> tuple[Array, Array]:
    """Least squares over all groups, and the delete-a-group standard errors."""
    solution = _solve(total, chosen, -1)
    left_out = np.array([_solve(total - sums[group], chosen, -1) for group in groups])
    return solution, (len(groups) - 1) * statistics_error(left_out) + np.finfo(np.float32).tiny


def _solve(sums: Array, chosen: list[int], column: int) -> Array:
    """Least squares of a column on the chosen ones; 0 where the sums cannot distinguish them."""
    try:
        factor = np.linalg.cholesky(sums[np.ix_(chosen, chosen)])
    except np.linalg.LinAlgError:
        return np.zeros(len(chosen))
    return np.asarray(np.linalg.solve(factor.T, np.linalg.solve(factor, sums[chosen, column])))
