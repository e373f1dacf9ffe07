"""Repair of single bad samples: a dropout is filled, an outlier replaced, from the pairs around it.

(y[-j] + y[+j]) / 2 predicts y[0] exactly for a straight line; the median of several such pairs is robust to a bad one.
The cost is a delay of REACH ticks. Longer outages are marked, and no window includes them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tinyude.reference.signal.ring import usable

REACH = 4
OUTLIER = 7.0  # sigmas; a pair median is itself uncertain by about half a sigma
ALONE = 0.6  # share of that limit by which it must differ from both neighbours
BENT = 3.0  # times the spread of the middle pairs: allowance for curvature


@dataclass
class Repair:
    rows: NDArray[np.float64]  # (2 * REACH + 1, columns): oldest first, the middle one is decided next
    held: int = 0  # rows in use


def repair_init(columns: int) -> Repair:
    return Repair(np.zeros((2 * REACH + 1, columns)))


def repair_clear(repair: Repair) -> None:
    repair.held = 0


def repair_push(
    repair: Repair, row: NDArray[np.float64], sigma: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]] | None:
    """Store a row; return the row REACH ticks old (None at first), which channels were filled, which replaced.

    A channel that cannot be filled is unchanged. sigma is None until the noise is known.
    """
    repair.rows[:-1] = repair.rows[1:]
    repair.rows[-1] = row
    repair.held += 1
    if repair.held <= REACH:
        return None
    middle = repair.rows[REACH].copy()
    filled = np.zeros(len(middle), dtype=bool)
    replaced = np.zeros(len(middle), dtype=bool)
    for channel, value in enumerate(middle):
        guess, spread = _pair_median(repair, channel)
        if not usable(value):
            filled[channel] = np.isfinite(guess)
        elif sigma is not None and channel < len(sigma):
            limit = OUTLIER * sigma[channel]
            far = abs(value - guess) > limit + BENT * spread
            replaced[channel] = far and _stands_out(repair.rows[:, channel], ALONE * limit)
        if filled[channel] or replaced[channel]:
            middle[channel] = guess
    repair.rows[REACH] = middle
    return middle, filled, replaced


def _stands_out(column: NDArray[np.float64], limit: float) -> bool:
    """Whether the middle differs from both neighbours in the same direction: a level shift agrees with one of them."""
    neighbours = [column[REACH - 1], column[REACH + 1]]
    over = [column[REACH] - y > limit or not usable(y) for y in neighbours]
    under = [column[REACH] - y < -limit or not usable(y) for y in neighbours]
    return all(over) or all(under)


def _pair_median(repair: Repair, channel: int) -> tuple[float, float]:
    """Median of the complete pairs, and the distance of the middle two."""
    column = repair.rows[:, channel]
    start = max(0, 2 * REACH + 1 - repair.held)  # rows before the first sample are empty
    pairs = [
        0.5 * (column[REACH - j] + column[REACH + j])
        for j in range(1, REACH + 1)
        if REACH - j >= start and usable(column[REACH - j]) and usable(column[REACH + j])
    ]
    if not pairs:
        return float("nan"), 0.0
    pairs.sort()
    low, high = pairs[(len(pairs) - 1) // 2], pairs[len(pairs) // 2]
    return 0.5 * (low + high), high - low
