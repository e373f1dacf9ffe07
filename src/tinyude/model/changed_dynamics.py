"""Whether the dynamics changed within a record: the unexplained remainder then changes its sign at one time.

A fit over such a record averages, or explains the change by the states visited before and after it. A signal
(the learned part, the known part, a state or its sign, an input, a constant) then has one factor before the change
and another after it, which explains more than any single set of factors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.model.model import Model
from tinyude.model.windows import Windows

Array = NDArray[Any]

BLOCKS = 16  # of the record: the change lies between two of them
LEAST = 3  # blocks on either side
DEPENDENT = 1e-6  # of the largest singular value, and of a signal's square: dependent on the others


@dataclass(frozen=True)
class DynamicsChange:
    """The most likely change of a state's dynamics.

    Attributes
    ----------
    state : str
    seconds : float
        Time of the change.
    strength : float
        The change of the factor, in standard errors from the scatter of its score between blocks.
    explained : float
        Share of the squared remainder beyond noise that the change explains.
    ratio : float
        RMS of the signal after the change over that before: far from 1 if another region was visited.
    """

    state: str
    seconds: float
    strength: float
    explained: float
    ratio: float


def dynamics_changes(model: Model, seen: Windows) -> list[DynamicsChange]:
    """For each residual state the change that explains most; none if the record has too few windows."""
    if len(seen) < 4 * BLOCKS:
        return []
    found = (_change(model, seen, i) for i in model.on)
    return [change for change in found if change is not None]


def _change(model: Model, seen: Windows, state: int) -> DynamicsChange | None:
    """The signal whose factor changes at one time: least squares over all signals, the others with constant factors.

    The learned part is one of them. It may have absorbed part of the change by the states visited before and after.
    """
    floor = seen.floor[:, state] + 1e-12 * float(np.max(np.abs(seen.dx[:, state])) + 1e-300)
    signals = _signals(model, seen, state) / floor[:, None]
    size = np.linalg.norm(signals, axis=0)
    signals = signals[:, size > 0.0] / size[size > 0.0]
    basis, values, _ = np.linalg.svd(signals, full_matrices=False)
    basis = basis[:, values > DEPENDENT * values[0]]
    known = seen.view(np.asarray(model.physics.stated.field(seen.node_x, seen.inputs)))[:, state]
    rest = _beside(basis, (seen.dx[:, state] - known) / floor)
    places = np.linspace(0, len(seen), BLOCKS + 1).astype(int)[:-1]
    best: tuple[float, DynamicsChange | None] = (0.0, None)
    for place in places[LEAST : BLOCKS - LEAST + 1]:
        after = np.where(np.arange(len(seen))[:, None] >= place, signals, 0.0)
        own = _beside(basis, after)  # the new part from the change of a factor
        power = np.sum(own**2, axis=0)
        gains = np.where(power > DEPENDENT, (rest @ own) ** 2 / np.maximum(power, DEPENDENT), 0.0)
        j = int(np.argmax(gains))
        if gains[j] > best[0]:
            change = float(rest @ own[:, j] / power[j])
            scores = np.add.reduceat(own[:, j] * (rest - change * own[:, j]), places)
            strength = abs(change) * float(power[j] / (np.linalg.norm(scores) + 1e-300))
            excess = max(float(rest @ rest) - len(seen), 1e-12)
            later = float(np.mean(after[place:, j] ** 2) / max(np.mean(signals[:place, j] ** 2), 1e-300))
            name, time = model.physics.states[state], float(seen.times[place])
            best = (
                float(gains[j]),
                DynamicsChange(name, time, strength, float(gains[j]) / excess, float(np.sqrt(later))),
            )
    return best[1]


def _signals(model: Model, seen: Windows, state: int) -> Array:
    """Signals that a rate may depend on (windows, signals)."""
    x, inputs = seen.node_x, seen.inputs
    rates = [f(x, inputs)[:, [state]] for f in (model.residual, model.physics.stated.field)]
    constant = np.ones((len(x), 1))
    return seen.seen(np.concatenate([constant, *map(np.asarray, rates), x, np.sign(x), seen.node_u], axis=1), state)


def _beside(basis: Array, values: Array) -> Array:
    """The part of the values outside the span of an orthonormal basis."""
    return np.asarray(values - basis @ (basis.T @ values))
