"""Free rollouts of a field: integrated by SciPy, stopped with a reason when they run away."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from tinyude.errors import TinyUDEError

Array = NDArray[Any]
RUNAWAY = 1e3  # times the scale of the training data


def rollout(
    field: Callable[[Array, Array | None], Array],
    x0: Any,
    times: Any,
    scale: Array,
    u: Callable[[float], Array] | None = None,
    breaks: Array | None = None,
) -> Array:
    """States at the given times, (len(times), states). `breaks`: times at which the input jumps."""
    start = np.asarray(x0, dtype=np.float64)
    instants = np.asarray(times, dtype=np.float64)
    if start.shape != scale.shape or not np.all(np.isfinite(start)):
        raise TinyUDEError(f"x0 is {x0!r}; give {len(scale)} finite numbers, one for each state.")
    if (
        instants.ndim != 1
        or len(instants) == 0
        or np.any(np.diff(instants) <= 0.0)
        or not np.all(np.isfinite(instants))
    ):
        raise TinyUDEError("times must be a rising vector of finite numbers.")
    limit = RUNAWAY * np.maximum(scale, np.abs(start))

    def slope(t: float, x: Array) -> Array:
        return field(x, u(t) if u else None)

    def runaway(t: float, x: Array) -> float:
        return float(np.min(limit - np.abs(x)))

    runaway.terminal = True  # type: ignore[attr-defined]
    step = float(np.min(np.diff(breaks))) if breaks is not None and len(breaks) > 1 else np.inf
    with np.errstate(over="ignore", invalid="ignore"):
        solution = solve_ivp(
            slope, (instants[0], instants[-1]), start, "RK45", instants, rtol=1e-8, atol=1e-10 * scale,
            events=runaway, max_step=step,
        ) if len(instants) > 1 else None  # fmt: skip
    if solution is None:
        return start[None, :]
    if solution.status != 0 or not np.all(np.isfinite(solution.y)):
        reached = float(solution.t_events[0][0]) if solution.status == 1 else float(solution.t[-1])
        reason = (
            f"a state grew beyond {RUNAWAY:g} times what was seen in training"
            if solution.status == 1
            else f"the integrator stopped ({solution.message})"
        )
        raise TinyUDEError(
            f"The simulation diverged at t = {reached:.4g} s: {reason}. Start inside the states visited in training, "
            "simulate a shorter stretch, or fit data that covers this motion."
        )
    return np.asarray(solution.y.T)
