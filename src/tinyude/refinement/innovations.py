"""One-step innovations of a model on any runs, for verdicts and reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.model.model import Model
from tinyude.physics.holds import Hold
from tinyude.physics.kinematics import measured_map
from tinyude.refinement.filter import Noise
from tinyude.refinement.gating import GATE
from tinyude.refinement.hybrid import fixed_field
from tinyude.refinement.prepare import make_setup
from tinyude.refinement.records import Record, stretches_of
from tinyude.refinement.starts import Sensors, with_starts
from tinyude.refinement.stretches import batch_of

Array = NDArray[Any]


@dataclass(frozen=True)
class Innovations:
    """Measured minus predicted values, row by row.

    Attributes
    ----------
    times : array (rows,)
    run : array (rows,)
        The run of each row.
    values, variances : array (rows, channels)
        Innovation and its variance; NaN where a sample is missing, infinite variance where a row was
        rejected.
    states, state_variances : array (rows, states)
        After the row's correction.
    """

    times: Array
    run: Array
    values: Array
    variances: Array
    states: Array
    state_variances: Array


def innovations(
    model: Model,
    records: Record | Sequence[Record],
    sigma: Array | Sequence[float] | None = None,
    process_noise: float = 0.0,
    *,
    measured: Sequence[str] | None = None,
    holds: Sequence[Hold] = (),
    gate: float = GATE,
) -> Innovations:
    """Innovations of the extended Kalman filter with a fixed model.

    Parameters
    ----------
    model : Model
    records : Record or sequence of Record
        Runs at their true times.
    sigma : sequence of float, optional
        Standard deviation of each channel's noise; by default from the records themselves.
    process_noise : float
        Random-walk variance per second of the states with a learned residual, as a share of their mean squared rate.
    measured : sequence of str, optional
        The measured states, in the order of the channels; by default all.
    holds : sequence of Hold, optional
        What each input does between samples; by default it is held.
    gate : float
        Rows beyond this many standard deviations are rejected; 0: none.

    Returns
    -------
    Innovations
    """
    runs = [records] if isinstance(records, Record) else list(records)
    _, channel, order = measured_map(model.physics, measured)
    used = tuple(holds) or tuple(Hold() for _ in model.physics.inputs)
    setup = make_setup(model, runs, Sensors(channel, order, used))
    stretches = stretches_of(runs, used, model.physics.n_states)
    batch = batch_of(with_starts(stretches, setup.measurement))
    deviation = setup.measurement.sigma if sigma is None else np.asarray(sigma, dtype=np.float64)
    noise = Noise(deviation**2, process_noise * setup.rate**2)
    passed = setup.make(fixed_field(model), batch, setup.plan).run(np.zeros(0), noise, gate, False)
    run = np.concatenate([np.full(len(s), s.run) for s in stretches])
    return Innovations(batch.times, run, passed.innovations, passed.variances, passed.states, passed.state_variances)
