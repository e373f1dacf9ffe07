"""The learned part along one signal, the others at their median."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.errors import TinyUDEError

Array = NDArray[Any]
Data = dict[str, Any]
SLICE_POINTS = 121
BINS = 12  # for judging which state a residual depends on


def slice_of(ude: Any, state: str | None = None, against: str | None = None) -> Data:
    """The learned part of one rate along one state, with its interval and the estimates of single windows."""
    record, physics = getattr(ude, "record_", None), ude.model_.physics
    if record is None or len(record["x"]) < 2:
        raise TinyUDEError("There is no record to plot; plots are available after fit().")
    for name in (state, against):
        if name is not None and name not in physics.states:
            raise TinyUDEError(f"{name!r} is not a state; the states are {', '.join(physics.states)}.")
    x, inputs = record["x"], inputs_at_windows(record, len(physics.inputs))
    learned = ude.residual(x, inputs)
    moving = [i for i in ude.model_.on if np.any(learned[:, i] != 0.0)] or list(ude.model_.on)
    index = moving[0] if state is None else physics.states.index(state)
    axis = strongest(x, learned[:, index]) if against is None else physics.states.index(against)
    line, held = line_through(x, axis, SLICE_POINTS), typical(inputs, SLICE_POINTS)
    curve = ude.residual(line, held)[:, index]
    if "left" in record:  # partial residuals: what a window says beyond the model, added to the curve there
        at, data = x[:, axis], record["left"][:, index] + np.interp(x[:, axis], line[:, axis], curve)
    else:
        at = data = np.zeros(0)  # no window sees all states
    part = {
        "state": physics.states[index],
        "against": physics.states[axis],
        "at": at,
        "data": data,
        "axis": line[:, axis],
        "learned": curve,
    }
    if hasattr(ude, "spread_") or ude.model_.covariance is not None:
        part["low"], part["high"] = (end[:, index] for end in ude.residual_interval(line, held))
    return part


def inputs_at_windows(record: Mapping[str, Any], count: int) -> Array | None:
    """The inputs at the window centres, or None for a system without."""
    if not count:
        return None
    if "window_u" in record:
        return np.asarray(record["window_u"])
    latest = np.searchsorted(record["t"], record["window_t"], side="right") - 1  # of an older file
    return np.asarray(record["u"])[np.maximum(latest, 0)]


def strongest(x: Array, values: Array) -> int:
    """The state that explains most of the values: largest variance of their means over slices of equal counts."""
    groups = min(BINS, len(x))
    means = [[float(part.mean()) for part in np.array_split(values[np.argsort(column)], groups)] for column in x.T]
    return int(np.argmax(np.var(means, axis=1)))


def line_through(x: Array, axis: int, points: int) -> Array:
    """States along one axis over its visited range, the others at their median."""
    line = np.tile(np.median(x, axis=0), (points, 1))
    low, high = np.quantile(x[:, axis], [0.005, 0.995])
    line[:, axis] = np.linspace(low, high, points)
    return line


def typical(inputs: Array | None, count: int) -> Array | None:
    return None if inputs is None else np.tile(np.median(inputs, axis=0), (count, 1))
