"""Recorded data at the edge: validated once, laid on a regular grid, split where it has gaps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.data.frames import column_named, computed, has_columns, numbers, seconds
from tinyude.data.grid import MOSTLY_BAD, RECORD_MORE, SHORTEST, Faults, Piece, Run, find_period, on_grid
from tinyude.data.held import at_updates, rows_held
from tinyude.data.resolution import quantisation_steps
from tinyude.data.sentinels import without_sentinels
from tinyude.errors import TinyUDEError
from tinyude.reference.numeric.elementary import TWO_PI
from tinyude.reference.signal.ring import LIMIT, usable

Array = NDArray[Any]

SHORTEST_PERIOD, LONGEST_PERIOD = 1e-9, 1e6  # s; beyond, powers of it leave float32
LEAST_SPAN = 1e-30  # of a channel: squares of less vanish
REVOLUTIONS = (TWO_PI, 360.0)
TIMES = "the sample period in seconds or one time stamp for each row"
IN_MEMORY = 1_000_000  # rows: a longer record is read again whenever it is needed


@dataclass
class Source:
    """A record that can be read again and again, piece by piece."""

    pieces: Callable[[], Iterator[Piece]]
    stamps: Callable[[], Iterator[Array]] | None = None  # its time stamps alone
    period: float = 0.0  # for a record without stamps
    in_memory: bool = False


@dataclass
class Stream:
    """Runs of equally spaced samples, which can be read repeatedly, and what is known about all of them."""

    period: float
    runs: Iterable[Run]
    names: tuple[str, ...]
    repeated: int = 0  # time stamps seen before
    crowded: int = 0  # rows that share a tick with another: their mean is taken
    unstamped: int = 0  # rows without a time, left out
    missing: int = 0  # rows filled in as NaN
    jitter: float = 0.0  # RMS of time stamps around the grid, in periods
    bad: int = 0  # values given that are not finite, not below LIMIT, or sentinels
    count: int = 0  # rows
    longest: Run = field(default_factory=lambda: Run(0.0, np.empty((0, 0)), np.empty((0, 0))))
    revolutions: list[float] = field(default_factory=list)  # by which each channel seems to wrap, 0 for none
    rms: Array = field(default_factory=lambda: np.zeros(0))  # of each channel
    span: Array = field(default_factory=lambda: np.zeros(0))  # from its least value in any run to its greatest
    held: Array | None = None  # rows for which each channel keeps a value: of these, only those at updates are used
    steps: Array | None = None  # quantisation step of each channel as it was logged, before rows are moved to the grid
    sources: Sequence[Source] = ()  # the same rows at their true times


class _Runs:
    """The runs of sources, gridded again in every pass."""

    def __init__(self, sources: Sequence[Source], period: float) -> None:
        self.sources, self.period = sources, period

    def __iter__(self) -> Iterator[Run]:
        for source in self.sources:
            yield from on_grid(source.pieces(), self.period, Faults())


def as_stream(
    Y: Any,
    t: Any,
    u: Any,
    channels: Sequence[str],
    inputs: Sequence[str],
    shortest: int | None = None,
    wraps: Mapping[str, float] | None = None,
    several_rates: bool = False,
) -> Stream:
    """One record or a list of them, with a sample period, time stamps or the name of their column, as a Stream.

    u: may be left out where the inputs are columns of Y.
    several_rates: runs may have other sample rates than most; they are then in `sources` alone.
    """
    several = _several(Y, len(channels))
    records = [computed(record) for record in (Y if several else [Y])]
    times = list(t) if several and isinstance(t, list | tuple) else [t] * len(records)
    controls = list(u) if several and isinstance(u, list | tuple) else [u] * len(records)
    if not len(records) == len(times) == len(controls):
        raise TinyUDEError(
            f"{len(records)} runs, {len(times)} time vectors, {len(controls)} inputs; give one of each for every run."
        )
    sources = []
    for record, time, control in zip(records, times, controls, strict=True):
        samples = _table(record, channels, "Y", "measured state", shortest)
        if inputs and control is None and column_named(record, inputs[0]) is not None:
            control = record
        held = _table(control, inputs, "u", "input", shortest) if inputs else np.empty((len(samples), 0))
        if not inputs and control is not None:
            raise TinyUDEError("u was given, but this physics has no inputs; name them in Physics(inputs=...).")
        if len(held) != len(samples):
            raise TinyUDEError(f"u has {len(held)} rows and Y has {len(samples)}; give one row of u for each row of Y.")
        stamps = column_named(record, time) if isinstance(time, str) else time
        if isinstance(time, str) and stamps is None:
            named = f"; its columns are {', '.join(map(str, record.columns))}" if hasattr(record, "columns") else ""
            raise TinyUDEError(f"t is {time!r}, and Y has no such column{named}; give {TIMES}.")
        revolutions = [(wraps or {}).get(name, 0.0) for name in channels]
        sources.append(_array_source(samples, held, stamps, revolutions, live=shortest is not None))
    return make_stream(sources, channels, inputs, live=shortest is not None, several_rates=several_rates)


def _several(Y: Any, channels: int) -> bool:
    """Whether Y is a list of runs; a list of rows, one number for each channel, is one run."""
    if not isinstance(Y, list | tuple) or not Y:
        return False
    return has_columns(Y[0]) or np.ndim(Y[0]) > 1 or (np.ndim(Y[0]) == 1 and len(Y[0]) != channels)


def wrap_revolutions(wraps: Sequence[str] | Mapping[str, float] | None, channels: Sequence[str]) -> dict[str, float]:
    """One revolution of each channel that wraps, in its unit; 2 pi by default."""
    if isinstance(wraps, str) or not (wraps is None or isinstance(wraps, Iterable)):
        raise TinyUDEError(f"wraps is {wraps!r}; give a list of angles, e.g. {list(channels[:1])}.")
    found = dict(wraps) if isinstance(wraps, Mapping) else dict.fromkeys(wraps or (), TWO_PI)
    for name, revolution in found.items():
        if name not in channels:
            raise TinyUDEError(f"wraps names {name}, which is not measured; measured are {', '.join(channels)}.")
        if not (isinstance(revolution, Real) and 0.0 < revolution < np.inf):
            raise TinyUDEError(f"One revolution of {name} is {revolution}; give a positive number, 360 for degrees.")
    return found


def _array_source(samples: Array, held: Array, time: Any, revolutions: Sequence[float], live: bool) -> Source:
    if np.ndim(time) == 0:
        pieces = [Piece(samples, held)]
        return Source(partial(prepared, pieces, revolutions, live), period=_period(time), in_memory=True)
    stamps = seconds(time)
    if stamps.shape != (len(samples),):
        raise TinyUDEError(f"t has shape {stamps.shape} and Y has {len(samples)} rows; give one time for each row.")
    pieces = [Piece(samples, held, stamps)]
    return Source(partial(prepared, pieces, revolutions, live), partial(iter, [stamps]), in_memory=True)


def prepared(pieces: Iterable[Piece], revolutions: Sequence[float], live: bool = False) -> Iterator[Piece]:
    """The pieces with NaN for values from LIMIT on, and channels that jump by a revolution (0: none) unwrapped.

    Live: the learner judges every sample itself, as on a board, by those before it alone.
    """
    last = [np.nan] * len(revolutions)
    for piece in pieces if live else _without_empty_end(pieces):
        samples = np.where(usable(piece.samples), piece.samples, np.nan)
        samples = samples if live else without_sentinels(samples)
        for channel, revolution in enumerate(revolutions):
            good = np.isfinite(samples[:, channel])
            if revolution and good.any():
                start = last[channel] if np.isfinite(last[channel]) else samples[good, channel][0]
                column = np.unwrap(np.concatenate([[start], samples[good, channel]]), period=revolution)[1:]
                samples[good, channel], last[channel] = column, float(column[-1])
        yield Piece(samples, piece.inputs, piece.stamps)


def _without_empty_end(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """The pieces without the rows at their very end that hold no number at all, as spreadsheets leave them."""
    held: list[Piece] = []
    begun = False
    for piece in pieces:
        filled = np.isfinite(piece.samples).any(axis=1) | np.isfinite(piece.inputs).any(axis=1)
        begun = begun or bool(filled.any())
        if not begun:
            yield piece  # the error for a record without a number comes later
        elif not filled.any():
            held.append(piece)
        else:
            yield from held
            end = int(np.flatnonzero(filled)[-1]) + 1
            yield piece[:end]
            held = [piece[end:]] if end < len(piece.samples) else []


def make_stream(
    sources: Sequence[Source],
    names: Sequence[str],
    inputs: Sequence[str] = (),
    live: bool = False,
    several_rates: bool = False,
) -> Stream:
    """Look through all the data once: the period, what is wrong with them, and the checks that they pass.

    Live: a stretch of a stream, which may be at rest.
    """
    held = np.ones(len(names))
    if not live:
        sources, held = _at_updates(sources, len(names))
    every = sources
    period, sources = _most_common_period(sources) if several_rates else (_common_period(sources), sources)
    stream = Stream(period, _Runs(sources, period), tuple(names), held=held, sources=every)
    survey = _Survey(stream, inputs)
    kept: list[Run] = []
    for source in sources:
        faults = Faults()
        for run in on_grid(survey.sifted(source.pieces()), period, faults):
            survey.add(run)
            if source.in_memory or stream.count <= IN_MEMORY:
                kept.append(run)
            else:
                kept.clear()
        stream.repeated += faults.repeated
        stream.crowded += faults.crowded
        stream.unstamped += faults.unstamped
        stream.missing += faults.missing
        stream.jitter = max(stream.jitter, faults.jitter)
    if kept:
        stream.runs = kept
    stream.revolutions = survey.revolutions()
    stream.span = survey.high - survey.low
    if not live:
        survey.check()
        stream.steps = quantisation_steps(survey.logged)
    return stream


def _at_updates(sources: Sequence[Source], channels: int) -> tuple[list[Source], Array]:
    """The sources at the updates of their slowest channel, and for how many rows each channel keeps a value."""
    made, most = [], []
    for source in sources:
        held = rows_held(source.pieces, channels)
        most.append(held)
        if held.max(initial=1.0) > 1.0:
            pieces = at_updates(source.pieces, held, source.period)
            source = Source(pieces, partial(_stamps_of, pieces), in_memory=source.in_memory)
        made.append(source)
    return made, np.max(most, axis=0)


def _stamps_of(pieces: Callable[[], Iterator[Piece]]) -> Iterator[Array]:
    return (piece.stamps for piece in pieces() if piece.stamps is not None)


def _most_common_period(sources: Sequence[Source]) -> tuple[float, list[Source]]:
    """The period that most sources share, and these sources."""
    periods = [_period(s.period if s.stamps is None else find_period(s.stamps())) for s in sources]
    alike = [[k for k, other in enumerate(periods) if abs(other - p) <= 0.01 * p] for p in periods]
    best = max(range(len(periods)), key=lambda k: len(alike[k]))
    return periods[best], [sources[k] for k in alike[best]]


def _common_period(sources: Sequence[Source]) -> float:
    """That of the first; the others must agree."""
    common = 0.0
    for source in sources:
        period = _period(source.period if source.stamps is None else find_period(source.stamps()))
        if common and abs(period - common) > 0.01 * common:
            raise TinyUDEError(
                f"Runs with sample periods {common:g} s and {period:g} s; only refinement takes both: leave refine "
                "on, or resample them to a common period."
            )
        common = common or period
    return common


class _Survey:
    """Running figures over all rows of a stream."""

    def __init__(self, stream: Stream, inputs: Sequence[str]) -> None:
        self.stream, self.inputs = stream, inputs
        channels = len(stream.names)
        self.finite = np.zeros(channels, dtype=np.int64)
        self.squares = np.zeros(channels)
        self.low, self.high = np.full(channels, np.inf), np.full(channels, -np.inf)
        self.unknown = np.zeros(len(inputs), dtype=np.int64)  # values of each input that are not numbers
        self.wrapped = np.zeros((len(REVOLUTIONS), channels), dtype=np.int64)  # steps of about a revolution
        self.logged: list[Array] = []  # samples as they were logged: the first piece, and IN_MEMORY rows at most
        self.seen = 0  # rows in them

    def sifted(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        for piece in pieces:
            self.stream.bad += int(np.sum(np.isnan(piece.samples)))
            if not self.logged or self.seen < IN_MEMORY:
                self.logged.append(piece.samples)
                self.seen += len(piece.samples)
            yield piece

    def add(self, run: Run) -> None:
        stream, samples = self.stream, run.samples
        stream.count += len(samples)
        if len(samples) > len(stream.longest.samples):
            stream.longest = run
        good = np.isfinite(samples)
        numbers = np.where(good, samples, 0.0)
        self.finite += good.sum(axis=0)
        self.squares += (numbers**2).sum(axis=0)
        self.low = np.minimum(self.low, np.where(good, samples, np.inf).min(axis=0))
        self.high = np.maximum(self.high, np.where(good, samples, -np.inf).max(axis=0))
        steps = np.abs(np.diff(samples, axis=0))
        for revolution, count in zip(REVOLUTIONS, self.wrapped, strict=True):
            count += np.sum(np.abs(steps - revolution) < 0.1 * revolution, axis=0)
        self.unknown += np.sum(~usable(run.inputs), axis=0)
        stream.rms = np.sqrt(self.squares / np.maximum(self.finite, 1))

    def revolutions(self) -> list[float]:
        """The revolution of each channel that stays within one and steps by one; 0 for the others."""
        span = self.high - self.low
        spans = [(0.9 * one < span) & (span < 1.1 * one) for one in REVOLUTIONS]
        return [float(one) for one in np.max((self.wrapped > 0) * spans * np.array(REVOLUTIONS)[:, None], axis=0)]

    def check(self) -> None:
        if not self.stream.count:
            raise TinyUDEError(f"No stretch of {SHORTEST} samples without a gap; check the time stamps.")
        for name, finite, low, high in zip(self.stream.names, self.finite, self.low, self.high, strict=True):
            share = 1.0 - finite / self.stream.count
            if share > MOSTLY_BAD:
                raise TinyUDEError(
                    f"{share:.0%} of {name} is not a number below {LIMIT:g}; at most {MOSTLY_BAD:.0%} can be bridged: "
                    "check the sensor, the column and its unit."
                )
            if high == low:
                raise TinyUDEError(f"{name} is constant at {low:g}; nothing can be learned from a constant channel.")
            if high - low < LEAST_SPAN:
                raise TinyUDEError(
                    f"{name} moves by {high - low:g} in all, less than {LEAST_SPAN:g}; give it in a smaller unit."
                )
        for name, count in zip(self.inputs, self.unknown, strict=True):
            if count:
                raise TinyUDEError(
                    f"The input {name} is not a number below {LIMIT:g} in {count:,} of {self.stream.count:,} rows; "
                    "fill in the values that were applied."
                )


def _table(values: Any, names: Sequence[str], what: str, kind: str, shortest: int | None) -> Array:
    """An array with one column for each name."""
    if values is None:
        raise TinyUDEError(
            f"{what} is missing; this physics has the {kind}s {', '.join(names)}: give {what}=..., or a frame with "
            "columns of these names, which cross-validation splits too."
        )
    least = SHORTEST if shortest is None else shortest
    table = numbers(values, names, what)
    if not table.size and least:
        raise TinyUDEError(f"{what} has 0 samples; at least {least} are needed. {RECORD_MORE}")
    if table.ndim == 1:
        table = table[:, None]
    if table.ndim != 2 or table.shape[1] != len(names):
        remedy = " Name the measured states: measured=[...]." if kind == "measured state" else ""
        if table.ndim > 2:
            remedy = f" Several runs are a list: give list({what})."
        elif table.ndim == 2 and len(table) == len(names):
            remedy = f" Rows are samples: give {what}.T."
        raise TinyUDEError(
            f"{what} has shape {table.shape}; it needs one column for each {kind}: {', '.join(names)}.{remedy}"
        )
    if len(table) < least:
        raise TinyUDEError(f"{what} has {len(table)} samples; at least {least} are needed. {RECORD_MORE}")
    return table


def _period(value: Any) -> float:
    try:
        period = float("none" if value is None else seconds(value))
    except (TypeError, ValueError):
        raise TinyUDEError(f"t is {value!r}; give {TIMES}.") from None
    if not SHORTEST_PERIOD <= period <= LONGEST_PERIOD:
        raise TinyUDEError(
            f"The sample period is {period:g}; it must be a positive number of seconds, from {SHORTEST_PERIOD:g} to "
            f"{LONGEST_PERIOD:g}: check the unit of the time."
        )
    return period
