"""A recorded log as the signals of a model: which column is what, and the state at a moment of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import NDArray

from tinyude.errors import TinyUDEError
from tinyude.presets import measured_map
from tinyude.tables import read_table

Array = NDArray[np.float64]

DEGREE = 4  # of the polynomial through the samples around a moment


@dataclass(frozen=True)
class Columns:
    """How a log holds the signals of a model; a physics file has the same fields."""

    time: str | float  # the column of the time stamps, or the sample period in seconds
    measured: Mapping[str, str]  # state -> column
    inputs: Mapping[str, str] = field(default_factory=dict)
    wrapped: tuple[str, ...] = ()  # measured angles that jump by a turn

    @classmethod
    def of(cls, source: Any) -> Columns:
        """Those of a PhysicsFile, or of a dictionary that came out of a model file."""
        fields = source if isinstance(source, Mapping) else vars(source)
        return cls(fields["time"], dict(fields["measured"]), dict(fields["inputs"]), tuple(fields["wrapped"]))

    def to_dict(self) -> dict[str, Any]:
        return {
            "time": self.time,
            "measured": dict(self.measured),
            "inputs": dict(self.inputs),
            "wrapped": list(self.wrapped),
        }


@dataclass(frozen=True)
class Log:
    """Samples with their times; inputs are None for a system without."""

    t: Array
    Y: Array
    u: Array | None


def read_log(path: str | Path, columns: Columns) -> Log:
    """The signals of a log file, angles that wrap unwrapped."""
    stamps = [columns.time] if isinstance(columns.time, str) else []
    table = read_table(path, [*stamps, *columns.measured.values(), *columns.inputs.values()])
    measured = [
        _unwrapped(table[column]) if state in columns.wrapped else table[column]
        for state, column in columns.measured.items()
    ]
    Y = np.column_stack(measured)
    t: Array = (
        table[columns.time] if isinstance(columns.time, str) else columns.time * np.arange(len(Y), dtype=np.float64)
    )
    u = np.column_stack([table[column] for column in columns.inputs.values()]) if columns.inputs else None
    return Log(t, Y, u)


def _unwrapped(angle: Array) -> Array:
    result = angle.copy()
    good = np.isfinite(angle)
    result[good] = np.unwrap(angle[good])
    return result


def state_at(ude: Any, log: Log, time: float) -> Array:
    """The full state at a moment of the log, by the polynomial through the samples of one window around it."""
    first, last = float(log.t[0]), float(log.t[-1])
    if not first <= time <= last:
        raise TinyUDEError(f"{time:g} s is outside the log, which runs from {first:g} s to {last:g} s.")
    half = float(ude.diagnostics_["window"]["half_width_seconds"])
    centre = min(max(time, first + half), max(last - half, first))
    near = np.abs(log.t - centre) <= half * (1.0 + 1e-9)
    _, channel, order = measured_map(ude.physics, ude.measured)
    fits = []
    for name, samples in zip(ude.measured or ude.physics.states, log.Y[near].T, strict=True):
        good = np.isfinite(samples)
        if np.count_nonzero(good) <= DEGREE + 1:
            raise TinyUDEError(f"There are too few samples of {name} around {time:g} s; choose another moment.")
        fits.append(Polynomial.fit(log.t[near][good], samples[good], DEGREE))
    return np.array([fits[c].deriv(k)(time) if k else fits[c](time) for c, k in zip(channel, order, strict=True)])
