"""Records for multiple shooting: runs of one sample period, their jumps, and where windows may lie between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.errors import TinyUDEError
from tinyude.physics import Physics
from tinyude.reference.numeric.rng import Rng, rng_below
from tinyude.reference.numeric.statistics import MEDIAN

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

JUMP_REACH_SECONDS = 0.010  # each side of a suspected jump is judged over this long,
JUMP_REACH_SAMPLES = 4  # but over no fewer samples
JUMP_DEVIATIONS = 8.0  # a jump stands out this many robust standard deviations
JUMP_FLOOR = 0.05  # plus this share of the channel's RMS, which matters when there is no noise
JITTER_LIMIT = 0.1  # of the sample period


@dataclass(frozen=True)
class Record:
    """One uninterrupted record."""

    y: Floats  # (samples, states)
    u: Floats  # (samples, inputs)
    period: float


@dataclass(frozen=True)
class Windows:
    """The runs end to end, and the samples a window may start from.

    A window observes every so many samples but may start at any, so that few observations serve two windows.
    """

    y: Floats
    u: Floats
    sample_period: float
    starts: NDArray[np.intp]
    every: int  # samples between observations
    steps: int

    @property
    def ticks(self) -> NDArray[np.intp]:
        """Samples of the observations, counted from a window's first: (steps + 1, 1)."""
        return np.arange(0, self.every * self.steps + 1, self.every)[:, None]

    @property
    def stage_ticks(self) -> NDArray[np.intp]:
        """Samples whose input holds at each RK4 stage: start, middle, middle, just before the end: (steps, 4, 1)."""
        middle = (self.every - 1) // 2
        return np.asarray(self.ticks[:-1, :, None] + np.array([0, middle, middle, self.every - 1])[:, None])

    def draw(self, count: int, rng: Rng) -> NDArray[np.intp]:
        """The possible starts cut into equal shares, one drawn from each."""
        edges = [len(self.starts) * share // count for share in range(count + 1)]
        return self.starts[[low + rng_below(rng, high - low) for low, high in pairwise(edges) if high > low]]


def as_runs(physics: Physics, Y: Any, t: Any, u: Any) -> list[Record]:
    """Records, time stamps and inputs as the caller has them, checked and made runs of one sample period."""
    several = isinstance(Y, list | tuple) and len(Y) > 0 and np.ndim(Y[0]) == 2
    ys = list(Y) if several else [Y]
    ts = list(t) if several and not np.isscalar(t) else [t] * len(ys)
    us = list(u) if several and u is not None else [u] * len(ys)
    if not len(ys) == len(ts) == len(us):
        raise TinyUDEError(f"{len(ys)} runs but {len(ts)} time records and {len(us)} of inputs; give one for each.")
    runs = []
    for number, (y, stamp, given) in enumerate(zip(ys, ts, us, strict=True)):
        y = _columns(f"run {number}", y, physics.states)
        controls = np.zeros((len(y), 0)) if given is None else given
        controls = _columns(f"inputs of run {number}", controls, physics.inputs)
        if len(controls) != len(y):
            raise TinyUDEError(f"Run {number} has {len(y)} samples but {len(controls)} inputs; give one for each.")
        for name, still in zip(physics.states, np.ptp(y, axis=0) == 0, strict=True):
            if still:
                raise TinyUDEError(f"{name} never changes in run {number}; check its sensor, or leave the state out.")
        runs.append(Record(y, controls, _sample_period(number, stamp, len(y))))
    periods = [run.period for run in runs]
    if max(periods) > (1.0 + JITTER_LIMIT) * min(periods):
        raise TinyUDEError(f"Runs differ in sample period, {min(periods):g} to {max(periods):g} s; resample to one.")
    return runs


def _columns(what: str, values: Any, names: Sequence[str]) -> Floats:
    table = np.asarray(values, dtype=float)
    if table.ndim == 1 and len(names) == 1:
        table = table[:, None]
    if table.ndim != 2 or table.shape[1] != len(names):
        raise TinyUDEError(f"{what} has shape {table.shape}; give (samples, {len(names)}), columns {tuple(names)}.")
    if len(table) < 4 * JUMP_REACH_SAMPLES:
        raise TinyUDEError(f"{what} has {len(table)} samples, too few; give at least {4 * JUMP_REACH_SAMPLES}.")
    bad = np.flatnonzero(~np.isfinite(table).all(axis=1))
    if len(bad):
        raise TinyUDEError(f"{what} has {len(bad)} rows that are not finite, the first at {bad[0]}; split it there.")
    return table


def _sample_period(number: int, t: Any, samples: int) -> float:
    stamps = np.asarray(t, dtype=float)
    if stamps.ndim == 0:
        if not 0.0 < float(stamps) < np.inf:
            raise TinyUDEError(f"The sample period is {float(stamps):g} s; give a positive number of seconds.")
        return float(stamps)
    if stamps.shape != (samples,):
        raise TinyUDEError(
            f"Run {number} has {samples} samples but time stamps of shape {stamps.shape}; give one for each."
        )
    ticks = np.diff(stamps)
    if not (ticks > 0).all():
        where = int(np.argmin(ticks > 0))
        raise TinyUDEError(f"Time does not increase after sample {where} of run {number}; sort it, or split it there.")
    period = float(np.median(ticks))
    if np.abs(ticks - period).max() > JITTER_LIMIT * period:
        where = int(np.argmax(np.abs(ticks - period)))
        raise TinyUDEError(
            f"Sample {where} of run {number} lasts {ticks[where]:g} s where {period:g} s is usual "
            f"(limit {JITTER_LIMIT:.0%} off); split the run at gaps, or resample it to a steady rate."
        )
    return float(stamps[-1] - stamps[0]) / len(ticks)


def find_jumps(physics: Physics, run: Record) -> Flags:
    """Flags the samples at which a state breaks away from its past, from the noisy record alone.

    The known physics, integrated along the measured path, is taken out first; what remains moves slowly, however
    wild the motion. A straight line through the samples just before is then compared with one through those just after.
    """
    slope = physics.field(run.y, run.u if physics.n_inputs else None)
    known = np.cumsum(0.5 * run.period * (slope[1:] + slope[:-1]), axis=0)
    rest = run.y - np.concatenate([np.zeros((1, run.y.shape[1])), known])
    reach = _jump_reach(run)
    line = np.stack([np.ones(reach), np.arange(reach) + 0.5], axis=1)
    after = np.linalg.pinv(line)[0]  # weights of the line's value at the boundary
    kernel = np.concatenate([-after[::-1], after])
    flags = np.zeros(len(rest), dtype=bool)
    for channel, scale in zip(rest.T, rms(run.y), strict=True):
        gap = np.correlate(channel, kernel, mode="valid")  # gap[i]: between samples i + reach - 1 and i + reach
        deviation = MEDIAN * float(np.median(np.abs(gap - np.median(gap))))
        flags[reach : reach + len(gap)] |= np.abs(gap) > JUMP_DEVIATIONS * deviation + JUMP_FLOOR * scale
    return flags


def _jump_reach(run: Record) -> int:
    return min(max(JUMP_REACH_SAMPLES, round(JUMP_REACH_SECONDS / run.period)), len(run.y) // 4)


def count_jumps(run: Record, flags: Flags) -> int:
    """One jump raises a burst of flags as the two lines slide across it."""
    where = np.flatnonzero(flags)
    return int(len(where) > 0) + int((np.diff(where) > 2 * _jump_reach(run)).sum())


def make_windows(runs: list[Record], flags: list[Flags], rate: float, steps: int) -> Windows:
    """Where windows may lie: inside a run, and never across a jump."""
    every = max(1, round(1.0 / (rate * runs[0].period)))
    span = every * steps
    free, begin = [], 0
    for flag in flags:
        before = np.concatenate([[0], np.cumsum(flag)])  # before[k]: flags among the first k samples
        first = np.arange(len(flag) - span)
        clean = before[first + span + 1] == before[first + 1]  # a flag on the first sample lies behind the window
        free.append(begin + first[clean])
        begin += len(flag)
    starts = np.concatenate(free)
    if not len(starts):
        longest = max(len(flag) for flag in flags) * runs[0].period
        raise TinyUDEError(
            f"No window of {steps} steps ({span * runs[0].period:.3g} s) fits between jumps in runs of at most "
            f"{longest:.3g} s; lower steps, raise rate, or give a longer record."
        )
    y, u = (np.concatenate(part) for part in ([run.y for run in runs], [run.u for run in runs]))
    return Windows(y, u, runs[0].period, starts, every, steps)


def slope_rms(runs: list[Record], flags: list[Flags], every: int) -> Floats:
    """RMS of dx/dt, from central differences of block means, away from jumps."""
    slopes = []
    for run, flag in zip(runs, flags, strict=True):
        blocks = len(run.y) // every
        means = run.y[: blocks * every].reshape(blocks, every, -1).mean(axis=1)
        broken = np.asarray(flag[: blocks * every].reshape(blocks, every).any(axis=1))
        whole = ~(broken[:-2] | broken[1:-1] | broken[2:])
        slopes.append(((means[2:] - means[:-2]) / (2 * every * run.period))[whole])
    return rms(np.concatenate(slopes))


def rms(values: Floats) -> Floats:
    return np.asarray(np.sqrt((values * values).mean(axis=0)))
