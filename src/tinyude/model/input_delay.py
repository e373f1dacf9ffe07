"""By how many samples an input acts later than it was logged, as far as the known physics can tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.model.hypotheses import known_rates, squares
from tinyude.model.windows import Windows
from tinyude.physics import Physics

Array = NDArray[Any]
TRIED = range(-10, 51)  # samples
NOTICEABLE = 0.2  # correlation of innovations with an input, or of what is left with its slope
CLEARLY = 0.97  # of the mean square that the known physics leaves without a delay


def input_delay(physics: Physics, seen: Windows, name: str, on: Sequence[int]) -> int:
    """Samples by which the input must be moved for the known rates of these states to fit best.

    0 where moving it does not help clearly, or helps more the farther. Positive: it acts later than logged.
    """
    index, states = physics.inputs.index(name), list(on)
    left = {}
    for samples in TRIED:
        nodes = seen.node_u.copy()
        nodes[:, index] += (_moved(seen, index, samples) - seen.u[:, index])[seen.owner]
        with np.errstate(all="ignore"):
            rest = seen.dx - seen.view(known_rates(physics, seen.node_x, nodes))
        left[samples] = squares(seen, rest)[states].sum()
    best = min(left, key=lambda samples: left[samples])
    inside = TRIED[0] < best < TRIED[-1]
    return best if inside and left[best] < CLEARLY * left[0] else 0


def _moved(seen: Windows, index: int, samples: int) -> Array:
    """The input at each window's centre, so many samples before."""
    values = np.empty(len(seen))
    for run in np.unique(seen.run):
        own = np.flatnonzero(seen.run == run)
        order = own[np.argsort(seen.centre[own], kind="stable")]
        values[own] = np.interp(seen.centre[own] - samples, seen.centre[order], seen.u[order, index])
    return values
