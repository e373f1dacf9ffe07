"""The resolution of a sensor: the step that its values are multiples of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

REPEATED = 0.01  # share of samples that repeat the one before: the channel is quantised
MOST_VALUES = 20_000  # used to find the step of a channel
ENOUGH_GAPS = 8  # between values, to decide whether all are multiples of one step
FINEST = 1e-6  # of a channel's span: the finest step searched for
SLACK = 0.01  # of a step: how far a gap may be from a multiple of it; by chance a quarter, on average


def quantisation_steps(runs: Sequence[Array]) -> Array:
    """The quantisation step of every channel; see `quantisation_step`."""
    return np.array([quantisation_step([run[:, channel] for run in runs]) for channel in range(runs[0].shape[1])])


def quantisation_step(columns: Sequence[Array]) -> float:
    """The step that a channel's values are multiples of; 0 where they are not, infinite where nothing ever changed.

    columns: the channel in each run. The smallest change of a smooth signal is not a step: one exists if values repeat,
    or if all differences are multiples of one step.
    """
    changes = np.concatenate([np.abs(np.diff(column)) for column in columns])
    changes = changes[np.isfinite(changes)]
    moved = changes[changes > 0.0]
    if not len(moved):
        return np.inf
    if np.mean(changes == 0.0) >= REPEATED:
        return float(moved.min())
    return _common_step(np.concatenate(columns))


def _common_step(values: Array) -> float:
    """The step of which all differences between values are multiples; 0 where there is none.

    By Euclid's algorithm on the gaps between values: a slowly sampled encoder rarely gives the same count twice in
    a row, and its smallest change from one row to the next may be many counts.
    """
    values = np.unique(values[np.isfinite(values)][:MOST_VALUES])
    finest = FINEST * float(np.ptp(values))
    gaps = np.diff(values)
    gaps = gaps[gaps > finest]  # finer ones are rounding
    while len(gaps) >= ENOUGH_GAPS and (step := float(gaps.min())) > finest:
        rest = np.abs(gaps - step * np.round(gaps / step))
        if not (rest > SLACK * step).any():
            return step
        gaps = np.append(gaps, rest[rest > SLACK * step])
    return 0.0
