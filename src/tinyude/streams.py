"""Recorded data at the edge: validated once, laid on a regular grid, split where it has holes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.signal import savgol_filter

from tinyude.errors import TinyUDEError

Array = NDArray[Any]

SHORTEST = 64  # samples
HOLE = 4.5  # periods without a sample that end a run
SINGLE = 1.75  # usual steps: a longer one has lost a sample
JITTER = 0.02  # of a period: below it time stamps count as regular
MOSTLY_BAD = 0.2  # share of non-finite values that no repair can answer for


@dataclass
class Run:
    """One uninterrupted stretch: rows a sample period apart, missing ones as NaN."""

    start: float
    samples: Array  # (rows, channels)
    inputs: Array  # (rows, inputs)

    @property
    def rows(self) -> Array:
        """Channels and inputs side by side, as the learner takes them."""
        return np.ascontiguousarray(np.hstack([self.samples, self.inputs]))


@dataclass
class Stream:
    period: float
    runs: list[Run]
    repeated: int = 0  # time stamps seen before
    missing: int = 0  # rows filled in as NaN
    jitter: float = 0.0  # RMS of time stamps around the grid, in periods
    bad: int = 0  # non-finite values given
    names: tuple[str, ...] = field(default=())

    @property
    def count(self) -> int:
        return sum(len(run.samples) for run in self.runs)


def as_stream(
    Y: Any, t: Any, u: Any, channels: Sequence[str], inputs: Sequence[str], shortest: int | None = None
) -> Stream:
    """One record or a list of them, with a sample period or time stamps, as a Stream."""
    several = isinstance(Y, list | tuple) and len(Y) > 0 and np.ndim(Y[0]) >= 1
    records = list(Y) if several else [Y]
    times = list(t) if several and isinstance(t, list | tuple) else [t] * len(records)
    controls = list(u) if several and isinstance(u, list | tuple) else [u] * len(records)
    if not len(records) == len(times) == len(controls):
        raise TinyUDEError(
            f"{len(records)} runs, {len(times)} time vectors, {len(controls)} inputs; give one of each for every run."
        )
    stream = Stream(0.0, [], names=tuple(channels))
    for record, time, control in zip(records, times, controls, strict=True):
        samples = _table(record, channels, "Y", "measured state", shortest)
        held = _table(control, inputs, "u", "input", shortest) if inputs else np.empty((len(samples), 0))
        if not inputs and control is not None:
            raise TinyUDEError("u was given, but this physics has no inputs; name them in Physics(inputs=...).")
        if len(held) != len(samples):
            raise TinyUDEError(f"u has {len(held)} rows and Y has {len(samples)}; they must be sampled together.")
        stream.bad += int(np.sum(~np.isfinite(samples)))
        _add_record(stream, samples, held, time)
    if shortest is None:  # a stretch of a live stream may well stand still
        _check(stream)
    return stream


def _table(values: Any, names: Sequence[str], what: str, kind: str, shortest: int | None) -> Array:
    """An array with one column for each name; a dataframe's columns are found by name."""
    if values is None:
        raise TinyUDEError(f"{what} is missing; this physics has the {kind}s {', '.join(names)}.")
    if hasattr(values, "columns") and all(name in list(values.columns) for name in names):
        values = np.column_stack([np.asarray(values[name]) for name in names])
    try:
        table = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TinyUDEError(f"{what} cannot be read as numbers ({error}); give a numeric array.") from None
    if table.ndim == 1:
        table = table[:, None]
    if table.ndim != 2 or table.shape[1] != len(names):
        raise TinyUDEError(
            f"{what} has shape {np.shape(values)}; it needs one column for each {kind}: {', '.join(names)}."
            + (" Tell which states are sensed with measured=[...]." if kind == "measured state" else "")
        )
    least = SHORTEST if shortest is None else shortest
    if len(table) < least:
        raise TinyUDEError(f"{what} has {len(table)} samples; at least {least} are needed.")
    return table


