"""A record as local windows: samples repaired, noise estimated, angles carried, windows accepted or rejected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from tinyude.data.streams import Stream
from tinyude.errors import TinyUDEError
from tinyude.physics import Physics
from tinyude.physics.kinematics import measured_map
from tinyude.training.batch.carried_angle import carry_angles
from tinyude.training.batch.samples import Counts, SensorNoise, repaired, sensor_noise
from tinyude.training.batch.targets import Layout
from tinyude.training.batch.windows import HALVES, LONGEST, EqualWindows, local_windows

Array = NDArray[Any]


@dataclass(frozen=True)
class Observed:
    """Estimates from a record before any model is fitted.

    Attributes
    ----------
    layout : Layout
        Channels, derivatives and period.
    batches : list of EqualWindows
        The windows, longest first; empty if none fits into the record.
    lengths, starts, inputs : list
        Samples, first instant (seconds) and inputs of each run.
    sensors, noise : SensorNoise
        Of the sensors, and with angles carried by their rates.
    carried : tuple of int
        Channels whose angle was carried; `prior` is the prior of their remaining offset.
    counts : Counts
        Samples and rejections.
    """

    layout: Layout
    batches: list[EqualWindows]
    lengths: list[int]
    starts: list[float]
    inputs: list[Array]
    sensors: SensorNoise
    noise: SensorNoise
    carried: tuple[int, ...]
    prior: Array
    counts: Counts


def observe(
    physics: Physics,
    stream: Stream,
    measured: Sequence[str] | None,
    on: Sequence[int],
    window: float | None = None,
) -> Observed:
    """Windows of a record in memory; for a longer one, those of its longest run.

    Parameters
    ----------
    physics : Physics
        Defines the states, and which is the rate of which.
    stream : Stream
        The record.
    measured : sequence of str, optional
        The measured states, as for `UDE`.
    on : sequence of int
        Residual states: their equations are not known to be exact.
    window : float, optional
        Length of the longest window, seconds.
    """
    runs = stream.runs if isinstance(stream.runs, list) else [stream.longest]
    samples = [run.samples for run in runs]
    sensors = sensor_noise(samples, stream.steps)
    mended = [repaired(run, sensors.sigma) for run in samples]
    _, channel, order = measured_map(physics, measured)
    pairs = [  # measured states whose equation is known to be another measured state, with that state
        (i, j)
        for i, j in enumerate(physics.kinematic)
        if j is not None and j != i and i not in on and order[i] == order[j] == 0
    ]
    rates = {channel[i]: channel[j] for i, j in pairs}
    carried = carry_angles([run for run, _, _ in mended], sensors, rates, stream.period)
    longest = LONGEST if window is None else int(0.5 * window / stream.period + 1e-6)
    if longest < min(HALVES):
        raise TinyUDEError(
            f"window is {window:g} s, and the shortest window is {2 * min(HALVES)} sample periods: give "
            f"{2 * min(HALVES) * stream.period:g} s or more."
        )
    batches, rejected = local_windows(carried.runs, carried.noise, stream.period, longest)
    lengths = [len(run) for run in samples]
    by_rate = tuple((i, channel[j]) for i, j in pairs if channel[i] in carried.channels)
    return Observed(
        Layout(channel, order, stream.period, (*physics.states, *physics.inputs), by_rate),
        batches,
        lengths,
        [run.start for run in runs],
        [run.inputs for run in runs],
        sensors,
        carried.noise,
        carried.channels,
        block_diag(*carried.priors) if carried.priors else np.zeros((0, 0)),
        Counts(sum(lengths), sum(m[1] for m in mended), sum(m[2] for m in mended), rejected),
    )
