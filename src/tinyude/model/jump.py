"""Whether the dynamics jumped within a record: what is left unexplained then turns its sign at one time.

A fit over such a record averages. What it leaves follows a signal (what was learned, what is known, a state, or a
constant) by one factor before the jump and by another after it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.model.model import Model
from tinyude.model.windows import Windows

Array = NDArray[Any]

BLOCKS = 16  # of the record: a jump lies between two of them
LEAST = 3  # blocks on either side


@dataclass(frozen=True)
class Jump:
    """The likeliest jump of a state's rate.

    Attributes
    ----------
    state : str
    seconds : float
        When.
    strength : float
        The change of the factor, in standard errors by how it scatters between blocks on either side.
    explained : float
        Share of the squared remainder beyond noise that the two factors explain.
    ratio : float
        RMS of the signal after, over that before: far from 1 where another region was visited.
    """

    state: str
    seconds: float
    strength: float
    explained: float
    ratio: float


def jumps(model: Model, seen: Windows, left: Array) -> list[Jump]:
    """For each residual state the jump that explains most; none where the record has too few windows."""
    if len(seen) < 4 * BLOCKS:
        return []
    known = seen.view(np.asarray(model.physics.field(seen.node_x, seen.inputs)))
    learned = seen.view(model.residual(seen.node_x, seen.inputs))
    places = np.linspace(0, len(seen), BLOCKS + 1).astype(int)[:-1]
    found = []
    for i in model.on:
        floor = seen.floor[:, i] + 1e-12 * float(np.max(np.abs(seen.dx[:, i])) + 1e-300)
        signals = np.column_stack([np.ones(len(seen)), learned[:, i], known[:, i], seen.x]) / floor[:, None]
        rest = left[:, i] / floor
        cross, square = (np.add.reduceat(values, places, axis=0) for values in (signals * rest[:, None], signals**2))
        excess = max(float(rest @ rest) - len(seen), 1e-12)
        able = [j for j in range(signals.shape[1]) if np.all(square[:, j] > 0.0)]
        splits = [(*_split(cross[:, j], square[:, j], k), k) for j in able for k in range(LEAST, BLOCKS - LEAST + 1)]
        if splits:
            gain, strength, ratio, k = max(splits)
            found.append(Jump(model.physics.states[i], float(seen.times[places[k]]), strength, gain / excess, ratio))
    return found


def _split(cross: Array, square: Array, k: int) -> tuple[float, float, float]:
    """Squared remainder that one factor before block k and another after it explain, its strength, and the ratio."""
    factor = cross / square
    gain, scatter, error, means = 0.0, 0.0, 0.0, []
    for side in (slice(k), slice(k, None)):
        total = float(square[side].sum())
        mean = float(cross[side].sum()) / total
        gain += mean * mean * total
        scatter += float(square[side] @ (factor[side] - mean) ** 2)
        error += 1.0 / total
        means.append(mean)
    deviation = np.sqrt(max(scatter / (len(square) - 2), 1.0) * error)
    ratio = np.sqrt(square[k:].mean() / square[:k].mean())
    return gain, abs(means[1] - means[0]) / float(deviation), float(ratio)
