"""Judges the streaming learner's perceptron by models that were learned without the held-back blocks.

Of other candidates the influence of a block is removed by a step of Gauss-Newton. That reaches the last layer of a
perceptron only: its first layers were trained on the block too, and reproduce what a hand or a shaking floor did there.
Learning several times takes long, so only a perceptron that would be kept is judged like this.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.data.left_out import Span
from tinyude.model.model import Model
from tinyude.refinement.estimate import Setup
from tinyude.refinement.guard import HeldBack, errors_of_runs
from tinyude.refinement.structures import as_it_is

Array = NDArray[Any]
Streamed = Callable[[Sequence[Span]], Model | None]
TIMES = 3  # that the learner learns again, at most: folds are left out together


def errors_learned_again(setup: Setup, streamed: Streamed, parts: HeldBack) -> Array:
    """The error of each free run by a model learned without its block; 1 if none could be learned."""
    errors = np.ones(len(parts.runs))
    groups = np.unique(parts.fold, return_inverse=True)[1] % TIMES
    for group in np.unique(groups):
        inside = groups == group
        left_out = [
            Span(block.run, float(block.times[0]), float(block.times[-1]))
            for block, own in zip(parts.blocks, inside, strict=True)
            if own
        ]
        model = streamed(left_out)
        if model is not None:
            own = [k for k, run in enumerate(parts.runs) if inside[run.block]]
            errors[own] = errors_of_runs(setup, as_it_is(model).field, np.zeros(0), parts, own)
    return errors
