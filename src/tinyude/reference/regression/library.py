"""Residual terms with names: running sums over all accepted windows, and the few terms that rise above the noise.

Each block of windows goes to one of several groups, each with its own sums. Leaving one group out at a time gives every
coefficient its jackknife error, whatever the noise is like and however much windows overlap; a term stays when
it exceeds that error by the threshold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
MAX_CHOSEN = 12  # beyond the forced ones
MIN_GROUPS = 6  # filled groups below which an error means nothing
COLLINEAR = 1e-3  # share of a column that must be new for it to be chosen
DEPENDENT = 1e-7  # the same for forced columns
WORTH = 1e-8  # share of the squared target below which a term is not worth its place
ALARM = 4.0  # a block's score in units of its usual size, twice in a row,
ALARM_BLOCKS = 8  # blocks that define what is usual
TRIAL_BLOCKS = 6  # blocks after an alarm that decide whether it was one
CERTAIN = 8.0  # the trial's score against the past, in units of its usual size
SERIOUS = 0.04  # share of the trial's squared target that a change of one coefficient must explain,
STEADY = 5.0  # standard errors, by how far the trial's parts differ among themselves, that the change must exceed
PARTS_HEARD = 4.0  # parts, or as many as many unequal ones are worth, that must have a say
MATCHED = 0.25  # on this share of its windows: where nothing like them was seen before, nobody can tell


@dataclass
class Library:
    sums: Array  # (groups, columns + 1, columns + 1), the target last
    coefficients: Array  # 0 for a term that is out
    errors: Array  # jackknife standard errors
    score: Array  # sum of column times innovation over the current block; in a trial, times difference over a part
    usual: Array  # mean square of past scores
    last: Array  # the previous block's score, in units of its usual size; in a trial, its score against the past
    part: Array  # squared columns over the current part of the trial
    energy: Array  # the same over all its parts
    moments: Array  # (3, columns): sums over its parts of score^2, score * part, part^2
    trial: int = 0  # blocks left of the trial that an alarm starts
    matched_target: float = 0.0  # squared targets of the trial
    matched: int = 0  # windows of the trial that have their like in the past,
    compared: int = 0  # of so many
    scored: int = 0  # blocks in `usual`
    blocks: int = 0  # blocks since the last clear
    windows: int = 0  # windows in the current block
    deficient: int = 0  # forced columns that the data cannot tell apart
    solved: bool = False


def library_init(groups: int, columns: int) -> Library:
    sums = np.zeros((groups, columns + 1, columns + 1))
    coefficients, errors, score, usual, last, part, energy = np.zeros((7, columns))
    return Library(sums, coefficients, errors, score, usual, last, part, energy, np.zeros((3, columns)))


def library_add(library: Library, design: Array, target: Array) -> None:
    """One window: a row of the design and a target for each residual state, in units of that state's scale."""
    rows = np.column_stack([design, target])
    innovation = target - design @ library.coefficients
    library.sums[library.blocks % len(library.sums)] += rows.T @ rows
    if not library.trial:
        library.score += design.T @ innovation
    library.windows += 1


def library_compare(library: Library, design: Array, target: Array, difference: Array | None) -> None:
    """A window of the trial against its like in the past, by what the library leaves of both; None: no such past."""
    library.compared += 1
    if difference is not None:
        library.matched += 1
        library.score += design.T @ difference
        library.part += (design**2).sum(axis=0)
        library.matched_target += float(target @ target)


def library_end_part(library: Library) -> None:
    """Close a part of a block: in a trial every part has a say of its own."""
    if library.trial:
        library.last += library.score
        library.energy += library.part
        library.moments += [library.score**2, library.score * library.part, library.part**2]
        library.score[:] = library.part[:] = 0.0


