"""Free (simulation) runs of a field from one or many starts, stopped with a reason when they diverge."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from tinyude.errors import TinyUDEError
from tinyude.model.dynamics import Dynamics
from tinyude.native.simulate import Steps
from tinyude.physics.holds import as_holds, interval_coefficients
from tinyude.reference.numeric.elementary import angle_wrap

Array = NDArray[Any]

RUNAWAY = 1e3  # times the scale of the training data
MARGIN = 0.1  # of a visited range: a state may exceed it by this without a warning
RELATIVE, ABSOLUTE = 1e-8, 1e-10  # tolerances of a step; the absolute one times the state's scale
MOST_STEPS = 20_000_000  # of one run, taken so far or still needed at its current step
SHORTEST = 1e-3  # of the shortest interval between two times: least step where the field switches (native/simulate.c)


@dataclass(frozen=True)
class FreeRuns:
    """Runs of one model.

    Attributes
    ----------
    states : ndarray of shape (runs, times, states)
        NaN from where a run diverged.
    diverged : ndarray of shape (runs,)
        Time of divergence; NaN for a run that reached its end.
    """

    states: Array
    diverged: Array


def free_runs(
    dynamics: Dynamics,
    starts: Any,
    times: Any,
    scale: Array,
    u: Any = None,
    *,
    hold: str | Mapping[str, Any] = "held",
    most_steps: int = MOST_STEPS,
) -> FreeRuns:
    """Simulate from every start, with steps as long as the dynamics allow.

    Parameters
    ----------
    dynamics : Dynamics
        What is simulated.
    starts : array_like of shape (runs, states)
        Where each run begins at times[0].
    times : array_like of shape (times,)
        Rising; the states are returned at these times.
    scale : ndarray of shape (states,)
        Typical size of each state. A run has diverged when a state exceeds `RUNAWAY` times that, or its start.
    u : array_like of shape (times, inputs) or (runs, times, inputs), optional
        Inputs, shared by all runs or one table each.
    hold : {"held", "linear", "cubic"} or mapping
        What inputs do between two times, all of them or by name: constant from each time to the next, straight lines,
        or a spline.
    most_steps : int
        Steps of one run, after which it counts as diverged: the field is too stiff for the requested times. So
        does a run that would need more for its remainder at its current step.

    Returns
    -------
    FreeRuns
    """
    begin, instants = _checked(starts, times, dynamics)
    inputs = _inputs(u, instants, len(begin), dynamics)
    limits = RUNAWAY * np.maximum(scale, np.abs(begin))
    if len(instants) == 1:
        return FreeRuns(begin[:, None, :], np.full(len(begin), np.nan))
    compiled = dynamics.compiled
    polynomials = None if inputs is None else _polynomials(instants, inputs, dynamics.inputs, hold)
    if compiled is None:
        return _with_scipy(dynamics, begin, instants, polynomials, scale, limits)
    steps = Steps(RELATIVE, ABSOLUTE, SHORTEST * float(np.min(np.diff(instants))), most_steps)
    return FreeRuns(*compiled.run(begin, instants, polynomials, limits, scale, steps))


def free_run(
    dynamics: Dynamics, x0: Any, times: Any, scale: Array, u: Any = None, *, hold: str | Mapping[str, Any] = "held"
) -> Array:
    """One run, (times, states); raises an error that states when and why it diverged."""
    start = np.asarray(x0, dtype=np.float64)
    if start.shape != scale.shape:
        raise TinyUDEError(f"x0 is {x0!r}; give {len(scale)} finite numbers, one for each state.")
    runs = free_runs(dynamics, start[None], times, scale, u, hold=hold)
    check_divergence(runs)
    return np.asarray(runs.states[0])


def check_divergence(runs: FreeRuns) -> None:
    """Raise an error for the first run that diverged."""
    if np.isfinite(runs.diverged).any():
        raise _diverged(float(np.nanmin(runs.diverged)))


def rollout(field: Callable[[Array], Array], x0: Any, times: Any, scale: Array) -> Array:
    """The same for any Python function without inputs, by SciPy's adaptive Runge-Kutta: (len(times), states)."""
    start, instants = np.asarray(x0, dtype=np.float64), np.asarray(times, dtype=np.float64)
    if start.shape != scale.shape or not np.all(np.isfinite(start)):
        raise TinyUDEError(f"x0 is {x0!r}; give {len(scale)} finite numbers, one for each state.")
    _check_times(instants)
    if len(instants) == 1:
        return start[None, :]
    limit = RUNAWAY * np.maximum(scale, np.abs(start))
    states, end = _scipy_span(lambda t, x: field(x), start, instants, scale, limit)
    if np.isfinite(end):
        raise _diverged(end)
    return states


def extrapolation(
    x: Array, names: Sequence[str], ranges: Mapping[str, Sequence[float]], angles: Sequence[str], times: Array | None
) -> list[str]:
    """A sentence for every state that leaves the range visited in training; `angles` are compared after wrapping."""
    said = []
    for name, column, out in outside(x, names, ranges, angles):
        low, high = ranges[name]
        when = "" if times is None else f" from t = {times[out[0]]:.4g} s on"
        said.append(
            f"{name} reaches {column[out[0]]:.4g}{when}, outside the {low:.4g} to {high:.4g} of the training "
            "record: the model extrapolates there."
        )
    return said


