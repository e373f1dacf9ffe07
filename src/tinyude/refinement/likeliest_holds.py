"""What inputs do between samples, by the likelihood of the innovations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tinyude.model.model import Model
from tinyude.physics.holds import CLEARLY_LIKELIER, KINDS, Hold
from tinyude.refinement.estimate import Setup
from tinyude.refinement.filter import Noise
from tinyude.refinement.gating import spread_over
from tinyude.refinement.gauss_newton import Filter, gauss_newton
from tinyude.refinement.hybrid import Hybrid, hybrid
from tinyude.refinement.noise import GRID, fit_noise
from tinyude.refinement.prepare import affordable_rows
from tinyude.refinement.records import Record, stretches_of
from tinyude.refinement.starts import with_starts
from tinyude.refinement.stretches import batch_of

Array = NDArray[Any]
TRIED = tuple(Hold(kind, shift) for kind in KINDS for shift in (0, 1, -1))  # first: held, not shifted
REFITTED = 4  # of the others, the most likely
ROWS = 4_000
PASSES = 150  # over the rows, for all holds together


def likeliest_holds(model: Model, records: Sequence[Record], setup: Setup, seconds: float) -> tuple[Hold, ...]:
    """One hold for all inputs: held unless another is clearly more likely, without a gate.

    The values were fitted under one hold, so each hold is judged with its own values and noise, while the work lasts:
    held inputs first, then those that are most likely with the current values, under the noise of held inputs.
    The number of rows follows from the seconds of expected work.
    """
    own = hybrid(model)
    count, states = model.physics.n_inputs, model.physics.n_states
    rows = min(ROWS, affordable_rows(setup, own.field, records, seconds, PASSES))
    start = Noise(setup.measurement.sigma**2, np.zeros(states))
    fits: list[_Fit] = []
    for hold in TRIED:
        stretches = spread_over(stretches_of(records, (hold,) * count, states), rows, 4)
        filter_ = setup.make(own.field, batch_of(with_starts(stretches, setup.measurement)), setup.plan)
        grid, start = ((fits[0].kappa,), fits[0].noise) if fits else (GRID, start)
        fits.append(_Fit(filter_, *_likeliest_noise(setup, filter_, own.unknowns.values, start, grid)))
    likely = sorted(range(1, len(TRIED)), key=lambda k: -fits[k].score)[:REFITTED]
    scores = {k: _refitted(setup, own, fits[k]) for k in (0, *likely)}
    other = max(likely, key=lambda k: scores[k])
    return (TRIED[other if scores[other] > scores[0] + CLEARLY_LIKELIER else 0],) * count


class _Fit(NamedTuple):
    """The most likely noise under one hold."""

    filter_: Filter
    noise: Noise
    kappa: float
    score: float


def _refitted(setup: Setup, own: Hybrid, fit: _Fit) -> float:
    """Log-likelihood with values and noise refitted under this hold, while the work lasts."""
    found = gauss_newton(fit.filter_, own.unknowns, fit.noise, steps=4, spent=setup.spent)
    _, _, score = _likeliest_noise(setup, fit.filter_, found.unknowns.values, fit.noise, GRID, fit.kappa)
    return max(fit.score, score)


def _likeliest_noise(
    setup: Setup, filter_: Filter, values: Array, start: Noise, grid: Sequence[float], near: float | None = None
) -> tuple[Noise, float, float]:
    return fit_noise(filter_, values, start, setup.rate, setup.floor, grid=grid, near=near, spent=setup.spent)
