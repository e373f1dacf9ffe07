"""Change detection: do the dynamics still follow the library's model?

Each block of windows scores every column by the sum of column times innovation. Two blocks in a row that contradict the
model with the same sign raise an alarm. The cause may be a change, or a missing library term in a new region. In the
trial that follows, each window is therefore compared with the stored one nearest to its state, stored before the first
block that contradicted the model: later ones may follow the new dynamics. The output of a network fitted together with
the library counts as a column, too: the terms may not represent the change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.reference.network.reservoir import Reservoir, reservoir_count
from tinyude.reference.regression.library import Library

Array = NDArray[Any]
ALARM = 4.0  # a block's score in units of its usual size, twice in a row
ALARM_BLOCKS = 8  # blocks that define the usual score
TRIAL_BLOCKS = 6  # blocks of the trial after an alarm
CERTAIN = 8.0  # the trial's score against the past, in units of its usual size
SERIOUS = 0.005  # share of the trial's squared target that a change of one coefficient must explain,
STEADY = 5.0  # standard errors, from the scatter of the trial's parts, that the change must exceed
LEAST_PARTS = 4.0  # minimum effective number of parts
MATCHED = 0.25  # minimum share of the trial's windows that have a stored neighbour
NEAR = 0.15  # distance, in scales per state or input, below which two windows saw the same state
_TINY = float(np.finfo(np.float32).tiny)


@dataclass
class Change:
    score: Array  # column times innovation over the current block; in a trial, times difference over a part
    usual: Array  # mean square of past scores
    last: Array  # the previous block's score, in units of its usual size; in a trial, its score against the past
    part: Array  # squared columns over the current part of the trial
    energy: Array  # the same over all parts
    moments: Array  # (3, columns): sums over its parts of score^2, score * part, part^2
    trial: int = 0  # blocks left of the trial after an alarm; 0: no trial
    settled: bool = False  # the last block did not contradict the model: what is stored is the past
    matched_target: float = 0.0  # squared targets of the trial
    matched: int = 0  # windows of the trial with a stored neighbour
    compared: int = 0  # windows of the trial
    scored: int = 0  # blocks in `usual`


def change_init(columns: int) -> Change:
    score, usual, last, part, energy = np.zeros((5, columns))
    return Change(score, usual, last, part, energy, np.zeros((3, columns)))


def change_clear(change: Change) -> None:
    """Clear the usual scores."""
    change.last[:] = 0.0
    change.usual[:] = 0.0
    change.scored = change.trial = 0


def change_add(change: Change, library: Library, design: Array, target: Array, answer: Array | None = None) -> None:
    """Add one window, as in library_add, with the network's output where that counts."""
    if not change.trial:
        innovation = target - design @ library.coefficients
        change.score += _scored(design, answer).T @ innovation


def change_nearest(store: Reservoir, entry: Array, columns: Sequence[int]) -> int:
    """The nearest entry in these columns that is not of the blocks that contradicted the model; else their number."""
    stored = store.entries[: reservoir_count(store)]
    distances = ((stored[:, columns] - entry[columns]) ** 2).sum(axis=1)
    distances[store.fresh[: len(stored)]] = np.inf
    near = len(stored) and distances.min() < NEAR**2 * len(columns)
    return int(np.argmin(distances)) if near else len(stored)


def _scored(design: Array, answer: Array | None) -> Array:
    """The columns that are scored, by residual state."""
    return design if answer is None or not len(answer) else np.hstack([design, np.diag(answer)])


def change_compare(
    change: Change, design: Array, target: Array, difference: Array | None, answer: Array | None = None
) -> None:
    """Compare the model's remainders of a window of the trial and of its stored neighbour; None: no neighbour."""
    change.compared += 1
    if difference is not None:
        change.matched += 1
        scored = _scored(design, answer)
        change.score += scored.T @ difference
        change.part += (scored**2).sum(axis=0)
        change.matched_target += float(target @ target)


def change_end_part(change: Change) -> None:
    """Close a part of a block: in a trial each part counts as one observation."""
    if change.trial:
        change.last += change.score
        change.energy += change.part
        change.moments += [change.score**2, change.score * change.part, change.part**2]
        change.score[:] = change.part[:] = 0.0


def change_end_block(change: Change, solved: bool) -> bool:
    """Close a block; `solved`: there is a model to test. True: the dynamics have changed."""
    changed = change.settled = False
    if change.trial:
        change_end_part(change)
        change.trial -= 1
        if change.trial == 0:
            changed = _contradicted(change)
            change.last[:] = 0.0
    elif solved and change.scored >= ALARM_BLOCKS and _alarm(change):
        _start_trial(change)
    else:
        change.settled = not np.any(np.abs(change.last) > ALARM)
        if solved and change.settled:  # an unusual block may be a change: do not count it as usual
            change.scored += 1
            change.usual += (change.score**2 - change.usual) / change.scored
    change.score[:] = 0.0
    return changed


def _start_trial(change: Change) -> None:
    change.trial = TRIAL_BLOCKS
    change.last[:] = change.part[:] = change.energy[:] = 0.0
    change.moments[:] = 0.0
    change.matched_target = 0.0
    change.matched = change.compared = 0


def _alarm(change: Change) -> bool:
    """Score the block; True if it and the previous one exceed the alarm limit with the same sign."""
    now = change.score / np.sqrt(change.usual + _TINY)
    both = np.minimum(np.abs(now), np.abs(change.last))
    alarm = bool(np.any((both > ALARM) & (now * change.last > 0.0)))
    change.last = now
    return alarm


def _contradicted(change: Change) -> bool:
    """Whether the trial differs consistently from earlier windows at the same states."""
    share = change.matched / max(change.compared, 1)
    usual = np.sqrt(change.usual * (TRIAL_BLOCKS * share) + _TINY)
    serious = change.last**2 > SERIOUS * change.matched_target * change.energy
    certain = np.abs(change.last) > CERTAIN * usual
    return share > MATCHED and bool(np.any(certain & serious & _steady(change)))


def _steady(change: Change) -> Array:
    """Columns whose coefficient has changed by a similar amount in every part of the trial, by least squares."""
    moved = change.last / np.maximum(change.energy, _TINY)
    scores, mixed, energies = change.moments
    scatter = scores - 2.0 * moved * mixed + moved**2 * energies
    return (change.last**2 > STEADY**2 * scatter) & (change.energy**2 > LEAST_PARTS * energies)
