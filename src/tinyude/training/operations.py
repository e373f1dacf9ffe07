"""The interface of a learner: its operations, written once for both engines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tinyude.reference.start import StartModel

Array = NDArray[Any]
START_REJECTED = (
    "A model with a window of half width {0.window_half} x {0.window_spacing} does not fit this configuration, or "
    "holds numbers that are not finite; give one with the same physics and max_half at least as long."
)


class Engine(ABC):
    """A learner as the estimator uses it; `core/include/tinyude.h` documents each call.

    An engine supplies `call`, which runs the operation `tu_learner_<name>` or its twin `learner_<name>`, and how rows
    and states go in and out.
    """

    @abstractmethod
    def call(self, name: str, *arguments: Any) -> Any: ...

    @abstractmethod
    def start(self, model: StartModel) -> None:
        """Start from a fitted model, before the first sample."""

    @abstractmethod
    def push(self, rows: ArrayLike) -> None: ...

    @abstractmethod
    def residual(self, x: ArrayLike, u: ArrayLike | None = None) -> NDArray[np.float64]: ...

    @abstractmethod
    def set_network(self, weights: ArrayLike, rate: float) -> bool: ...

    @abstractmethod
    def take_losses(self) -> tuple[float, int]:
        """Sum and number of the losses since the last call."""

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """Copies of the fields of tu_view in tinyude.h, by name."""

    def gap(self) -> None:
        self.call("gap")

    def rewind(self) -> None:
        self.call("rewind")

    def end_calibration(self) -> None:
        self.call("end_calibration")

    def step(self, count: int = 1) -> None:
        self.call("step", count)

    def solve(self) -> None:
        self.call("solve")

    def updates_left(self) -> int:
        return int(self.call("updates_left"))

    def judge(self) -> None:
        self.call("judge")

    def conclude(self) -> None:
        self.call("conclude")

    def finish(self) -> None:
        self.call("finish")
