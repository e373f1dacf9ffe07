"""Records that windows cannot be fitted to, because a state is unmeasured: refinement starts from the physics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.data.streams import Stream
from tinyude.model.model import Model
from tinyude.physics import Physics
from tinyude.physics.kinematics import measured_map
from tinyude.refinement.records import records_of, rough_states

Array = NDArray[Any]


def bare_model(
    physics: Physics, stream: Stream, measured: Sequence[str] | None, unmeasured: Mapping[str, tuple[float, float]],
    on: tuple[int, ...], sees: tuple[int, ...],
) -> Model:  # fmt: skip
    """The known physics as a model without learned parts, with scales from the record or from guess and spread."""
    _, channel, order = measured_map(physics, measured, unmeasured)
    guess = {physics.states.index(name): value for name, (value, _) in unmeasured.items()}
    records = records_of(stream)
    states = np.concatenate([rough_states(record, channel, order, guess) for record in records])
    inputs = np.concatenate([record.inputs for record in records])
    width = np.zeros(physics.n_states)
    width[list(guess)] = [spread for _, spread in unmeasured.values()]
    x_scale = np.sqrt(np.mean(states**2, axis=0) + width**2) + 1e-12
    learned = len(physics.learned)
    return Model(
        physics=physics, on=on, sees=sees, hidden=(), weights=np.zeros(0), network_on=np.zeros(len(on)),
        x_scale=x_scale, u_scale=np.sqrt(np.mean(inputs**2, axis=0)) + 1e-12, dx_scale=np.ones(len(x_scale)),
        terms=(), coefficients=np.zeros((len(on), 0)), errors=np.zeros((len(on), 0)),
        parameter_errors=np.zeros(learned),
    )  # fmt: skip


def hidden_figures(stream: Stream, values: Array, inputs: Array, physics: Physics) -> dict[str, Any]:
    """Diagnostics of a fit without windows, under the same names."""
    columns = np.hstack([values, inputs])
    names = (*physics.states, *physics.inputs)
    return {
        "samples": stream.count,
        "window": {"half_width_samples": 0, "half_width_seconds": 0.0, "samples": 0, "spacing": 1, "order": 0},
        **dict.fromkeys(("windows", "accepted", "filled", "outliers", "updates", "rolled_back", "recalibrations"), 0),
        **dict.fromkeys(("static_bytes", "chip_bytes"), 0),
        "rejected": {},
        "memory": {},
        "not_finite": stream.bad,
        "repeated_times": stream.repeated,
        "jitter": stream.jitter,
        "second_order": 0.0,
        "snr2": 0.0,
        "changes": [],
        "warnings": [],
        "visited": {n: (float(c.min()), float(c.max())) for n, c in zip(names, columns.T, strict=True)},
    }