def outside(
    x: Array, names: Sequence[str], ranges: Mapping[str, Sequence[float]], angles: Sequence[str]
) -> list[tuple[str, Array, Array]]:
    """Name, values and rows outside the visited range, of every column that leaves it."""
    found = []
    for name, column in zip(names, np.atleast_2d(x).T, strict=True):
        low, high = ranges[name]
        middle, half = 0.5 * (low + high), (0.5 + MARGIN) * (high - low)
        distance = column - middle
        if name in angles:
            distance = angle_wrap(distance)
        out = np.flatnonzero(np.abs(distance) > half)
        if len(out):
            found.append((name, column, out))
    return found


def _checked(starts: Any, times: Any, dynamics: Dynamics) -> tuple[Array, Array]:
    begin, instants = np.asarray(starts, dtype=np.float64), np.asarray(times, dtype=np.float64)
    if begin.ndim != 2 or begin.shape[1] != len(dynamics.states) or not np.all(np.isfinite(begin)):
        raise TinyUDEError(
            f"x0 is {starts!r}; give {len(dynamics.states)} finite numbers, one for each state, or a row of them "
            "for each run."
        )
    _check_times(instants)
    return begin, instants


def _check_times(instants: Array) -> None:
    rising = (
        instants.ndim == 1 and len(instants) > 0 and np.all(np.isfinite(instants)) and np.all(np.diff(instants) > 0.0)
    )
    if not rising:
        told = f"{instants:g}" if instants.ndim == 0 else f"an array of shape {instants.shape}"
        raise TinyUDEError(
            f"times is {told}; it must be a vector of rising, finite numbers: the times at which to return the states, "
            "e.g. numpy.linspace(0, 5, 501)."
        )


def _inputs(u: Any, instants: Array, runs: int, dynamics: Dynamics) -> Array | None:
    count = len(dynamics.inputs)
    if not count:
        return None
    rows = None if u is None else np.asarray(u, dtype=np.float64)
    if rows is not None and count == 1 and rows.shape in ((len(instants),), (runs, len(instants))):
        rows = rows[..., None]
    shapes = ((len(instants), count), (runs, len(instants), count))
    if rows is None or rows.shape not in shapes:
        raise TinyUDEError(
            f"u must have a row for each of the {len(instants)} times and a column for each input "
            f"({', '.join(dynamics.inputs)}); it has shape {None if rows is None else rows.shape}."
        )
    if not np.all(np.isfinite(rows)):
        bad = int(np.argmax(~np.isfinite(rows).all(axis=tuple(a for a in range(rows.ndim) if a != rows.ndim - 2))))
        raise TinyUDEError(f"u is not a number at t = {instants[bad]:g} s; fill in the value that was applied.")
    return rows


def _polynomials(times: Array, inputs: Array, names: Sequence[str], hold: str | Mapping[str, Any]) -> Array:
    """Coefficients (..., times, inputs, 4) of a polynomial in 0 to 1 from each time to the next."""
    holds = as_holds(hold, names)
    if inputs.ndim == 2:
        return interval_coefficients(times, inputs, holds)
    return np.stack([interval_coefficients(times, table, holds) for table in inputs])


def _with_scipy(
    dynamics: Dynamics, starts: Array, times: Array, polynomials: Array | None, scale: Array, limits: Array
) -> FreeRuns:
    """The same runs without the compiled core, slower."""
    states = np.full((len(starts), len(times), starts.shape[1]), np.nan)
    ends = np.full(len(starts), np.nan)
    for run, (start, limit) in enumerate(zip(starts, limits, strict=True)):
        if polynomials is None:
            states[run], ends[run] = _scipy_span(lambda t, x: dynamics.field(x), start, times, scale, limit)
            continue
        table = polynomials[run] if polynomials.ndim == 4 else polynomials
        states[run, 0] = start
        for row in range(len(times) - 1):
            rate = _driven_rate(dynamics, table[row], times[row], times[row + 1])
            piece, ends[run] = _scipy_span(rate, states[run, row], times[row : row + 2], scale, limit)
            if np.isfinite(ends[run]):
                break
            states[run, row + 1] = piece[1]
    return FreeRuns(states, ends)


def _driven_rate(dynamics: Dynamics, table: Array, begin: float, end: float) -> Callable[[float, Array], Array]:
    powers = np.arange(table.shape[-1])
    return lambda t, x: dynamics.field(x, table @ ((t - begin) / (end - begin)) ** powers)


def _scipy_span(
    rate: Callable[[float, Array], Array], start: Array, times: Array, scale: Array, limit: Array
) -> tuple[Array, float]:
    """States at the times, NaN after divergence, and the time of divergence."""

    def runaway(t: float, x: Array) -> float:
        return float(np.min(limit - np.abs(x)))

    runaway.terminal = True  # type: ignore[attr-defined]
    with np.errstate(all="ignore"):
        solution = solve_ivp(
            rate, (times[0], times[-1]), start, "RK45", times,
            rtol=RELATIVE, atol=ABSOLUTE * scale, events=runaway,
        )  # fmt: skip
    states = np.full((len(times), len(start)), np.nan)
    found = np.asarray(solution.y.T)
    states[: len(found)] = found
    if solution.status == 1:
        return states, float(solution.t_events[0][0])
    if solution.status != 0 or not np.all(np.isfinite(found)):
        return states, float(solution.t[-1]) if len(solution.t) else float(times[0])
    return states, float("nan")


def _diverged(time: float) -> TinyUDEError:
    return TinyUDEError(
        f"The simulation diverged at t = {time:.4g} s: a state grew beyond {RUNAWAY:g} times what was seen in "
        f"training, was no longer a number, or the run would take more than {MOST_STEPS:,} steps. Start inside the "
        "states visited in training, simulate a shorter stretch, or fit data that covers this motion."
    )
