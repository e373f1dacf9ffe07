"""Estimates from several start values: with an unmeasured state, two parameter sets may explain a record equally well.

Of two tanks in series of which one is measured, the slow and the fast one can nearly be swapped. From wrong guesses the
filter then converges to the wrong set, with small errors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.stats import qmc

from tinyude.model.model import Model
from tinyude.refinement.budget import Budget
from tinyude.refinement.estimate import Setup, estimate, explained, record_score
from tinyude.refinement.hybrid import hybrid
from tinyude.refinement.prepare import affordable_rows
from tinyude.refinement.records import Record, stretches_of
from tinyude.refinement.starts import Sensors
from tinyude.refinement.thinning import reduced
from tinyude.refinement.unknowns import Unknowns

STARTS = 8  # in addition to the guesses
FACTOR = 3.0  # by which guesses may be off, up or down
PASSES = 25  # over the rows, for one start
SHARE = 0.1  # of the work, for each start


def likeliest_start(model: Model, records: Sequence[Record], sensors: Sensors, setup: Setup, budget: Budget) -> Model:
    """The model from the first start that explains the rows up to sensor noise, otherwise the most likely one."""
    own = hybrid(model)
    if not len(own.unknowns):
        return model
    rows = affordable_rows(setup, own.field, records, SHARE * budget.seconds, PASSES)
    stretches = reduced(stretches_of(records, sensors.holds, len(setup.rate)), rows, setup.plan.longest_step)
    best, score = None, -np.inf
    for start in _starts(own.unknowns):
        budget.grant(SHARE)
        found = estimate(setup, own.field, start, stretches)
        found_score = record_score(setup, found)
        if best is None or explained(found) or found_score > score:
            best, score = found, found_score
        if explained(found):
            break
    return model if best is None else own.moved(best.unknowns.values)


def _starts(unknowns: Unknowns) -> Iterator[Unknowns]:
    """The guesses; positive ones all times or over the factor; then spread evenly between; within bounds."""
    yield unknowns
    count = int(unknowns.positive.sum())
    if not count:
        return
    together = np.outer([-1.0, 1.0], np.ones(count))
    spread = 2.0 * qmc.Halton(count, scramble=False).random(STARTS - 1)[1:] - 1.0
    for powers in np.concatenate([together, spread]):
        values = unknowns.values.copy()
        values[unknowns.positive] *= FACTOR**powers
        yield unknowns.with_values(np.clip(values, unknowns.lower, unknowns.upper))
