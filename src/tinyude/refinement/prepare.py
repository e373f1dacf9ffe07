"""What all model structures share: noise, scales and step lengths of the records, computed once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.model.model import Model
from tinyude.refinement.budget import Budget, CountedFilter, row_seconds
from tinyude.refinement.compiled import make_filter
from tinyude.refinement.estimate import Setup
from tinyude.refinement.field import Field
from tinyude.refinement.filter import Plan
from tinyude.refinement.gauss_newton import Filter
from tinyude.refinement.hybrid import fixed_field
from tinyude.refinement.records import Record, rough_states, sensor_noise
from tinyude.refinement.starts import MeasurementModel, Sensors
from tinyude.refinement.stretches import Batch

Array = NDArray[Any]
STEP = 0.2  # of the field's fastest time scale: longest Runge-Kutta step (relative error of RK4: 3e-6)
MOST_STEPS = 4  # Runge-Kutta steps from row to row
LEAST_ROWS = 600
MOST_EVALUATED, MOST_LINEARISED = 2000, 200  # rows for the size of rates, and for time scales


def make_setup(model: Model, records: Sequence[Record], sensors: Sensors, budget: Budget | None = None) -> Setup:
    """Noise, scales and step lengths of the records; passes are charged to the budget."""
    sigma, floor = sensor_noise(records)
    states, inputs = _some_states(records, sensors)
    spread = np.where(model.x_scale > 0.0, model.x_scale, np.std(states, axis=0) + 1e-12)
    for state, (_, width) in sensors.guess.items():
        spread[state] = width
    states = np.clip(states, states.mean(axis=0) - 5.0 * spread, states.mean(axis=0) + 5.0 * spread)
    size, fastest = _rates(fixed_field(model), states, inputs, spread)
    rate = np.zeros(len(spread))
    rate[list(model.on)] = np.maximum(size, 1e-3 * spread)[list(model.on)]
    measurement = MeasurementModel(sensors, sigma, spread)
    shortest = min(float(np.median(np.diff(r.times))) for r in records) / MOST_STEPS
    plan = Plan(sensors.measured, max(STEP / max(fastest, 1e-12), shortest), 4.0 * spread**2)
    if budget is None:
        return Setup(measurement, plan, rate, floor**2, make_filter)
    allowed = budget

    def make(field: Field, batch: Batch, plan: Plan) -> Filter:
        return CountedFilter(make_filter(field, batch, plan), field, batch, plan, allowed)

    return Setup(measurement, plan, rate, floor**2, make, lambda: allowed.over, allowed.part)


def _some_states(records: Sequence[Record], sensors: Sensors) -> tuple[Array, Array]:
    """States and inputs spread over the records."""
    centres = {state: value for state, (value, _) in sensors.guess.items()}
    rough = [rough_states(r, sensors.channel, sensors.order, centres) for r in records]
    states, inputs = np.concatenate(rough), np.concatenate([r.inputs for r in records])
    thin = slice(None, None, max(1, len(states) // MOST_EVALUATED))
    return states[thin], inputs[thin]


def _rates(field: Field, states: Array, inputs: Array, spread: Array) -> tuple[Array, float]:
    """Typical size of each state's rate, and the fastest rate constant of the field."""
    nothing = np.zeros(0)
    with np.errstate(all="ignore"):
        rates = field.evaluate(states, inputs, nothing)
        good = np.flatnonzero(np.isfinite(rates).all(axis=1))
        some = good[:: max(1, len(good) // MOST_LINEARISED)]
        slopes = field.linearise(states[some], inputs[some], nothing)[1]
    slopes = slopes[np.isfinite(slopes).all(axis=(1, 2))]
    size = np.sqrt(np.mean(rates[good] ** 2, axis=0)) if len(good) else spread
    return size, float(np.median(np.abs(np.linalg.eigvals(slopes)).max(axis=1))) if len(slopes) else 1.0


def affordable_rows(setup: Setup, field: Field, records: Sequence[Record], seconds: float, passes: int) -> int:
    """Number of rows over which `passes` passes take no longer than `seconds`."""
    period = float(np.median(np.concatenate([np.diff(r.times) for r in records])))
    steps = max(1.0, period / setup.plan.longest_step)
    return max(LEAST_ROWS, int(seconds / (passes * steps * row_seconds(field))))
