"""The state at a time of a record: by a local polynomial, or by a fitted free run if a state is not measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import NDArray
from scipy.optimize import least_squares

from tinyude.data.log import Log
from tinyude.errors import TinyUDEError
from tinyude.model.dynamics import Dynamics
from tinyude.model.simulation import free_runs
from tinyude.physics.kinematics import measured_map

Array = NDArray[np.float64]

DEGREE = 4  # of the polynomial fitted to the samples around a time
START_ROWS = 100  # rows to which a start with unmeasured states is fitted
FIRST_ROWS = 7  # rows of the line fit that gives the first guess of measured states
SPREADS = (0.0, -1.0, 1.0)  # distances from the guess of an unmeasured state at which fits of a start begin
LOST = 1e3  # standard deviations: the error assigned to a run that diverged


@dataclass(frozen=True)
class Measuring:
    """How the states of a model are measured.

    Attributes
    ----------
    channel, order : tuple of int
        The channel of each state (-1: none), and which derivative of it the state is; from `measured_map`.
    guesses : mapping of int to (guess, spread)
        For the unmeasured states.
    noise : ndarray of shape (channels,)
        Standard deviation of the sensors.
    hold : str or mapping
        What inputs do between samples.
    """

    channel: tuple[int, ...]
    order: tuple[int, ...]
    guesses: Mapping[int, tuple[float, float]]
    noise: Array
    hold: str | Mapping[str, Any] = "held"

    @property
    def states(self) -> list[int]:
        """The state that each channel measures."""
        return [self.channel.index(c) for c in range(len(self.noise))]


def state_at(ude: Any, log: Log, time: float) -> Array:
    """The full state of a fitted UDE at a time of the log."""
    first, last = float(log.t[0]), float(log.t[-1])
    if not first <= time <= last:
        raise TinyUDEError(f"{time:.10g} s is outside the log, which runs from {first:.10g} s to {last:.10g} s.")
    if ude.unmeasured:
        rows = log.t >= time - 1e-9
        later = Log(log.t[rows], log.Y[rows], None if log.u is None else log.u[rows])
        return start_state(ude.model_.dynamics, later, ude.model_.x_scale, measuring(ude))
    half = float(ude.diagnostics_["window"]["half_width_seconds"])
    centre = min(max(time, first + half), max(last - half, first))
    near = np.abs(log.t - centre) <= half * (1.0 + 1e-9)
    _, channel, order = measured_map(ude.physics, ude.measured)
    fits = []
    for name, samples in zip(ude.measured or ude.physics.states, log.Y[near].T, strict=True):
        good = np.isfinite(samples)
        if np.count_nonzero(good) <= DEGREE + 1:
            raise TinyUDEError(f"There are too few samples of {name} around {time:.10g} s; choose another moment.")
        fits.append(Polynomial.fit(log.t[near][good], samples[good], DEGREE))
    return np.array([fits[c].deriv(k)(time) if k else fits[c](time) for c, k in zip(channel, order, strict=True)])


def measuring(ude: Any) -> Measuring:
    """How the states of a fitted UDE are measured."""
    _, channel, order = measured_map(ude.physics, ude.measured, ude.unmeasured)
    guesses = {ude.physics.states.index(name): (float(v), float(s)) for name, (v, s) in ude.unmeasured.items()}
    noise = np.atleast_1d(np.asarray(ude.diagnostics_["noise"], dtype=np.float64))
    holds = ude.diagnostics_.get("holds") or "held"
    return Measuring(channel, order, guesses, noise, holds)


def start_state(dynamics: Dynamics, log: Log, scale: Array, measured: Measuring) -> Array:
    """The state at the beginning of a log, by least squares of a free run over its first rows.

    Parameters
    ----------
    dynamics, scale
        As for `free_runs`.
    log : Log
        Its first `START_ROWS` rows are used.
    measured : Measuring
        Unmeasured states stay at their guess if the rows have no information about them.
    """
    t, Y = log.t[:START_ROWS], log.Y[:START_ROWS]
    u = None if log.u is None else log.u[:START_ROWS]
    columns, guesses = measured.states, measured.guesses
    middle, size = _first_guess(t, Y, scale, measured)

    def miss(z: Array) -> Array:
        run = free_runs(dynamics, (middle + size * z)[None], t, scale, u, hold=measured.hold).states[0][:, columns]
        off = np.where(
            np.isfinite(Y), np.nan_to_num((run - Y) / measured.noise, nan=LOST, posinf=LOST, neginf=-LOST), 0.0
        )
        return np.concatenate([np.clip(off, -LOST, LOST).ravel(), z[list(guesses)]])

    starts = [np.array([step if k in guesses else 0.0 for k in range(len(middle))]) for step in SPREADS]
    found = [least_squares(miss, z, diff_step=1e-4, max_nfev=30) for z in starts]
    best = min(found, key=lambda fit: float(fit.cost))
    return np.asarray(middle + size * best.x)


def _first_guess(t: Array, Y: Array, scale: Array, measured: Measuring) -> tuple[Array, Array]:
    """A value for each state, and a typical distance from it."""
    middle, size = np.zeros(len(scale)), np.array(scale, dtype=np.float64)
    for state, (column, derivative) in enumerate(zip(measured.channel, measured.order, strict=True)):
        if state in measured.guesses:
            middle[state], size[state] = measured.guesses[state]
            continue
        rows = np.flatnonzero(np.isfinite(Y[:, column]))[:FIRST_ROWS]
        if len(rows) > 1 and derivative < 2:
            line = np.polyfit(t[rows] - t[0], Y[rows, column], 1)
            middle[state] = line[1 - derivative]
    return middle, size
