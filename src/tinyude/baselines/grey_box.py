"""The grey-box opponent: parameters of the known physics alone, by simulation error, as SciPy users do it.

Runs are cut into segments; `scipy.optimize.least_squares` moves the learned parameters and the state at the beginning
of every segment until simulated and measured channels agree best. Nothing is learned beyond the stated physics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from tinyude.data.streams import as_stream
from tinyude.errors import TinyUDEError
from tinyude.model.dynamics import known_dynamics
from tinyude.model.simulation import free_run
from tinyude.physics import Physics
from tinyude.physics.holds import as_holds, interval_coefficients
from tinyude.physics.kinematics import measured_map
from tinyude.physics.programs import program_numpy

Array = NDArray[Any]
RUNAWAY = 1e6  # what a simulated state is clipped at, in standard deviations


class GreyBox:
    """Known physics whose learned parameters are fitted by simulation error.

    Parameters
    ----------
    physics : Physics
        With parameters to learn.
    measured : sequence of str, optional
        The sensed states, in the order of Y's columns; by default all.
    unmeasured : mapping, optional
        Guess and spread of states that are neither measured nor the derivative of a measured one.
    hold : str or mapping
        What inputs do between samples.
    segment : int
        Rows of a simulated segment, at most.
    evaluations : int
        Of the least squares, at most.

    Attributes
    ----------
    physics_ : Physics
        With the fitted values.
    start_ : array (states,)
        The fitted state at the beginning of the first run.
    cost_ : float
        Mean squared error, in variances of the channels.

    Examples
    --------
    >>> import tinyude as tu
    >>> length = tu.Parameter(0.8, learn=True, min=0.1, max=3.0)
    >>> physics = tu.Physics(["theta", "omega"], ["omega", "-9.81/L*sin(theta) - 0.4*omega"], parameters={"L": length})
    >>> t, Y = tu.systems.pendulum("A").stream(noise=0.001, seconds=3.0)
    >>> grey = tu.baselines.GreyBox(physics).fit(Y[::20], t=t[::20])
    >>> round(grey.physics_.parameters["L"].value, 2)
    1.0
    """

    def __init__(
        self,
        physics: Physics,
        measured: Sequence[str] | None = None,
        *,
        unmeasured: Mapping[str, Sequence[float]] | None = None,
        hold: str | Mapping[str, Any] = "held",
        segment: int = 400,
        evaluations: int = 40,
    ) -> None:
        self.physics, self.measured, self.unmeasured = physics, measured, dict(unmeasured or {})
        self.hold, self.segment, self.evaluations = hold, segment, evaluations

    def fit(self, Y: Any, t: Any, u: Any = None) -> GreyBox:
        """Move the parameters to where simulated segments are nearest to the measured ones."""
        physics = self.physics
        if not physics.learned:
            raise TinyUDEError("No parameter is to be learned; mark one with Parameter(value, learn=True).")
        names, channel, order = measured_map(physics, self.measured, self.unmeasured)
        stream = as_stream(Y, t, u, names, physics.inputs)
        problem = _Segments(physics, channel, order, self._cut(stream), self.unmeasured)
        found = least_squares(
            problem.residuals, problem.start, problem.jacobian, problem.bounds, x_scale="jac",
            max_nfev=self.evaluations,
        )  # fmt: skip
        values = dict(zip(physics.learned, found.x[: len(physics.learned)].tolist(), strict=True))
        self.physics_ = physics.with_parameters(values)
        self.start_ = found.x[len(physics.learned) :][: physics.n_states]
        self.cost_ = float(2.0 * found.cost / max(problem.count, 1))
        self._scale = problem.scale
        return self

    def simulate(self, x0: Any, times: Any, u: Any = None) -> Array:
        """A free run of the fitted physics: states at the given times, (len(times), states)."""
        if not hasattr(self, "physics_"):
            raise TinyUDEError("This GreyBox is not fitted yet; call fit(Y, t=...) first.")
        return free_run(known_dynamics(self.physics_), x0, times, self._scale, u, hold=self.hold)

    def _cut(self, stream: Any) -> list[tuple[Array, Array, Array]]:
        """Times, samples and input polynomials of every segment."""
        made = []
        holds = as_holds(self.hold, self.physics.inputs)
        for run in stream.runs:
            times = run.start + stream.period * np.arange(len(run.samples))
            inputs = interval_coefficients(times, run.inputs, holds)
            count = max(1, -(-len(times) // self.segment))
            for rows in np.array_split(np.arange(len(times)), count):
                if np.isfinite(run.samples[rows]).any(axis=0).all():
                    made.append((times[rows], run.samples[rows], inputs[rows]))
        return made


class _Segments:
    """Segments of like length simulated side by side; unknowns are the parameters, then every segment's start."""

    def __init__(
        self, physics: Physics, channel: Sequence[int], order: Sequence[int],
        segments: Sequence[tuple[Array, Array, Array]], guess: Mapping[str, Sequence[float]],
    ) -> None:  # fmt: skip
        rows = min(len(times) for times, _, _ in segments)
        self.physics, self.program = physics, physics.field_program()
        self.spans = np.stack([np.diff(times[:rows]) for times, _, _ in segments])
        self.samples = np.stack([samples[:rows] for _, samples, _ in segments])
        self.inputs = np.stack([inputs[:rows] for _, _, inputs in segments])
        self.seen = [s for s, (c, k) in enumerate(zip(channel, order, strict=True)) if c >= 0 and k == 0]
        self.columns = [channel[s] for s in self.seen]
        spread = np.nanstd(self.samples.reshape(-1, self.samples.shape[-1]), axis=0)
        self.spread = np.where(spread > 0.0, spread, 1.0)[self.columns]
        starts = [_rough_start(physics, channel, order, segment, guess) for segment in segments]
        parameters = [physics.parameters[name] for name in physics.learned]
        self.start = np.concatenate([[p.value for p in parameters], np.ravel(starts)])
        free = np.full(len(self.start) - len(parameters), np.inf)
        self.bounds = (
            np.concatenate([[p.min for p in parameters], -free]),
            np.concatenate([[p.max for p in parameters], free]),
        )
        self.scale = np.maximum(np.abs(starts).max(axis=0), 1e-9)
        self.count = int(np.isfinite(self.samples).sum())

    def residuals(self, unknowns: Array) -> Array:
        states = self._simulate(unknowns[None])[0]
        return self._errors(states).ravel()

    def jacobian(self, unknowns: Array) -> Array:
        """By differences; a segment's start moves that segment alone, so all starts are moved at once."""
        n, p = self.physics.n_states, len(self.physics.learned)
        size = 1e-6 * np.maximum(np.abs(unknowns), 1e-3 * np.max(self.scale))
        moved = np.repeat(unknowns[None], 1 + p + n, axis=0)
        for k in range(p):
            moved[1 + k, k] += size[k]
        for k in range(n):
            moved[1 + p + k, p + k :: n] += size[p + k :: n]
        states = self._simulate(moved)
        base = self._errors(states[0])
        slopes = np.zeros((*base.shape, len(unknowns)))
        for k in range(p):
            slopes[..., k] = (self._errors(states[1 + k]) - base) / size[k]
        for k in range(n):
            change = self._errors(states[1 + p + k]) - base
            for segment in range(len(self.samples)):
                column = p + segment * n + k
                slopes[segment, ..., column] = change[segment] / size[column]
        return slopes.reshape(-1, len(unknowns))

    def _errors(self, states: Array) -> Array:
        apart = (states[..., self.seen] - self.samples[..., self.columns]) / self.spread
        return np.clip(np.where(np.isfinite(apart), apart, 0.0), -RUNAWAY, RUNAWAY)

    def _simulate(self, unknowns: Array) -> Array:
        """States (sets, segments, rows, states) by Runge-Kutta from row to row, for several sets of unknowns."""
        n, p = self.physics.n_states, len(self.physics.learned)
        sets, segments = len(unknowns), len(self.samples)
        x = unknowns[:, p:].reshape(sets, segments, n)
        parameters = np.broadcast_to(unknowns[:, None, :p], (sets, segments, p))
        states = [x]
        with np.errstate(all="ignore"):
            for row in range(self.spans.shape[1]):
                h = self.spans[:, row][:, None]
                u = [self.inputs[:, row] @ np.array([1.0, s, s * s, s**3]) for s in (0.0, 0.5, 1.0)]

                def rate(x: Array, u: Array) -> Array:
                    held = np.broadcast_to(u, (sets, segments, u.shape[-1]))
                    return program_numpy(self.program, np.concatenate([x, held, parameters], axis=-1))

                k1 = rate(x, u[0])
                k2 = rate(x + 0.5 * h * k1, u[1])
                k3 = rate(x + 0.5 * h * k2, u[1])
                k4 = rate(x + h * k3, u[2])
                x = np.clip(x + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4), -RUNAWAY, RUNAWAY)
                states.append(x)
        return np.stack(states, axis=2)


def _rough_start(
    physics: Physics, channel: Sequence[int], order: Sequence[int], segment: tuple[Array, Array, Array],
    guess: Mapping[str, Sequence[float]],
) -> Array:  # fmt: skip
    """The first states of a segment from a parabola over its first rows."""
    times, samples, _ = segment
    start = np.zeros(physics.n_states)
    rows = slice(0, min(len(times), 9))
    for state, (c, k) in enumerate(zip(channel, order, strict=True)):
        if c < 0:
            start[state] = float(guess[physics.states[state]][0])
            continue
        good = np.isfinite(samples[rows, c])
        fit = np.polynomial.Polynomial.fit(times[rows][good] - times[0], samples[rows, c][good], min(2, good.sum() - 1))
        start[state] = float(fit.deriv(k)(0.0) if k else fit(0.0))
    return start
