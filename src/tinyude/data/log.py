"""One recording as it was logged: times, samples, inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True)
class Log:
    """Times in seconds, sensor samples (rows, channels), inputs (rows, inputs) or None for a system without."""

    t: Array
    Y: Array
    u: Array | None = None

    def between(self, start: float, stop: float) -> Log:
        """The rows from `start` up to, but not including, `stop`."""
        rows = (self.t >= start) & (self.t < stop)
        return Log(self.t[rows], self.Y[rows], None if self.u is None else self.u[rows])
