"""The test of a short record: a fit to the first part of every run predicts the rest."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.data.streams import Stream
from tinyude.errors import TinyUDEError
from tinyude.estimator.fitting import fit_record
from tinyude.estimator.options import FitOptions
from tinyude.model.dynamics import Dynamics, known_dynamics
from tinyude.model.evidence import Continuation
from tinyude.model.model import Model
from tinyude.model.probes import LOST, sensed_state
from tinyude.model.simulation import free_runs
from tinyude.model.windows import Windows

Array = NDArray[Any]

FIRST = 2.0 / 3.0  # of every run
FEWEST, MOST = 8, 20_000  # rows predicted in a run; rows of a record, so that the second fit takes no time


def continuation(
    options: FitOptions, stream: Stream, whole: Model, seen: Windows, holds: Any
) -> Continuation | None:  # fmt: skip
    """Errors over the last part of every run, from the states there; None where there is nothing to compare.

    seen: windows of the whole record, which give the states. The fit to the first part is solver-free.
    """
    if not isinstance(stream.runs, list) or stream.count > MOST:
        return None
    last = [int(FIRST * len(run.samples)) for run in stream.runs]
    part = _first_part(options, stream, last)
    if part is None:
        return None
    spread = np.nanstd(np.concatenate([run.samples for run in stream.runs]), axis=0)
    fields = (part.dynamics, whole.dynamics, known_dynamics(options.physics))
    sensed = [sensed_state(seen, channel) for channel in range(len(seen.sigma))]
    squares: list[Array] = []

    def states(field: Dynamics, x0: Array, times: Array, held: Array | None) -> Array:
        return free_runs(field, x0[None], times, whole.x_scale, held, hold=holds or "held").states[0][:, sensed]

    for number, (run, end) in enumerate(zip(stream.runs, last, strict=True)):
        own = np.flatnonzero(seen.run == number)
        if not len(own):
            continue
        start = own[np.argmin(np.abs(seen.centre[own] - end))]
        rows = slice(int(seen.centre[start]), None)
        truth, held = run.samples[rows], run.inputs[rows] if options.physics.n_inputs else None
        if len(truth) < FEWEST:
            continue
        times, x0 = np.arange(len(truth)) * stream.period, seen.x[start]
        predicted = [states(field, x0, times, held) for field in fields]
        predicted.append(np.broadcast_to(x0[sensed], truth.shape))  # holding the last value
        misses = np.stack([np.nan_to_num(np.abs(p - truth) / spread, nan=LOST) for p in predicted])
        squares.append(np.minimum(misses, LOST)[:, np.isfinite(truth)] ** 2)
    if not squares:
        return None
    return Continuation(*(float(e) for e in np.sqrt(np.concatenate(squares, axis=1).mean(axis=1))))


def _first_part(options: FitOptions, stream: Stream, last: list[int]) -> Model | None:
    """The model of the first rows of every run; None if they are too few."""
    options = replace(options, refine=False, wraps=None)
    cut = [(run.samples[:end], run.inputs[:end]) for run, end in zip(stream.runs, last, strict=True)]
    inputs = [held for _, held in cut] if options.physics.n_inputs else None
    try:
        return fit_record(options, options.stream([rows for rows, _ in cut], stream.period, inputs)).result.model
    except TinyUDEError:
        return None