def _add_record(stream: Stream, samples: Array, held: Array, time: Any) -> None:
    if np.ndim(time) == 0:
        period = _period(time)
        _agree(stream, period)
        stream.runs.append(Run(0.0, samples, held))
        return
    stamps = _stamps(time)
    if stamps.shape != (len(samples),):
        raise TinyUDEError(f"t has shape {stamps.shape} and Y has {len(samples)} rows; give one time for each row.")
    if not np.all(np.isfinite(stamps)):
        raise TinyUDEError("t holds non-finite times; drop those rows.")
    steps = np.diff(stamps)
    if np.any(steps < 0.0):
        row = int(np.argmax(steps < 0.0)) + 1
        raise TinyUDEError(
            f"t goes backwards at row {row} ({stamps[row - 1]:g} then {stamps[row]:g}); sort the rows, "
            "or give separate runs as a list."
        )
    fresh = np.concatenate([[True], steps > 0.0])
    stream.repeated += int(np.sum(~fresh))
    samples, held, stamps = samples[fresh], held[fresh], stamps[fresh]
    if len(stamps) < SHORTEST:
        raise TinyUDEError(f"t has {len(stamps)} distinct times; at least {SHORTEST} are needed.")
    steps = np.diff(stamps)
    usual = float(np.median(steps))
    near = steps < HOLE * usual
    parts = np.split(np.arange(len(stamps)), np.flatnonzero(~near) + 1)
    start = float(steps[steps < SINGLE * usual].mean())
    _agree(stream, _period(_grid_period(stamps[max(parts, key=len)], start)))
    for part in parts:
        if len(part) >= SHORTEST:
            stream.runs.append(_on_grid(stream, samples[part], held[part], stamps[part]))


def _grid_period(stamps: Array, period: float) -> float:
    """The period that fits the stamps best: fitted over ever longer stretches, so that no sample is miscounted."""
    elapsed = stamps - stamps[0]
    count = SHORTEST
    while True:
        place = np.round(elapsed[:count] / period)
        period = float(place @ elapsed[:count] / (place @ place))
        if count >= len(elapsed):
            return period
        count *= 2


def _on_grid(stream: Stream, samples: Array, held: Array, stamps: Array) -> Run:
    """Rows on a regular grid. A sample off its grid time by delta is moved along its own local slope."""
    period = stream.period
    place = np.round((stamps - stamps[0]) / period).astype(np.intp)
    place, first = np.unique(place, return_index=True)
    stream.repeated += len(stamps) - len(first)
    offset = stamps[first] - stamps[0] - place * period
    if np.max(np.abs(offset)) > JITTER * period and len(first) > 15:
        filled = _filled(samples[first])
        slope, spacing = (savgol_filter(v, 15, 3, deriv=1, axis=0) for v in (filled, stamps[first, None]))
        samples = samples.copy()
        samples[first] -= slope / spacing * offset[:, None]
        stream.jitter = max(stream.jitter, float(np.sqrt(np.mean(offset**2)) / period))
    rows = int(place[-1]) + 1
    stream.missing += rows - len(place)
    regular = np.full((rows, samples.shape[1]), np.nan)
    regular[place] = samples[first]
    latest = np.maximum.accumulate(np.isin(np.arange(rows), place) * np.arange(rows))
    inputs = np.empty((rows, held.shape[1]))
    inputs[place] = held[first]
    return Run(float(stamps[0]), regular, inputs[latest])


def _filled(samples: Array) -> Array:
    """Non-finite values interpolated, for the slope estimate only."""
    result = samples.copy()
    index = np.arange(len(samples))
    for column in result.T:
        good = np.isfinite(column)
        if good.any():
            column[~good] = np.interp(index[~good], index[good], column[good])
    return result


def _stamps(values: Any) -> Array:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TinyUDEError(f"t cannot be read as numbers ({error}); give times in seconds.") from None


def _period(value: Any) -> float:
    try:
        period = float(value)
    except (TypeError, ValueError):
        raise TinyUDEError(
            f"t is {value!r}; give the sample period in seconds or one time stamp for each row."
        ) from None
    if not (np.isfinite(period) and period > 0.0):
        raise TinyUDEError(f"The sample period is {period:g}; it must be a positive number of seconds.")
    return period


def _agree(stream: Stream, period: float) -> None:
    if stream.period and abs(period - stream.period) > 0.01 * stream.period:
        raise TinyUDEError(
            f"Runs with sample periods {stream.period:g} s and {period:g} s; windows have one length in samples: "
            "resample them to a common period."
        )
    stream.period = stream.period or period


def _check(stream: Stream) -> None:
    if not stream.runs:
        raise TinyUDEError(f"No stretch of {SHORTEST} samples without a hole; check the time stamps.")
    everything = np.concatenate([run.samples for run in stream.runs])
    for name, column in zip(stream.names, everything.T, strict=True):
        good = column[np.isfinite(column)]
        share = 1.0 - len(good) / len(column)
        if share > MOSTLY_BAD:
            raise TinyUDEError(
                f"{share:.0%} of {name} is not a number; at most {MOSTLY_BAD:.0%} can be bridged: "
                "check the sensor or the column."
            )
        if np.ptp(good) == 0.0:
            raise TinyUDEError(
                f"{name} is constant at {good[0]:g}; nothing can be learned from a channel that never moves."
            )
    inputs = np.concatenate([run.inputs for run in stream.runs])
    if not np.all(np.isfinite(inputs)):
        raise TinyUDEError("The inputs hold non-finite values; fill them with what was really applied.")
