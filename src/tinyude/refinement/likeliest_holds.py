"""What inputs do between samples, by the likelihood of the innovations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.model.model import Model
from tinyude.physics.holds import Hold
from tinyude.refinement.estimate import Setup
from tinyude.refinement.filter import Noise
from tinyude.refinement.gating import spread_over
from tinyude.refinement.gauss_newton import gauss_newton
from tinyude.refinement.hybrid import hybrid
from tinyude.refinement.noise import fit_noise
from tinyude.refinement.records import Record, stretches_of
from tinyude.refinement.refine import Sensors, affordable_rows, make_setup
from tinyude.refinement.starts import with_starts
from tinyude.refinement.stretches import batch_of

Array = NDArray[Any]
TRIED = (Hold(), Hold("linear"), Hold("cubic"), Hold("held", 1), Hold("held", -1))
ROWS = 4_000
SECONDS, PASSES = 0.5, 150  # of expected work, and passes over the rows that all holds together take
WORTH = 20.0  # log-likelihood by which another hold must be likelier than held inputs


def likeliest_holds(model: Model, records: Sequence[Record], sensors: Sensors) -> tuple[Hold, ...]:
    """The same hold for all inputs: held unless another is clearly likelier, ungated."""
    setup = make_setup(model, records, sensors)
    count = model.physics.n_inputs
    rows = min(ROWS, affordable_rows(setup, hybrid(model).field, records, SECONDS, PASSES))
    scores = [_likelihood(setup, model, records, replace(sensors, holds=(hold,) * count), rows) for hold in TRIED]
    best = int(np.argmax(scores))
    return (TRIED[best if scores[best] > scores[0] + WORTH else 0],) * count


def _likelihood(setup: Setup, model: Model, records: Sequence[Record], sensors: Sensors, rows: int) -> float:
    own = hybrid(model)
    stretches = spread_over(stretches_of(records, sensors.holds, model.physics.n_states), rows, 4)
    filter_ = setup.make(own.field, batch_of(with_starts(stretches, setup.sensing)), setup.plan)
    noise = Noise(setup.sensing.sigma**2, np.zeros(model.physics.n_states))
    noise, kappa, score = fit_noise(filter_, own.unknowns.values, noise, setup.rate, setup.floor)
    solution = gauss_newton(filter_, own.unknowns, noise, steps=4)
    _, _, refitted = fit_noise(filter_, solution.unknowns.values, noise, setup.rate, setup.floor, near=kappa)
    return max(score, refitted)
