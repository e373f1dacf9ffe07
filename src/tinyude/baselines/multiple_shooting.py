"""Multiple shooting: the hybrid model trained through an RK4 solver, the conventional way.

The record is observed at a modest rate (50 Hz); windows of K steps start from noisy observations, are integrated with
one RK4 step an observation, and Adam with a cosine schedule descends the whole batch on the exact discrete adjoint.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import solve_ivp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from tinyude.baselines.adjoint import Shooting, loss_gradient, multiply_accumulates, tape_init
from tinyude.errors import TinyUDEError
from tinyude.physics import Physics
from tinyude.reference.network.adam import adam_init, adam_step, clip, cosine_rate
from tinyude.reference.network.mlp import mlp_forward, mlp_init
from tinyude.reference.numeric.rng import Rng, rng_below, rng_seed

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Progress = Callable[[int, int], None]

RATE_FLOOR = 0.02  # the cosine ends at this share of the learning rate
JUMP_REACH_SECONDS = 0.010  # each side of a suspected jump is judged over this long,
JUMP_REACH_SAMPLES = 4  # but over no fewer samples
JUMP_DEVIATIONS = 8.0  # a jump stands out this many robust standard deviations
JUMP_FLOOR = 0.05  # plus this share of the channel's RMS, which matters when there is no noise
JITTER_LIMIT = 0.1  # of the sample period
DIVERGED = 1e3  # a simulated state this many times its RMS in the record is lost


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


class MultipleShooting(BaseEstimator):  # type: ignore[misc]
    """The solver-based baseline: dx/dt = f_known(x, u) + N(x, u), N trained through RK4 and its discrete adjoint.

    Parameters
    ----------
    physics : Physics
        The known part.
    steps : int, default 40
        RK4 steps of a window (the paper's K).
    hidden : tuple of int, default (16, 16)
        Units of each hidden layer.
    random_state : int, default 0
        Seed of the initial weights and of the windows drawn.
    iterations : int, default 1200
        Full-batch Adam iterations.
    windows : int, default 128
        Windows in the batch.
    rate : float, default 50
        Observations a second.
    learning_rate : float, default 0.02
        Initial rate of the cosine schedule.
    on : sequence of int or str, optional
        States the network acts on, by index or name. Default: all.
    redraw : bool, default False
        Draw new windows for every iteration. The paper keeps one batch, whose few noisy start states limit the
        accuracy; redrawing costs almost nothing and makes a much stronger baseline under noise.

    Attributes
    ----------
    params_ : ndarray
        The trained weights.
    history_ : dict
        Arrays `update` and `loss`.
    diagnostics_ : dict
        Seconds, multiply-accumulates, tape and peak heap bytes, jumps found.

    Examples
    --------
    >>> import tinyude as tu
    >>> plant = tu.systems.pendulum("A")
    >>> t, Y = plant.stream(noise=0.01, seconds=6.0)
    >>> baseline = tu.MultipleShooting(plant.physics, steps=5, iterations=3, windows=8).fit(Y, t=t)
    >>> baseline.predict([[0.1, 0.0]]).shape
    (1, 2)
    """

    def __init__(
        self,
        physics: Physics,
        steps: int = 40,
        hidden: tuple[int, ...] = (16, 16),
        random_state: int = 0,
        iterations: int = 1200,
        windows: int = 128,
        rate: float = 50.0,
        learning_rate: float = 0.02,
        on: Sequence[int | str] | None = None,
        redraw: bool = False,
    ) -> None:
        self.physics = physics
        self.steps = steps
        self.hidden = hidden
        self.random_state = random_state
        self.iterations = iterations
        self.windows = windows
        self.rate = rate
        self.learning_rate = learning_rate
        self.on = on
        self.redraw = redraw

    def fit(self, Y: Any, t: Any, u: Any = None, progress: Progress | None = None) -> Self:
        """Train on a noisy record.

        Parameters
        ----------
        Y : array of shape (samples, states), or list of arrays
            The measured states; several runs as a list.
        t : float or array
            Sample period in seconds, or one time stamp for each row.
        u : array of shape (samples, inputs), optional
            Inputs, held between samples.
        progress : callable, optional
            Called with (iterations done, iterations in all).

        Returns
        -------
        MultipleShooting
            The fitted estimator.
        """
        self._check_settings()
        runs = _as_runs(self.physics, Y, t, u)
        flags = [find_jumps(self.physics, run) for run in runs]
        windows = _windows(runs, flags, self.rate, self.steps)
        self._set_scales(windows, _slope_rms(runs, flags, windows.every))
        began = time.perf_counter()
        shooting = self._descend(windows, progress)
        self.diagnostics_ = {
            "seconds": time.perf_counter() - began,
            "iterations": self.iterations,
            "windows": shooting.windows,
            "steps": shooting.steps,
            "jumps_found": sum(_count_jumps(run, flag) for run, flag in zip(runs, flags, strict=True)),
            "multiply_accumulates": multiply_accumulates(shooting),
            "tape_bytes": tape_init(shooting).nbytes,
            "peak_heap_bytes": _peak_heap(lambda: loss_gradient(self.params_, shooting, tape_init(shooting))),
        }
        return self

    def residual(self, X: ArrayLike, u: ArrayLike | None = None) -> Floats:
        """Evaluate the learned part.

        Parameters
        ----------
        X : array of shape (..., states)
            States.
        u : array of shape (..., inputs), optional
            Inputs.

        Returns
        -------
        ndarray of shape (..., states)
            What the network adds to the known field.
        """
        check_is_fitted(self, "params_")
        rows = self._network_rows(X, u) / self.in_scale_
        acts = mlp_forward(self.params_, self.sizes_, rows.reshape(-1, rows.shape[-1]))
        answer = np.zeros((len(acts[-1]), self.physics.n_states))
        answer[:, list(self.on_)] = np.asarray(acts[-1], dtype=float) * self.out_scale_
        return answer.reshape(*rows.shape[:-1], self.physics.n_states)

    def predict(self, X: ArrayLike, u: ArrayLike | None = None) -> Floats:
        """Evaluate the whole field.

        Parameters
        ----------
        X : array of shape (..., states)
            States.
        u : array of shape (..., inputs), optional
            Inputs.

        Returns
        -------
        ndarray of shape (..., states)
            The derivatives dx/dt.
        """
        answer: Floats = self.residual(X, u) + self.physics.field(self._states(X), None if u is None else np.asarray(u))
        return answer

    def simulate(self, x0: ArrayLike, times: ArrayLike, u: ArrayLike | None = None) -> Floats:
        """Run the model freely.

        Parameters
        ----------
        x0 : array of shape (states,)
            State at the first time.
        times : array of shape (times,)
            Increasing times in seconds.
        u : array of shape (times, inputs), optional
            Inputs, held from each time to the next.

        Returns
        -------
        ndarray of shape (times, states)
            The states.

        Raises
        ------
        TinyUDEError
            If the run diverges; the message says when and which state.
        """
        check_is_fitted(self, "params_")
        start, at = self._states(x0), np.asarray(times, dtype=float)
        if start.ndim != 1 or at.ndim != 1 or len(at) < 2 or not (np.diff(at) > 0).all():
            raise TinyUDEError("simulate needs one start state and at least two increasing times")
        held = None if u is None else np.asarray(u, dtype=float).reshape(len(at), -1)
        usual = self.in_scale_[: len(start)]

        def field(now: float, x: Floats) -> Floats:
            return self.predict(x, None if held is None else held[np.searchsorted(at, now, side="right") - 1])

        def lost(_: float, x: Floats) -> float:
            return DIVERGED - float(np.max(np.abs(x) / usual))

        lost.terminal = True  # type: ignore[attr-defined]
        with np.errstate(over="ignore", invalid="ignore"):
            path = solve_ivp(field, (at[0], at[-1]), start, "DOP853", at, events=lost, rtol=1e-8, atol=1e-10)
        if path.status == 0:
            return np.ascontiguousarray(path.y.T)
        when, why = path.t[-1] if len(path.t) else at[0], path.message
        if path.status == 1:
            when, worst = path.t_events[0][0], int(np.argmax(np.abs(path.y_events[0][0]) / usual))
            why = f"{self.physics.states[worst]} reached {DIVERGED:g} times its RMS in the record"
        raise TinyUDEError(
            f"the simulation diverged at t = {when:.6g} s of {at[-1]:.6g} s: {why}; "
            "start nearer the states of the record, simulate for a shorter time, or train on more data"
        )

    def _check_settings(self) -> None:
        for name in ("steps", "iterations", "windows", "rate", "learning_rate"):
            value, whole = getattr(self, name), name not in ("rate", "learning_rate")
            if not value > 0 or (whole and not isinstance(value, Integral)):
                raise TinyUDEError(f"{name} is {value!r}: give a positive {'whole ' if whole else ''}number")
        if not self.hidden or min(self.hidden) < 1:
            raise TinyUDEError(f"hidden is {self.hidden!r}: give at least one layer of one unit, such as (16, 16)")
        names = list(self.physics.states)
        on = range(len(names)) if self.on is None else self.on
        try:
            chosen = [names.index(state) if isinstance(state, str) else range(len(names))[state] for state in on]
        except (ValueError, IndexError):
            chosen = []
        if not chosen or len(set(chosen)) < len(chosen):
            raise TinyUDEError(f"on is {self.on!r}: name states of {names} once each, by name or index")
        self.on_ = tuple(chosen)

    def _states(self, X: ArrayLike) -> Floats:
        x = np.asarray(X, dtype=float)
        if x.shape[-1:] != (self.physics.n_states,):
            raise TinyUDEError(f"states have shape {x.shape}: the last axis must be {self.physics.states}")
        return x

    def _network_rows(self, X: ArrayLike, u: ArrayLike | None) -> Floats:
        """States and inputs side by side, as the network takes them."""
        x, given = self._states(X), np.asarray([] if u is None else u, dtype=float)
        if given.shape[-1:] != (self.physics.n_inputs,):
            raise TinyUDEError(f"inputs u have shape {given.shape}: the last axis must be {self.physics.inputs}")
        return np.concatenate([x, np.broadcast_to(given, (*x.shape[:-1], given.shape[-1]))], axis=-1)

    def _set_scales(self, windows: Windows, slope_rms: Floats) -> None:
        x_rms, u_rms = _rms(windows.y), _rms(windows.u)
        self.sizes_ = (self.physics.n_states + self.physics.n_inputs, *self.hidden, len(self.on_))
        self.in_scale_ = np.concatenate([x_rms, np.where(u_rms > 0, u_rms, 1.0)])
        self.out_scale_ = slope_rms[list(self.on_)]

    def _descend(self, windows: Windows, progress: Progress | None) -> Shooting:
        """Full-batch Adam; the last iterate is kept, which the cosine has brought to rest. Returns the last batch."""
        rng = rng_seed(self.random_state, stream=1)
        shooting = self._batch(windows, rng)
        params = mlp_init(self.sizes_, rng_seed(self.random_state))
        adam, tape = adam_init(len(params)), tape_init(shooting)
        losses = np.empty(self.iterations)
        for done in range(self.iterations):
            if self.redraw and done:
                shooting = self._batch(windows, rng)
            with np.errstate(over="ignore", invalid="ignore"):
                loss, grad = loss_gradient(params, shooting, tape)
            losses[done] = loss.real
            if not (np.isfinite(loss) and np.isfinite(grad).all()):
                raise TinyUDEError(
                    f"the integration diverged at iteration {done + 1} with learning_rate {self.learning_rate} and "
                    f"{self.steps} steps: lower either, or check the known physics"
                )
            adam_step(adam, params, clip(grad), cosine_rate(done, self.iterations, self.learning_rate, RATE_FLOOR))
            if progress is not None:
                progress(done + 1, self.iterations)
        self.params_ = params
        self.history_ = {"update": np.arange(1, self.iterations + 1), "loss": losses}
        return shooting

    def _batch(self, windows: Windows, rng: Rng) -> Shooting:
        first = windows.draw(self.windows, rng)
        return Shooting(
            physics=self.physics,
            sizes=self.sizes_,
            on=self.on_,
            in_scale=self.in_scale_,
            out_scale=self.out_scale_,
            period=windows.every * windows.sample_period,
            observed=windows.y[first + windows.ticks],
            inputs=windows.u[first + windows.stage_ticks],
            error_scale=self.in_scale_[: self.physics.n_states],
        )


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
    for channel, scale in zip(rest.T, _rms(run.y), strict=True):
        gap = np.correlate(channel, kernel, mode="valid")  # gap[i]: between samples i + reach - 1 and i + reach
        deviation = 1.4826 * float(np.median(np.abs(gap - np.median(gap))))
        flags[reach : reach + len(gap)] |= np.abs(gap) > JUMP_DEVIATIONS * deviation + JUMP_FLOOR * scale
    return flags


def _jump_reach(run: Record) -> int:
    return min(max(JUMP_REACH_SAMPLES, round(JUMP_REACH_SECONDS / run.period)), len(run.y) // 4)


def _count_jumps(run: Record, flags: Flags) -> int:
    """One jump raises a burst of flags as the two lines slide across it."""
    where = np.flatnonzero(flags)
    return int(len(where) > 0) + int((np.diff(where) > 2 * _jump_reach(run)).sum())


def _windows(runs: list[Record], flags: list[Flags], rate: float, steps: int) -> Windows:
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
            f"no window of {steps} steps ({span * runs[0].period:.3g} s) fits between jumps in runs of at most "
            f"{longest:.3g} s: lower steps, raise rate, or give a longer record"
        )
    y, u = (np.concatenate(part) for part in ([run.y for run in runs], [run.u for run in runs]))
    return Windows(y, u, runs[0].period, starts, every, steps)


def _slope_rms(runs: list[Record], flags: list[Flags], every: int) -> Floats:
    """RMS of dx/dt, from central differences of block means, away from jumps."""
    slopes = []
    for run, flag in zip(runs, flags, strict=True):
        blocks = len(run.y) // every
        means = run.y[: blocks * every].reshape(blocks, every, -1).mean(axis=1)
        broken = np.asarray(flag[: blocks * every].reshape(blocks, every).any(axis=1))
        whole = ~(broken[:-2] | broken[1:-1] | broken[2:])
        slopes.append(((means[2:] - means[:-2]) / (2 * every * run.period))[whole])
    return _rms(np.concatenate(slopes))


def _rms(values: Floats) -> Floats:
    return np.asarray(np.sqrt((values * values).mean(axis=0)))


def _peak_heap(work: Callable[[], object]) -> int:
    """Most bytes the work holds at once. Tracing slows it, so it is never the run that is timed."""
    traced = tracemalloc.is_tracing()
    if not traced:
        tracemalloc.start()
    tracemalloc.reset_peak()
    held = tracemalloc.get_traced_memory()[0]
    work()
    peak = tracemalloc.get_traced_memory()[1]
    if not traced:
        tracemalloc.stop()
    return peak - held


def _as_runs(physics: Physics, Y: Any, t: Any, u: Any) -> list[Record]:
    """Records, time stamps and inputs as the caller has them, checked and made runs of one sample period."""
    several = isinstance(Y, list | tuple) and len(Y) > 0 and np.ndim(Y[0]) == 2
    ys = list(Y) if several else [Y]
    ts = list(t) if several and not np.isscalar(t) else [t] * len(ys)
    us = list(u) if several and u is not None else [u] * len(ys)
    if not len(ys) == len(ts) == len(us):
        raise TinyUDEError(f"{len(ys)} runs but {len(ts)} time records and {len(us)} of inputs: give one for each")
    runs = []
    for number, (y, stamp, given) in enumerate(zip(ys, ts, us, strict=True)):
        y = _columns(f"run {number}", y, physics.states)
        controls = np.zeros((len(y), 0)) if given is None else given
        controls = _columns(f"inputs of run {number}", controls, physics.inputs)
        if len(controls) != len(y):
            raise TinyUDEError(f"run {number} has {len(y)} samples but {len(controls)} inputs: give one for each")
        for name, still in zip(physics.states, np.ptp(y, axis=0) == 0, strict=True):
            if still:
                raise TinyUDEError(f"{name} never changes in run {number}: check its sensor, or leave the state out")
        runs.append(Record(y, controls, _sample_period(number, stamp, len(y))))
    periods = [run.period for run in runs]
    if max(periods) > (1.0 + JITTER_LIMIT) * min(periods):
        raise TinyUDEError(f"runs differ in sample period, {min(periods):g} to {max(periods):g} s: resample to one")
    return runs


def _columns(what: str, values: Any, names: Sequence[str]) -> Floats:
    table = np.asarray(values, dtype=float)
    if table.ndim == 1 and len(names) == 1:
        table = table[:, None]
    if table.ndim != 2 or table.shape[1] != len(names):
        raise TinyUDEError(f"{what} has shape {table.shape}: give (samples, {len(names)}), columns {tuple(names)}")
    if len(table) < 4 * JUMP_REACH_SAMPLES:
        raise TinyUDEError(f"{what} has {len(table)} samples, too few: give at least {4 * JUMP_REACH_SAMPLES}")
    bad = np.flatnonzero(~np.isfinite(table).all(axis=1))
    if len(bad):
        raise TinyUDEError(f"{what} has {len(bad)} rows that are not finite, the first at {bad[0]}: split it there")
    return table


def _sample_period(number: int, t: Any, samples: int) -> float:
    stamps = np.asarray(t, dtype=float)
    if stamps.ndim == 0:
        if not 0.0 < float(stamps) < np.inf:
            raise TinyUDEError(f"the sample period is {float(stamps):g} s: give a positive number of seconds")
        return float(stamps)
    if stamps.shape != (samples,):
        raise TinyUDEError(f"run {number} has {samples} samples but time stamps of shape {stamps.shape}")
    ticks = np.diff(stamps)
    if not (ticks > 0).all():
        where = int(np.argmin(ticks > 0))
        raise TinyUDEError(f"time does not increase after sample {where} of run {number}: sort it, or split it there")
    period = float(np.median(ticks))
    if np.abs(ticks - period).max() > JITTER_LIMIT * period:
        where = int(np.argmax(np.abs(ticks - period)))
        raise TinyUDEError(
            f"sample {where} of run {number} lasts {ticks[where]:g} s where {period:g} s is usual "
            f"(limit {JITTER_LIMIT:.0%} off): split the run at gaps, or resample it to a steady rate"
        )
    return float(stamps[-1] - stamps[0]) / len(ticks)
