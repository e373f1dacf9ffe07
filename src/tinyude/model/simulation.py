"""Free rollouts of a field, stopped with a reason when they run away."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from tinyude.errors import TinyUDEError

Array = NDArray[Any]
RUNAWAY = 1e3  # times the scale of the training data
MARGIN = 0.1  # of a visited range, by which a state may leave it unmentioned


def rollout(field: Callable[[Array], Array], x0: Any, times: Any, scale: Array) -> Array:
    """States at the given times, (len(times), states), by SciPy's adaptive Runge-Kutta."""
    start, instants = _checked(x0, times, scale)
    limit = RUNAWAY * np.maximum(scale, np.abs(start))

    def runaway(t: float, x: Array) -> float:
        return float(np.min(limit - np.abs(x)))

    runaway.terminal = True  # type: ignore[attr-defined]
    if len(instants) == 1:
        return start[None, :]
    with np.errstate(over="ignore", invalid="ignore"):
        solution = solve_ivp(
            lambda t, x: field(x), (instants[0], instants[-1]), start, "RK45", instants,
            rtol=1e-8, atol=1e-10 * scale, events=runaway,
        )  # fmt: skip
    if solution.status == 1:
        raise _diverged(float(solution.t_events[0][0]))
    if solution.status != 0 or not np.all(np.isfinite(solution.y)):
        raise _diverged(float(solution.t[-1]), f"the integrator stopped ({solution.message})")
    return np.asarray(solution.y.T)


def held_rollout(
    field: Callable[[Array, Array], Array], x0: Any, times: Any, inputs: Array, scale: Array, longest_step: float
) -> Array:
    """The same with inputs held from each time to the next: fixed Runge-Kutta steps that end where an input jumps."""
    x, instants = _checked(x0, times, scale)
    limit = RUNAWAY * np.maximum(scale, np.abs(x))
    states = np.empty((len(instants), len(x)))
    states[0] = x
    with np.errstate(over="ignore", invalid="ignore"):
        for row in range(1, len(instants)):
            span = instants[row] - instants[row - 1]
            count = max(1, int(np.ceil(span / longest_step - 1e-9)))
            for _ in range(count):
                x = _rk4_step(field, x, inputs[row - 1], span / count)
            if not np.all(np.abs(x) < limit):  # also true of NaN
                raise _diverged(float(instants[row]))
            states[row] = x
    return states


def extrapolation(
    x: Array, names: Sequence[str], ranges: Mapping[str, Sequence[float]], turning: Sequence[str], times: Array | None
) -> list[str]:
    """A sentence for every state that leaves the range visited in training; `turning` ones are angles."""
    said = []
    for name, column in zip(names, np.atleast_2d(x).T, strict=True):
        low, high = ranges[name]
        middle, half = 0.5 * (low + high), (0.5 + MARGIN) * (high - low)
        distance = column - middle
        if name in turning:
            distance = (distance + np.pi) % (2.0 * np.pi) - np.pi
        out = np.flatnonzero(np.abs(distance) > half)
        if len(out):
            when = "" if times is None else f" from t = {times[out[0]]:.4g} s on"
            said.append(
                f"{name} reaches {column[out[0]]:.4g}{when}, outside the {low:.4g} to {high:.4g} of the training "
                "record: the model extrapolates there."
            )
    return said


def _rk4_step(field: Callable[[Array, Array], Array], x: Array, u: Array, dt: float) -> Array:
    k1 = field(x, u)
    k2 = field(x + 0.5 * dt * k1, u)
    k3 = field(x + 0.5 * dt * k2, u)
    k4 = field(x + dt * k3, u)
    return x + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)


def _checked(x0: Any, times: Any, scale: Array) -> tuple[Array, Array]:
    start = np.asarray(x0, dtype=np.float64)
    instants = np.asarray(times, dtype=np.float64)
    if start.shape != scale.shape or not np.all(np.isfinite(start)):
        raise TinyUDEError(f"x0 is {x0!r}; give {len(scale)} finite numbers, one for each state.")
    rising = (
        instants.ndim == 1 and len(instants) > 0 and np.all(np.isfinite(instants)) and np.all(np.diff(instants) > 0.0)
    )
    if not rising:
        raise TinyUDEError("times must be a rising vector of finite numbers.")
    return start, instants


def _diverged(time: float, reason: str | None = None) -> TinyUDEError:
    reason = reason or f"a state grew beyond {RUNAWAY:g} times what was seen in training"
    return TinyUDEError(
        f"The simulation diverged at t = {time:.4g} s: {reason}. Start inside the states visited in training, "
        "simulate a shorter stretch, or fit data that covers this motion."
    )
