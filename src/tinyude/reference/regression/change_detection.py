"""Has the plant changed, or is this a region that was never seen? Windows in store that saw the same state can tell."""

from __future__ import annotations

import numpy as np

from tinyude.reference.network.reservoir import reservoir_count
from tinyude.reference.regression.library import library_compare
from tinyude.reference.state import Array, Learner

NEAR = 0.15  # distance, in scales and per state or input, at which two windows saw the same


def trial_compare(learner: Learner, entry: Array, design: Array, target: Array) -> bool:
    """A window of a trial against the nearest state in store, by what the library leaves. False: none is near."""
    config = learner.config
    columns = config.states + config.inputs
    stored = learner.reservoir.entries[: reservoir_count(learner.reservoir)]
    first, rest = config.network_nodes // 2 * columns, config.network_nodes * columns  # the middle node; what is left
    distances = ((stored[:, first : first + columns] - entry[first : first + columns]) ** 2).sum(axis=1)
    nearest = int(np.argmin(distances)) if len(stored) else -1
    if nearest < 0 or distances[nearest] >= NEAR**2 * columns:
        library_compare(learner.library, design, target, None)
        return False
    difference = (entry - stored[nearest])[rest : rest + len(config.on)]
    library_compare(learner.library, design, target, difference)
    return True
