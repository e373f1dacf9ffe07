"""Residual analysis of a refined model: are the one-step innovations white, and what are they correlated with?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.model import jackknife
from tinyude.model.correlation import correlation
from tinyude.model.model import Model
from tinyude.refinement.filter import Passed
from tinyude.refinement.stretches import Batch

Array = NDArray[Any]

LAGS = 25
MOST = 100_000  # rows used
BOUND = 2.58  # 99 % of a normal distribution
FEWEST = 100  # rows


def residual_analysis(
    model: Model, batch: Batch, passed: Passed, sensed: Sequence[int], alone: Passed | None = None
) -> dict[str, Any]:
    """Correlations of the standardised innovations, and the time shift of every channel against the model.

    Parameters
    ----------
    model : Model
        The refined model.
    batch, passed
        The rows, and the filter pass over them.
    sensed : sequence of int
        The state that each channel measures.
    alone : Passed, optional
        The filter pass with the known physics alone, under the same noise.

    Returns
    -------
    dict
        lags (seconds), auto (channel to correlations at lags 0, 1, ...), cross (channel to input to correlations at
        lags of either sign), mean_square (channel to that of the innovations over its expectation), known (the same
        three of the known physics alone), bound (99 % of white noise), shifts (channel to seconds ahead and its error);
        empty for too few rows.
    """
    rows = slice(0, min(batch.rows, MOST))
    if len(passed.innovations[rows]) < FEWEST:
        return {}
    names = [model.physics.states[s] for s in sensed]
    found = {
        "lags": (np.arange(LAGS + 1) * float(np.median(np.diff(batch.times[rows])))).tolist(),
        **_correlations(names, model.physics.inputs, batch, passed, rows),
        "bound": BOUND / float(np.sqrt(np.count_nonzero(_standardised(passed, rows).any(axis=1)))),
        "shifts": dict(zip(names, _shifts(model, batch, passed, sensed, rows), strict=True)),
    }
    if alone is not None and np.isfinite(alone.squares).all():  # otherwise it diverged
        found["known"] = _correlations(names, model.physics.inputs, batch, alone, rows)
    return found


def _correlations(
    names: Sequence[str], inputs: Sequence[str], batch: Batch, passed: Passed, rows: slice
) -> dict[str, Any]:
    """Mean square, autocorrelation and correlation with every input of the standardised innovations, by channel."""
    white, held = _standardised(passed, rows), batch.inputs[rows, :, 0]
    starts = batch.offsets[(batch.offsets > 0) & (batch.offsets < len(white))]
    white, held = (np.insert(a, np.repeat(starts, LAGS), 0.0, axis=0) for a in (white, held - held.mean(axis=0)))
    square = passed.squares.sum(axis=0) / np.maximum(passed.counts.sum(axis=0), 1.0)
    both = range(-LAGS, LAGS + 1)
    return {
        "mean_square": dict(zip(names, square.tolist(), strict=True)),
        "auto": {n: correlation(e, e, range(LAGS + 1)).tolist() for n, e in zip(names, white.T, strict=True)},
        "cross": {
            n: {u: correlation(e, c, both).tolist() for u, c in zip(inputs, held.T, strict=True)}
            for n, e in zip(names, white.T, strict=True)
        },
    }


def _standardised(passed: Passed, rows: slice) -> Array:
    """Innovations over their standard deviation; 0 where a sample is missing or rejected."""
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(passed.innovations[rows] / np.sqrt(passed.variances[rows]), posinf=0.0, neginf=0.0)


def _shifts(model: Model, batch: Batch, passed: Passed, sensed: Sequence[int], rows: slice) -> list[list[float]]:
    """Seconds by which each channel is ahead of the model, and its standard error from groups of rows.

    A channel that is late by tau reads x(t - tau), so its innovations follow -tau dx/dt. The model follows all channels
    together; the difference of two channels' shifts does not depend on the model's own shift.
    """
    held = batch.inputs[rows, :, 0] if model.physics.n_inputs else None
    with np.errstate(all="ignore"):
        rate = model.field(passed.states[rows], held)[:, list(sensed)]
        weight = np.nan_to_num(1.0 / passed.variances[rows], posinf=0.0)
    value = passed.innovations[rows]
    good = (np.abs(rate) < 1e100) & (np.abs(value) < 1e100)  # squares of a diverged model's rates overflow
    rate, value = np.where(good, rate, 0.0), np.where(good, value, 0.0)
    return [list(jackknife.ratio(value[:, c], rate[:, c], weight[:, c])) for c in range(rate.shape[1])]
