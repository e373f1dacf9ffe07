"""Figures of a fit that are computed from its windows."""

from types import SimpleNamespace
from typing import Any

import numpy as np

import tinyude as tu
from tinyude.model.diagnostics import visited_range


class Seen:
    """Windows, by their states and inputs alone."""

    def __init__(self, x: np.ndarray, u: np.ndarray) -> None:
        self.x, self.u = x, u

    def __len__(self) -> int:
        return len(self.x)


def test_visited_range_is_the_least_and_the_greatest_value_of_every_state_and_input() -> None:
    model: Any = SimpleNamespace(physics=tu.Physics(["a", "b"], ["b", "u"], ["u"]))
    seen: Any = Seen(np.array([[1.0, -4.0], [3.0, -2.0], [2.0, -9.0]]), np.array([[0.5], [0.25], [0.75]]))
    assert visited_range(model, seen) == {"a": (1.0, 3.0), "b": (-9.0, -2.0), "u": (0.25, 0.75)}
    nothing: Any = Seen(np.zeros((0, 2)), np.zeros((0, 1)))
    assert visited_range(model, nothing) == {"a": (0.0, 0.0), "b": (0.0, 0.0), "u": (0.0, 0.0)}
