"""Multiple shooting: the hybrid model trained through an RK4 solver, the conventional way.

The record is observed at a modest rate (50 Hz); windows of K steps start from noisy observations, are integrated with
one RK4 step an observation, and Adam with a cosine schedule descends the whole batch on the exact discrete adjoint.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import solve_ivp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from tinyude.baselines.adjoint import Shooting, loss_gradient, multiply_accumulates, tape_init
from tinyude.baselines.shooting_record import Windows, as_runs, count_jumps, find_jumps, make_windows, rms, slope_rms
from tinyude.errors import TinyUDEError
from tinyude.physics import Physics
from tinyude.reference.network.adam import adam_init, adam_step, clip, cosine_rate
from tinyude.reference.network.mlp import mlp_forward, mlp_init
from tinyude.reference.numeric.rng import Rng, rng_seed

Floats = NDArray[np.float64]
Progress = Callable[[int, int], None]

RATE_FLOOR = 0.02  # the cosine ends at this share of the learning rate
DIVERGED = 1e3  # a simulated state this many times its RMS in the record is lost


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
        runs = as_runs(self.physics, Y, t, u)
        flags = [find_jumps(self.physics, run) for run in runs]
        windows = make_windows(runs, flags, self.rate, self.steps)
        self._set_scales(windows, slope_rms(runs, flags, windows.every))
        began = time.perf_counter()
        shooting = self._descend(windows, progress)
        self.diagnostics_ = {
            "seconds": time.perf_counter() - began,
            "iterations": self.iterations,
            "windows": shooting.windows,
            "steps": shooting.steps,
            "jumps_found": sum(count_jumps(run, flag) for run, flag in zip(runs, flags, strict=True)),
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
            raise TinyUDEError("simulate needs one start state and at least two increasing times.")
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
            f"The simulation diverged at t = {when:.6g} s of {at[-1]:.6g} s: {why}; "
            "start nearer the states of the record, simulate for a shorter time, or train on more data."
        )

    def _check_settings(self) -> None:
        for name in ("steps", "iterations", "windows", "rate", "learning_rate"):
            value, whole = getattr(self, name), name not in ("rate", "learning_rate")
            if not value > 0 or (whole and not isinstance(value, Integral)):
                raise TinyUDEError(f"{name} is {value!r}; give a positive {'whole ' if whole else ''}number.")
        if not self.hidden or min(self.hidden) < 1:
            raise TinyUDEError(f"hidden is {self.hidden!r}; give at least one layer of one unit, such as (16, 16).")
        names = list(self.physics.states)
        on = range(len(names)) if self.on is None else self.on
        try:
            chosen = [names.index(state) if isinstance(state, str) else range(len(names))[state] for state in on]
        except (ValueError, IndexError):
            chosen = []
        if not chosen or len(set(chosen)) < len(chosen):
            raise TinyUDEError(f"on is {self.on!r}; name states of {names} once each, by name or index.")
        self.on_ = tuple(chosen)

    def _states(self, X: ArrayLike) -> Floats:
        x = np.asarray(X, dtype=float)
        if x.shape[-1:] != (self.physics.n_states,):
            raise TinyUDEError(f"X has shape {x.shape}; the last axis must be {self.physics.states}.")
        return x

    def _network_rows(self, X: ArrayLike, u: ArrayLike | None) -> Floats:
        """States and inputs side by side, as the network takes them."""
        x, given = self._states(X), np.asarray([] if u is None else u, dtype=float)
        if given.shape[-1:] != (self.physics.n_inputs,):
            raise TinyUDEError(f"u has shape {given.shape}; the last axis must be {self.physics.inputs}.")
        return np.concatenate([x, np.broadcast_to(given, (*x.shape[:-1], given.shape[-1]))], axis=-1)

    def _set_scales(self, windows: Windows, slope_rms: Floats) -> None:
        x_rms, u_rms = rms(windows.y), rms(windows.u)
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
                    f"The integration diverged at iteration {done + 1} with learning_rate {self.learning_rate} and "
                    f"{self.steps} steps; lower either, or check the known physics."
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