def library_end_block(library: Library) -> bool:
    """Close the current block; True when the dynamics have changed.

    Two blocks in a row that contradict the model the same way raise an alarm. That may be a change, or a library
    without the right term in a region that is new: the next blocks are compared with the past at the same states.
    """
    changed = False
    if library.trial:
        library_end_part(library)
        library.trial -= 1
        if library.trial == 0:
            changed = _contradicted(library)
            library.last[:] = 0.0
    elif library.solved:
        if library.scored >= ALARM_BLOCKS and _alarm(library):
            library.trial = TRIAL_BLOCKS
            library.last[:] = library.part[:] = library.energy[:] = 0.0
            library.moments[:] = 0.0
            library.matched_target = 0.0
            library.matched = library.compared = 0
        elif not np.any(np.abs(library.last) > ALARM):  # what is odd may be new: it must not pass for the past
            library.scored += 1
            library.usual += (library.score**2 - library.usual) / library.scored
    library.score[:] = 0.0
    library.windows = 0
    library.blocks += 1
    return changed


def _alarm(library: Library) -> bool:
    """Score the block; True when it and the one before lie beyond the alarm on the same side."""
    now = library.score / np.sqrt(library.usual + np.finfo(np.float32).tiny)
    both = np.minimum(np.abs(now), np.abs(library.last))
    alarm = bool(np.any((both > ALARM) & (now * library.last > 0.0)))
    library.last = now
    return alarm


def _contradicted(library: Library) -> bool:
    """Whether the trial differs from what was seen before at the same states, the same way all along."""
    share = library.matched / max(library.compared, 1)
    usual = np.sqrt(library.usual * (TRIAL_BLOCKS * share) + np.finfo(np.float32).tiny)
    serious = library.last**2 > SERIOUS * library.matched_target * library.energy
    certain = np.abs(library.last) > CERTAIN * usual
    return share > MATCHED and bool(np.any(certain & serious & _steady(library)))


def _steady(library: Library) -> Array:
    """Columns whose coefficient has changed by about as much in every part of the trial, by least squares."""
    change = library.last / np.maximum(library.energy, np.finfo(np.float32).tiny)
    scores, mixed, energies = library.moments
    scatter = scores - 2.0 * change * mixed + change**2 * energies
    return (library.last**2 > STEADY**2 * scatter) & (library.energy**2 > PARTS_HEARD * energies)


def library_clear(library: Library) -> None:
    """Forget the data, keep the model until there is a better one."""
    library.sums[:] = 0.0
    library.last[:] = 0.0
    library.usual[:] = 0.0
    library.scored = library.blocks = library.windows = library.trial = 0


def library_solve(library: Library, forced: int, threshold: float) -> bool:
    """Choose terms forward by what they explain, prune backward by their jackknife error. False: too little data."""
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
    """Squared target explained by adding this column to the chosen ones; None when it is all but one of them."""
    norm, cross = total[column, column], total[column, -1]
    if chosen:
        share = _solve(total, chosen, column)
        left = norm - share @ total[chosen, column]
        cross = cross - share @ total[chosen, -1]
    else:
        left = norm
    return float(cross**2 / left) if left > novelty * norm else None


def _jackknife(sums: Array, total: Array, groups: list[int], chosen: list[int]) -> tuple[Array, Array]:
    """Least squares over everything, and the delete-a-group standard errors."""
    solution = _solve(total, chosen, -1)
    count = len(groups)
    left_out = np.array([_solve(total - sums[group], chosen, -1) for group in groups])
    spread = ((left_out - left_out.mean(axis=0)) ** 2).sum(axis=0)
    return solution, np.sqrt((count - 1) / count * spread) + np.finfo(np.float32).tiny


def _solve(sums: Array, chosen: list[int], column: int) -> Array:
    """Least squares of a column on the chosen ones; 0 where the sums cannot tell those apart."""
    try:
        factor = np.linalg.cholesky(sums[np.ix_(chosen, chosen)])
    except np.linalg.LinAlgError:
        return np.zeros(len(chosen))
    return np.asarray(np.linalg.solve(factor.T, np.linalg.solve(factor, sums[chosen, column])))
