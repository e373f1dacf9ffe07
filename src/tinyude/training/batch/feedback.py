"""Feedback detection: whether a controller computed an input from the measured states.

The innovation of an input, given all earlier rows, is independent of the innovation of a sample at the same row: it
acts only after it. If both are correlated, the input was computed from the sample and its noise. An input that is
linear or cubic between rows, or logged a row late, has acted before its row: such inputs are not tested.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tinyude.physics.holds import Hold
from tinyude.reference.numeric.statistics import MEDIAN

Array = NDArray[Any]
PAST = 8  # earlier rows that predict a row
CORRELATED, SURE = 0.2, 4.0  # correlation, and standard errors
CLIPPED = 3.0  # standard deviations: steps of a reference are not feedback
FEWEST = 100  # rows
MOST = 20_000  # rows used


class Run(Protocol):
    """Samples (rows, channels) and inputs (rows, inputs)."""

    @property
    def samples(self) -> Array: ...
    @property
    def inputs(self) -> Array: ...


def followed_states(runs: Sequence[Run], inputs: Sequence[str], holds: Sequence[Hold]) -> list[str]:
    """Names of the inputs that follow the measured states in these runs, given their holds."""
    after = [hold.kind == "held" and hold.shift <= 0 for hold in holds]
    if not any(after):
        return []
    past, samples, driven = (np.concatenate(parts) for parts in zip(*map(_rows, runs), strict=True))
    good = np.flatnonzero(np.isfinite(past).all(axis=1) & np.isfinite(samples).all(axis=1))[:MOST]
    if len(good) < FEWEST + past.shape[1]:
        return []
    new_samples, new_inputs = _new(past[good], samples[good]), _new(past[good], driven[good])
    correlations = np.abs(new_samples.T @ new_inputs).max(axis=0)
    least = max(CORRELATED, SURE / float(np.sqrt(len(good))))
    told = zip(inputs, correlations, after, strict=True)
    return [name for name, correlation, held in told if held and correlation > least]


def _rows(run: Run) -> tuple[Array, Array, Array]:
    """The rows before each row, its samples and its inputs."""
    both = np.hstack([run.samples, run.inputs])
    count = max(len(both) - PAST, 0)
    past = np.hstack([both[PAST - k : PAST - k + count] for k in range(1, PAST + 1)])
    return past, run.samples[len(both) - count :], run.inputs[len(both) - count :]


def _new(past: Array, values: Array) -> Array:
    """The part of each column that the past does not predict, clipped and normalised; 0 where it is rounding."""
    design = np.hstack([past / np.maximum(np.abs(past).max(axis=0), 1e-300), np.ones((len(past), 1))])
    left = values - design @ np.linalg.lstsq(design, values, rcond=1e-10)[0]
    left -= np.median(left, axis=0)
    spread = np.maximum(MEDIAN * np.median(np.abs(left), axis=0), 0.3 * left.std(axis=0))
    real = spread > 1e-9 * np.maximum(values.std(axis=0), 1e-300)
    cut = np.clip(left / np.where(real, spread, 1.0), -CLIPPED, CLIPPED) * real
    return np.asarray(cut / np.maximum(np.linalg.norm(cut, axis=0), 1e-300))
