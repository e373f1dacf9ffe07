"""What a parity case is: one computation by the core, in either precision, and by the reference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from compiled_core import Array, Core

Outcome = dict[str, Any]
Reference = Callable[[], Outcome]
CASES: dict[str, tuple[Callable[[Core], Outcome], Reference]] = {}
SEED = 11


def case(name: str, native: Callable[[Core], Outcome]) -> Callable[[Reference], Reference]:
    """Makes the decorated function and the core's a case."""

    def register(reference: Reference) -> Reference:
        CASES[name] = (native, reference)
        return reference

    return register


def exact(values: Array) -> Array:
    """The nearest numbers that float32 holds: the same input for all."""
    return values.astype(np.float32).astype(np.float64)


def error(got: Outcome, expected: Outcome) -> float:
    """The largest difference, relative to the largest number of its array."""
    assert got.keys() == expected.keys()
    worst = 0.0
    for name, values in expected.items():
        exactly, near = np.asarray(values, np.float64), np.asarray(got[name], np.float64)
        missing = np.isnan(exactly)
        assert near.shape == exactly.shape and np.array_equal(np.isnan(near), missing), name
        size = np.abs(exactly[~missing]).max(initial=1e-30)
        worst = max(worst, float(np.abs(near - exactly)[~missing].max(initial=0.0) / size))
    return worst
