"""The extended Kalman filter with sensitivities: the NumPy reference of native/filter.c, and its result types.

At each row the filter predicts the measured states, compares (the innovation e with its variance S), and corrects
by the gain K. In addition to the state x it propagates the covariance P and M = dx/dunknowns:

    at a row        h = M[i],  N += h h' / S,  g += h e / S,  x += K e,  M -= K h,  P -= K K' S
    between rows    dx/dt = f,  dPhi/dt = (df/dx) Phi,  dM/dt = (df/dx) M + df/dunknowns,  P <- Phi P Phi' + Q dt

N and g are the Gauss-Newton sums of the innovations, separately for each stretch. With given gains the filter is a
fixed linear corrector around the model: innovations are a smooth function of the unknowns, with derivative -M[i].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tinyude.refinement.field import Field
from tinyude.refinement.stretches import Batch

Array = NDArray[Any]
JUMP = 4  # consecutive rejected rows


@dataclass(frozen=True)
class Noise:
    """Noise variances of the filter.

    Attributes
    ----------
    measurement : array (channels,)
        Variance of each measured channel.
    process : array (states,)
        Random-walk variance of each state per second, for what the model lacks.
    """

    measurement: Array
    process: Array


@dataclass(frozen=True)
class Plan:
    """Settings of a filter pass.

    Attributes
    ----------
    measured : tuple of int
        The state that each channel measures.
    longest_step : float
        Seconds; a longer interval takes several Runge-Kutta steps.
    widen : array (states,)
        Variance added after JUMP consecutive rejected rows: the state has jumped, and the filter must find it again.
    """

    measured: tuple[int, ...]
    longest_step: float
    widen: Array


@dataclass(frozen=True)
class Passed:
    """Results of one pass. Sums are by stretch; rows are those of the batch.

    Attributes
    ----------
    information, gradient : array (stretches, unknowns, unknowns), (stretches, unknowns)
        Gauss-Newton sums; empty if not requested.
    squares, logs, counts : array (stretches, channels)
        Sums of e^2 / S and ln S over the rows used, and their number.
    innovations, variances : array (rows, channels)
        e and S; NaN where there is no sample. S is infinite where the row was not used.
    gains : array (rows, channels, states)
    states, state_variances : array (rows, states)
        After the row's correction.
    """

    information: Array
    gradient: Array
    squares: Array
    logs: Array
    counts: Array
    innovations: Array
    variances: Array
    gains: Array
    states: Array
    state_variances: Array

    @property
    def cost(self) -> float:
        """Sum of e^2 / S; infinite if the model or its sensitivities diverged."""
        sums = self.squares, self.information, self.gradient
        return float(self.squares.sum()) if all(np.isfinite(s).all() for s in sums) else np.inf

    @property
    def log_likelihood(self) -> float:
        total = -0.5 * float(self.squares.sum() + self.logs.sum())
        return total if np.isfinite(total) else -np.inf


class Kept(NamedTuple):
    """What smoothing needs of a pass, (rows, states, states): covariances after the rows, transitions to them."""

    covariances: Array
    transitions: Array


def filter_pass_numpy(
    field: Field,
    unknowns: Array,
    batch: Batch,
    noise: Noise,
    plan: Plan,
    gate: float = 0.0,
    sensitivities: bool = True,
    frozen: Passed | None = None,
    kept: Kept | None = None,
) -> Passed:
    """One pass over all stretches.

    Parameters
    ----------
    unknowns : array
        Values of the unknowns; complex with `frozen`, for a derivative by complex step.
    gate : float
        A row with an innovation beyond this many standard deviations is not used; 0: every row is.
    sensitivities : bool
        Whether to form the Gauss-Newton sums.
    frozen : Passed, optional
        A pass whose gains, variances and rejected rows are reused: only the innovations are computed.
    kept : Kept, optional
        Where to store what smoothing needs.
    """
    dtype = np.result_type(np.asarray(unknowns), np.float64)
    n, p, channels = field.states, field.unknowns if sensitivities else 0, len(plan.measured)
    count, rows = len(batch.stretches), batch.rows
    passed = Passed(
        np.zeros((count, p, p)), np.zeros((count, p)),
        np.zeros((count, channels), dtype), np.zeros((count, channels)), np.zeros((count, channels)),
        np.full((rows, channels), np.nan, dtype), np.full((rows, channels), np.nan),
        np.zeros((rows, channels, n)), np.zeros((rows, n), dtype), np.zeros((rows, n)),
    )  # fmt: skip
    with np.errstate(over="ignore", invalid="ignore"):  # a model that diverges has infinite cost
        for number in range(count):
            walk = _Walk(field, np.asarray(unknowns), noise, plan, gate, sensitivities, frozen, passed, kept)
            walk.over(batch, number)
    return passed


class _Walk:
    """State of the filter within one stretch."""

    def __init__(
        self, field: Field, unknowns: Array, noise: Noise, plan: Plan, gate: float, sensitivities: bool,
        frozen: Passed | None, passed: Passed, kept: Kept | None,
    ) -> None:  # fmt: skip
        self.field, self.unknowns, self.noise, self.plan = field, unknowns, noise, plan
        self.gate, self.sensitivities, self.frozen, self.passed = gate, sensitivities, frozen, passed
        self.kept = kept
        self.rejected = 0  # consecutive rows

    def over(self, batch: Batch, number: int) -> None:
        rows = batch.rows_of(number)
        self.x = np.array(batch.starts[number], self.passed.states.dtype)
        self.P, self.Phi = np.diag(batch.start_variances[number]), np.eye(self.field.states)
        self.M = np.zeros((self.field.states, self.field.unknowns if self.sensitivities else 0))
        for row in range(rows.start, rows.stop):
            if row > rows.start:
                self._advance(batch.times[row] - batch.times[row - 1], batch.inputs[row - 1])
            if not np.all(np.isfinite(self.x)) or not np.all(np.isfinite(self.P)):
                self.passed.squares[number, 0] = np.nan
                return
            self._correct(number, row, batch.samples[row])
            self.passed.states[row] = self.x
            self.passed.state_variances[row] = np.diag(self.P)
            if self.kept:
                self.kept.covariances[row], self.kept.transitions[row] = self.P, self.Phi
            if self.rejected == JUMP and self.frozen is None:
                self.P = self.P + np.diag(self.plan.widen)

    def _correct(self, number: int, row: int, sample: Array) -> None:
        passed, measured = self.passed, self.plan.measured
        seen = [c for c in range(len(measured)) if np.isfinite(sample[c])]
        used = self._used(row, sample, seen)
        self.rejected = 0 if used else self.rejected + 1
        for c in seen:
            i = measured[c]
            e = sample[c] - self.x[i]
            passed.innovations[row, c] = e
            passed.variances[row, c] = np.inf
            if not used:
                continue
            if self.frozen is None:
                S = self.P[i, i] + self.noise.measurement[c]
                K = self.P[:, i] / S
            else:
                S, K = self.frozen.variances[row, c], self.frozen.gains[row, c]
            passed.variances[row, c], passed.gains[row, c] = S, K
            passed.squares[number, c] += e * e / S
            passed.counts[number, c] += 1
            self.x = self.x + K * e
            if self.frozen is None:
                passed.logs[number, c] += np.log(S)
                self.P = self.P - np.outer(K, K) * S
            if self.sensitivities:
                h = self.M[i].copy()
                passed.information[number] += np.outer(h, h) / S
                passed.gradient[number] += h * np.real(e) / S
                self.M -= np.outer(K, h)

    def _used(self, row: int, sample: Array, seen: Sequence[int]) -> bool:
        """Whether no channel's innovation, before any correction, is beyond the gate."""
        if self.frozen is not None:
            return all(np.isfinite(self.frozen.variances[row, c]) for c in seen)
        if self.gate <= 0.0:
            return True
        for c in seen:
            i = self.plan.measured[c]
            S = self.P[i, i] + self.noise.measurement[c]
            if not (sample[c] - self.x[i]) ** 2 <= self.gate**2 * S:
                return False
        return True

    def _advance(self, span: float, inputs: Array) -> None:
        """Integrate to the next row, in equal Runge-Kutta steps."""
        steps = max(1, int(np.ceil(span / self.plan.longest_step - 1e-9)))
        n = self.field.states
        Z = np.hstack([np.eye(n), self.M]).astype(np.float64)
        for step in range(steps):
            self.x, Z = self._step(self.x, Z, inputs, step / steps, 1.0 / steps, span / steps)
        self.Phi, self.M = Z[:, :n], Z[:, n:]
        if self.frozen is None:
            self.P = self.Phi @ self.P @ self.Phi.T + np.diag(self.noise.process) * span

    def _step(self, x: Array, Z: Array, inputs: Array, s: float, ds: float, h: float) -> tuple[Array, Array]:
        k1, Z1 = self._slope(x, Z, inputs, s)
        k2, Z2 = self._slope(x + 0.5 * h * k1, Z + 0.5 * h * Z1, inputs, s + 0.5 * ds)
        k3, Z3 = self._slope(x + 0.5 * h * k2, Z + 0.5 * h * Z2, inputs, s + 0.5 * ds)
        k4, Z4 = self._slope(x + h * k3, Z + h * Z3, inputs, s + ds)
        return x + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4), Z + h / 6.0 * (Z1 + 2.0 * Z2 + 2.0 * Z3 + Z4)

    def _slope(self, x: Array, Z: Array, inputs: Array, s: float) -> tuple[Array, Array]:
        u = inputs @ np.array([1.0, s, s * s, s**3])
        if self.frozen is not None and not self.sensitivities:
            return self.field.evaluate(x, u, self.unknowns), np.zeros(Z.shape)
        n = self.field.states
        k, slopes = self.field.linearise(np.real(x), u, np.real(self.unknowns))
        rate = slopes[:, :n] @ Z
        rate[:, n:] += slopes[:, n : Z.shape[1]]
        return k, rate
