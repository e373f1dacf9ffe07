"""Free runs from many start times of a record, whose errors judge a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.data.log import Log
from tinyude.data.streams import Stream
from tinyude.model.dynamics import Dynamics, known_dynamics
from tinyude.model.model import Model
from tinyude.model.simulation import free_runs
from tinyude.model.start_state import START_ROWS, Measuring, start_state
from tinyude.model.windows import Windows
from tinyude.physics import Physics

Array = NDArray[Any]

STARTS, TWINS = 12, 3
HORIZONS = (1.0, 3.0, 10.0, 30.0)  # in characteristic times
MOST_ROWS = 3_000  # of one free run with inputs
MOST_STEPS = 30_000  # of one free run: a field that needs more is stiffer than the record can show
FEWEST_ROWS = 30  # least length of a run for a free run from a fitted start
LOST = 3.0  # standard deviations: the error of a run that diverged


@dataclass(frozen=True)
class RunErrors:
    """Free-run errors over horizons, as RMS over the spread (standard deviation) of each measured signal.

    Attributes
    ----------
    horizons : ndarray of shape (horizons,)
        Seconds.
    model, known, hold : ndarray of shape (horizons, starts)
        Of the model, of the known physics alone, and of holding the first value.
    expected : ndarray of shape (horizons, starts)
        The error that sensor noise and the uncertain start explain.
    diverged, known_diverged : float
        Share of the model's runs that did not reach their end, and of those of the known physics alone.
    """

    horizons: Array
    model: Array
    known: Array
    hold: Array
    expected: Array
    diverged: float
    noise: float
    known_diverged: float = 0.0

    @property
    def count(self) -> int:
        return int(self.model.shape[1])


def characteristic_seconds(seen: Windows, derived: bool = False) -> float:
    """The shortest characteristic time of the measured signals: spread over RMS rate, 1 / (angular frequency) of a
    vibration.

    derived: include their derivatives, without their noise; a position may drift while its speed oscillates.
    """
    times = []
    rates, floors = seen.rms(seen.dx), seen.rms(seen.floor)
    for state, order in enumerate(seen.order):
        if order == 0 and rates[state] > 3.0 * floors[state]:
            times.append(float(np.std(seen.x[:, state]) / rates[state]))
        elif derived and rates[state] > 1.2 * floors[state]:
            times.append(float(np.std(seen.x[:, state]) / np.sqrt(rates[state] ** 2 - floors[state] ** 2)))
    return min(times) if times else seen.usual * seen.period


def run_errors(
    model: Model, stream: Stream, seen: Windows, given: Physics, hold: str | Mapping[str, Any] = "held"
) -> RunErrors | None:
    """Free runs from times spread over the record, each up to the next jump or gap; None: no stretch is long enough.

    given: the known physics, simulated alone for comparison. hold: what inputs do between samples.
    """
    runs = stream.runs if isinstance(stream.runs, list) else [stream.longest]
    tau = characteristic_seconds(seen)
    horizons = [h * tau for h in HORIZONS]
    most = np.inf if not model.physics.n_inputs else MOST_ROWS * stream.period
    room = seen.room * stream.period
    horizons = [h for h in horizons if stream.period * 2 <= h <= most and np.sum(room >= h) >= 3]
    if not horizons:
        return None
    rows = int(horizons[-1] / stream.period) + 1
    able = np.flatnonzero(seen.room >= rows - 1)
    picked = able[np.unique(np.linspace(0, len(able) - 1, STARTS).astype(int))]
    sensed = [sensed_state(seen, c) for c in range(len(seen.sigma))]
    measured = np.stack([runs[seen.run[k]].samples[seen.centre[k] : seen.centre[k] + rows] for k in picked])
    inputs = np.stack([runs[seen.run[k]].inputs[seen.centre[k] : seen.centre[k] + rows] for k in picked])
    spread = np.nanstd(np.concatenate([run.samples for run in runs]), axis=0)
    spread = np.where(spread > 0.0, spread, 1.0)
    thin = max(1, rows // 400)
    times = np.arange(rows) * stream.period
    starts = seen.x[picked]
    twins = starts + seen.x_error[picked] * np.random.default_rng(0).normal(size=(TWINS, *starts.shape))

    def states(dynamics: Dynamics, begin: Array) -> Array:
        driven = bool(model.physics.n_inputs)
        instants, held = (times, inputs) if driven else (times[::thin], None)
        runs = free_runs(dynamics, begin, instants, model.x_scale, held, hold=hold, most_steps=MOST_STEPS)
        return runs.states[:, :: thin if driven else 1][..., sensed]

    own, alone = states(model.dynamics, starts), states(known_dynamics(given), starts)
    twin = np.stack([states(model.dynamics, t) for t in twins])
    truth = measured[:, ::thin]
    sigma = seen.sigma / spread
    ends = [max(2, int(h / stream.period / thin) + 1) for h in horizons]
    expected = np.mean(_errors_until(twin, own, spread, ends) ** 2, axis=1)
    return RunErrors(
        np.array(horizons),
        _errors_until(own, truth, spread, ends),
        _errors_until(alone, truth, spread, ends),
        _errors_until(np.broadcast_to(starts[:, None, sensed], truth.shape), truth, spread, ends),
        np.sqrt(expected + np.mean(sigma**2)),
        _lost(own),
        float(np.sqrt(np.mean(sigma**2))),
        _lost(alone),
    )


def _lost(states: Array) -> float:
    """Share of runs (runs, rows, channels) that did not reach their end."""
    return float(np.mean(~np.isfinite(states[:, -1]).all(axis=-1)))


def sensed_state(seen: Windows, channel: int) -> int:
    """The state that a channel measures."""
    return next(s for s, (c, d) in enumerate(zip(seen.channel, seen.order, strict=True)) if c == channel and d == 0)


def _errors_until(states: Array, truth: Array, spread: Array, ends: Sequence[int]) -> Array:
    """RMS over rows and channels up to each end: (ends, ...); LOST where a run has diverged.

    Missing samples are left out.
    """
    known = np.isfinite(truth)
    miss = np.where(known, states - np.where(known, truth, 0.0), 0.0) / spread
    square = np.where(np.isfinite(miss), np.minimum(np.abs(miss), LOST), LOST) ** 2
    sums = [(square[..., :end, :].sum(axis=(-2, -1)), known[..., :end, :].sum(axis=(-2, -1))) for end in ends]
    return np.stack([np.sqrt(total / np.maximum(count, 1)) for total, count in sums])


def unseen_runs(model: Model, given: Physics, stream: Stream, measured: Measuring) -> tuple[dict[str, float], int]:
    """Mean free-run error over the runs of a record ("": model, "known"), and their number; states may be unmeasured.

    A start is fitted to the first rows of its run, which are excluded from the error if enough others remain.
    """
    errors: dict[str, list[float]] = {"": [], "known": []}
    columns = measured.states
    for run in stream.runs:
        if len(run.samples) <= FEWEST_ROWS:
            continue
        t = run.start + np.arange(len(run.samples)) * stream.period
        held = run.inputs if model.physics.n_inputs else None
        judged = slice(START_ROWS if len(t) > 2 * START_ROWS else 0, None)
        spread = np.nanstd(run.samples, axis=0)
        for name, dynamics in (("", model.dynamics), ("known", known_dynamics(given))):
            x0 = start_state(dynamics, Log(t, run.samples, held), model.x_scale, measured)
            states = free_runs(dynamics, x0[None], t, model.x_scale, held, hold=measured.hold).states[0]
            miss = np.minimum(np.abs(np.nan_to_num(states[:, columns], nan=np.inf) - run.samples) / spread, LOST)
            errors[name].append(float(np.sqrt(np.nanmean(miss[judged] ** 2))))
    count = len(errors[""])
    return {name: float(np.mean(values)) for name, values in errors.items() if values}, count
