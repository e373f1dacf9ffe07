"""Numbers that loggers write where they have none: -9999, 2147483647, 1e9."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

USUAL = 0.9  # share of the values from which a channel's spread is taken
FAR = 100.0  # spreads from the median: no state changes by so much in a sample
JUMP = 0.9  # of that distance, covered in one sample both ways: motion takes smaller steps


def without_sentinels(samples: Array) -> Array:
    """Samples (rows, channels) with NaN where a channel leaves its usual range by far, and returns, each in one sample.

    What grows or decays smoothly stays, however far it goes: it is a motion.
    """
    answer = samples
    for channel, column in enumerate(samples.T):
        found = _far_stretches(column)
        if found.any():
            answer = samples.copy() if answer is samples else answer
            answer[found, channel] = np.nan
    return answer


def _far_stretches(column: Array) -> Array:
    """Rows of stretches that are far away; each begins and ends in one sample (at an end of the record: one value)."""
    rows = np.flatnonzero(np.isfinite(column))
    found = np.zeros(len(column), dtype=bool)
    if not len(rows):
        return found
    away = np.abs(column[rows] - np.median(column[rows]))
    spread = np.quantile(away, USUAL)
    far = (away > FAR * spread) & (spread > 0.0)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], far, [False]]).astype(np.int8)))
    for start, stop in zip(edges[::2], edges[1::2], strict=True):
        comes = start == 0 or away[start - 1] < (1.0 - JUMP) * away[start]
        goes = stop == len(rows) or away[stop] < (1.0 - JUMP) * away[stop - 1]
        held = np.ptp(column[rows[start:stop]]) == 0.0
        found[rows[start:stop]] = comes and goes and (held or 0 < start < stop < len(rows))
    return found
