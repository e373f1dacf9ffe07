"""Measured runs at their true times, cut at gaps, and estimates from them before any fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.data.grid import GAP
from tinyude.data.resolution import quantisation_steps
from tinyude.data.streams import Stream
from tinyude.physics.holds import Hold, interval_coefficients
from tinyude.reference.numeric.statistics import MEDIAN
from tinyude.reference.signal.noise import RELATIVE_FLOOR
from tinyude.refinement.stretches import Stretch

Array = NDArray[Any]
FOURTH = np.array([1.0, -4.0, 6.0, -4.0, 1.0]) / np.sqrt(70.0)  # a difference that keeps noise and removes motion
SATURATED = 3  # consecutive samples at the extreme value of a channel
COARSE = 0.2  # share of samples that repeat the one before


@dataclass(frozen=True)
class Record:
    """One run as it was measured: times (rows,), samples (rows, channels), inputs (rows, inputs)."""

    times: Array
    samples: Array
    inputs: Array


def records_of(stream: Stream) -> list[Record]:
    """The runs of a stream as they were measured: true time stamps, no row moved to a grid."""
    records = []
    for source in stream.sources:
        pieces = list(source.pieces())
        samples = np.concatenate([piece.samples for piece in pieces])
        inputs = np.concatenate([piece.inputs for piece in pieces])
        if source.stamps is None:
            times = source.period * np.arange(len(samples))
        else:
            times = np.concatenate([piece.stamps for piece in pieces if piece.stamps is not None])
        latest = np.maximum.accumulate(np.concatenate([[-np.inf], np.where(np.isfinite(times), times, -np.inf)]))[:-1]
        keep = np.isfinite(times) & (times > latest)
        records.append(Record(times[keep], samples[keep], inputs[keep]))
    return records


def without_saturation(records: Sequence[Record]) -> list[Record]:
    """Removes consecutive samples at a channel's extreme value: a saturated sensor measures nothing."""
    made = []
    everything = np.concatenate([r.samples for r in records])
    ends = np.nanmin(everything, axis=0), np.nanmax(everything, axis=0)
    for record in records:
        samples = record.samples.copy()
        for column, low, high in zip(samples.T, *ends, strict=True):
            for end in (low, high):
                flat = column == end
                begins = np.flatnonzero(np.diff(np.concatenate([[False], flat, [False]]).astype(np.int8)))
                for a, b in zip(begins[::2], begins[1::2], strict=True):
                    if b - a >= SATURATED and not _coarse(column):
                        column[a:b] = np.nan
        made.append(Record(record.times, samples, record.inputs))
    return made


def _coarse(column: Array) -> bool:
    """Whether values repeat so often (a coarse sensor, a machine at rest) that a flat extreme is not saturation."""
    steps = np.diff(column[np.isfinite(column)])
    return bool(np.mean(steps == 0.0) > COARSE)


def stretches_of(records: Sequence[Record], holds: Sequence[Hold], states: int, shortest: int = 12) -> list[Stretch]:
    """Stretches without a gap; their start states are estimated later."""
    made = []
    for number, record in enumerate(records):
        steps = np.diff(record.times)
        breaks = np.flatnonzero(steps > GAP * (np.median(steps) if len(steps) else 0.0)) + 1
        for rows in np.split(np.arange(len(record.times)), breaks):
            if len(rows) >= shortest and np.isfinite(record.samples[rows]).any():
                times = np.ascontiguousarray(record.times[rows])
                inputs = interval_coefficients(times, record.inputs[rows], holds)
                empty = np.zeros(states)
                made.append(Stretch(times, record.samples[rows], inputs, empty, empty, number, int(rows[0])))
    return made


def sensor_noise(records: Sequence[Record]) -> tuple[Array, Array]:
    """Standard deviation of each channel's noise, from fourth differences, and its lower limit."""
    leftover = [np.apply_along_axis(np.convolve, 0, r.samples, FOURTH, "valid") for r in records if len(r.times) > 5]
    everything = np.concatenate([r.samples for r in records])
    power = np.sqrt(np.nanmean(everything**2, axis=0))
    step = quantisation_steps([r.samples for r in records])
    floor = np.maximum(np.where(np.isfinite(step), step, 0.0) / np.sqrt(12.0), RELATIVE_FLOOR * power) + 1e-30
    if not leftover:
        return floor, floor
    sigma = MEDIAN * np.nanmedian(np.abs(np.concatenate(leftover)), axis=0)
    return np.maximum(np.nan_to_num(sigma), floor), floor


def rough_states(record: Record, channel: Sequence[int], order: Sequence[int], guess: dict[int, float]) -> Array:
    """States by finite differences (rows, states): accurate enough for scales only."""
    columns = []
    for state, (c, k) in enumerate(zip(channel, order, strict=True)):
        if c < 0:
            columns.append(np.full(len(record.times), guess[state]))
            continue
        column = _filled(record.samples[:, c])
        for _ in range(k):
            column = np.gradient(column, record.times)
        columns.append(column)
    return np.stack(columns, axis=-1)


def _filled(column: Array) -> Array:
    good = np.isfinite(column)
    if good.all() or not good.any():
        return np.where(good, column, 0.0)
    places = np.arange(len(column))
    return np.interp(places, places[good], column[good])
