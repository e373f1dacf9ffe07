"""Time stamps to a regular grid, piece by piece: a record never has to be in memory as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.errors import TinyUDEError

Array = NDArray[Any]

SHORTEST = 12  # samples of a run, as many as refinement takes for a stretch (refinement/records.py)
FIRST_STAMPS = 64  # that a sample period and its phase are first estimated from
RECORD_MORE = "Record for longer, or at a higher rate."
GAP = 4.5  # periods without a sample that end a run
SINGLE = 1.75  # usual steps: a longer one has lost a sample
JITTER = 0.02  # of a period: below it time stamps count as regular
GAPPY, SPARSE = 0.15, 0.1  # share of ticks without a sample: above, stamps follow no grid; aimed at for those
COARSER = 1.1  # factor by which their period is lengthened
MOSTLY_BAD = 0.2  # share of values that are not numbers beyond which a record is rejected
EARLY = 4096  # stamps, after which a sample period is known well enough to count on
SLOPE_SAMPLES = 15  # around a sample that is moved to the grid


@dataclass
class Run:
    """One uninterrupted stretch: rows a sample period apart, missing ones as NaN."""

    start: float
    samples: Array  # (rows, channels)
    inputs: Array  # (rows, inputs)
    follows: bool = False  # goes on where the run before it ended

    @property
    def rows(self) -> Array:
        """Channels and inputs side by side, as the learner takes them."""
        return np.ascontiguousarray(np.hstack([self.samples, self.inputs]))


@dataclass
class Piece:
    """Rows of a record as they were logged; without stamps they are a sample period apart."""

    samples: Array
    inputs: Array
    stamps: Array | None = None

    def __getitem__(self, rows: Any) -> Piece:
        return Piece(self.samples[rows], self.inputs[rows], None if self.stamps is None else self.stamps[rows])

    def __add__(self, other: Piece) -> Piece:
        assert self.stamps is not None and other.stamps is not None
        return Piece(
            np.concatenate([self.samples, other.samples]),
            np.concatenate([self.inputs, other.inputs]),
            np.concatenate([self.stamps, other.stamps]),
        )


@dataclass
class Faults:
    """What was found wrong with the time stamps."""

    repeated: int = 0  # time stamps seen before
    crowded: int = 0  # rows that share a tick of the sample period with another: their mean is taken
    unstamped: int = 0  # rows without a time, left out
    missing: int = 0  # rows filled in as NaN
    jitter: float = 0.0  # RMS of time stamps around the grid, in periods


def find_period(pieces: Iterable[Array]) -> float:
    """The sample period that fits the longest stretch of the time stamps best.

    Where stamps follow no grid, as those of random events, one so long that nearly every tick has a sample.
    """
    fit, best, usual, early = _PeriodFit(0.0), _PeriodFit(0.0), 0.0, np.zeros(0)
    for stamps in _rising(pieces):
        steps = np.diff(stamps)
        if len(early) < EARLY:
            early = np.concatenate([early, steps])
        if not usual:
            if len(stamps) < SHORTEST:
                raise TinyUDEError(f"t has {len(stamps)} distinct times; at least {SHORTEST} are needed. {RECORD_MORE}")
            usual = float(np.median(steps))
            fit = _PeriodFit(float(steps[steps < SINGLE * usual].mean()))
        for part in np.split(stamps, np.flatnonzero(steps >= GAP * usual) + 1):
            if fit.count and part[0] - fit.last >= GAP * usual:
                best = max(best, fit, key=lambda f: f.count)
                fit = _PeriodFit(best.period)
            fit.add(part)
    return _filled_period(max(best, fit, key=lambda f: f.count).period, early)


def _filled_period(period: float, steps: Array) -> float:
    """The period, or where the steps between stamps follow no grid one so long that nearly every tick has a sample."""
    if _empty(period, steps) > GAPPY:
        while _empty(period, steps) > SPARSE:
            period *= COARSER
    return period


def _empty(period: float, steps: Array) -> float:
    """Share of the ticks of a period without a sample, gaps apart."""
    ticks = np.round(np.cumsum(np.where(steps < GAP * period, steps, period)) / period)
    return 1.0 - len(np.unique(ticks)) / (ticks[-1] - ticks[0] + 1.0)


def _rising(pieces: Iterable[Array]) -> Iterator[Array]:
    """The stamps without those seen before, checked."""
    row, last = 0, -np.inf
    for stamps in pieces:
        keep = _fresh(stamps, last, row)
        row += len(stamps)
        if keep.any():
            last = float(stamps[keep][-1])
            yield stamps[keep]


def _fresh(stamps: Array, last: float, row: int = 0) -> Array:
    """Which stamps are numbers, later than all before them; `last` is the one before the first, `row` its number."""
    stamped = np.isfinite(stamps)
    if np.mean(~stamped) > MOSTLY_BAD:
        raise TinyUDEError(
            f"{np.mean(~stamped):.0%} of the time stamps are not numbers; at most {MOSTLY_BAD:.0%} can be left out: "
            "check the column."
        )
    before = np.maximum.accumulate(np.concatenate([[last], np.where(stamped, stamps, -np.inf)]))[:-1]
    stamps = np.where(stamped, stamps, np.nan)
    if np.any(stamps < before):
        place = int(np.argmax(stamps < before))
        raise TinyUDEError(
            f"t goes backwards at row {row + place} ({before[place]:.15g} then {stamps[place]:.15g}); sort the "
            "rows, or give separate runs as a list."
        )
    return np.asarray(stamps > before)


class _PeriodFit:
    """Least squares of stamps on whole numbers, over ever longer stretches so that no sample is miscounted."""

    def __init__(self, period: float) -> None:
        self.begin = self.period = period
        self.offset = 0.0  # of the grid from the first stamp, which may be off as any other
        self.count = 0
        self.last = 0.0
        self.early = np.empty(0)  # stamps that are counted again with a better period
        self.sums = np.zeros((2, 3))  # of the products of (1, place) with (1, place, stamp)

    def add(self, stamps: Array) -> None:
        self.last = float(stamps[-1])
        if self.count < EARLY:
            self.early, self.period = np.concatenate([self.early, stamps]), self.begin  # a few stamps are not enough
            elapsed = self.early - self.early[0]
            self.offset = self.period * _phase(elapsed / self.period)
            for count in _doubling(FIRST_STAMPS, len(elapsed)):
                self._refine(elapsed[:count], np.zeros((2, 3)))
            self.count = len(elapsed)
        else:
            elapsed = stamps - self.early[0]
            done = 0
            for count in _doubling(self.count, self.count + len(elapsed)):
                self._refine(elapsed[done : count - self.count], self.sums)
                done = count - self.count
            self.count += len(elapsed)

    def _refine(self, elapsed: Array, sums: Array) -> None:
        place = np.round((elapsed - self.offset) / self.period)
        one = np.ones(len(place))
        self.sums = sums + np.stack([one, place]) @ np.stack([one, place, elapsed], axis=1)
        if len(place) and np.ptp(place):
            self.offset, self.period = np.linalg.solve(self.sums[:, :2], self.sums[:, 2])


def _phase(places: Array) -> float:
    """By what share of a period the first of the stamps are off whole numbers, on average."""
    return float(np.angle(np.mean(np.exp(2j * np.pi * places[:FIRST_STAMPS])))) / (2.0 * np.pi)


def _doubling(first: int, last: int) -> Iterator[int]:
    while first < last:
        yield first
        first *= 2
    yield last


def on_grid(pieces: Iterable[Piece], period: float, faults: Faults) -> Iterator[Run]:
    """Runs of rows a period apart, split where stamps have gaps; a run cut by the end of a piece is followed up."""
    grid = _Grid(period, faults)
    for piece in pieces:
        yield from grid.add(piece)
    yield from grid.rest()


class _Grid:
    def __init__(self, period: float, faults: Faults) -> None:
        self.period, self.faults = period, faults
        self.last = -np.inf  # stamp
        self.origin = 0.0  # time of the present run's first row
        self.next = 0  # row of the present run that comes next; 0: a new run
        self.held: Array | None = None  # the inputs that hold until then
        self.waiting: Piece | None = None  # rows too few to be worked on yet

    def add(self, piece: Piece) -> Iterator[Run]:
        if piece.stamps is None:
            yield Run(self.next * self.period, piece.samples, piece.inputs, self.next > 0)
            self.next += len(piece.samples)
            return
        keep = _fresh(piece.stamps, self.last)
        unstamped = int(np.sum(~np.isfinite(piece.stamps)))
        self.faults.unstamped += unstamped
        self.faults.repeated += int(np.sum(~keep)) - unstamped
        self.last = max(self.last, float(np.max(piece.stamps[keep], initial=-np.inf)))
        piece = piece[keep] if self.waiting is None else self.waiting + piece[keep]
        assert piece.stamps is not None
        gaps = np.flatnonzero(np.diff(piece.stamps) >= GAP * self.period) + 1
        parts = [piece[part] for part in np.split(np.arange(len(piece.stamps)), gaps)]
        for part in parts[:-1]:
            yield from self._stretch(part)
            self.next = 0
        self.waiting = parts[-1]
        if len(self.waiting.samples) >= SHORTEST:
            yield from self.rest()

    def rest(self) -> Iterator[Run]:
        if self.waiting is not None and len(self.waiting.samples):
            yield from self._stretch(self.waiting)
        self.waiting = None

    def _stretch(self, part: Piece) -> Iterator[Run]:
        assert part.stamps is not None
        if self.next and part.stamps[0] - self.origin >= (self.next - 1 + GAP) * self.period:
            self.next = 0  # the gap was where the pieces meet
        if not self.next:
            if len(part.samples) < SHORTEST:
                return
            phase = _phase((part.stamps - part.stamps[0]) / self.period)  # the first stamp may be off as any other
            self.origin = float(part.stamps[0]) + self.period * (phase if abs(phase) > JITTER else 0.0)
        run = self._rows(part)
        if len(run.samples):
            yield run

    def _rows(self, part: Piece) -> Run:
        """Rows on the grid. A sample off its grid time by delta is moved along its local slope."""
        assert part.stamps is not None
        faults, period, begin = self.faults, self.period, self.next
        place = np.round((part.stamps - self.origin) / period).astype(np.intp)
        fresh = place >= begin
        place, stamps, samples, inputs = place[fresh], part.stamps[fresh], part.samples[fresh], part.inputs[fresh]
        offset = stamps - self.origin - place * period
        if np.max(np.abs(offset), initial=0.0) > JITTER * period and len(place) > SLOPE_SAMPLES:
            samples = samples - _slopes(samples, stamps) * offset[:, None]
            faults.jitter = max(faults.jitter, float(np.sqrt(np.mean(offset**2)) / period))
        place, first = np.unique(place, return_index=True)
        faults.crowded += len(part.stamps) - len(place)
        rows = int(place[-1]) + 1 - begin if len(place) else 0
        faults.missing += rows - len(place)
        regular = np.full((rows, samples.shape[1]), np.nan)
        regular[place - begin] = _means(samples, first)
        inputs = inputs[first]
        before = inputs[:1] if self.held is None or not begin else self.held
        latest = np.searchsorted(place - begin, np.arange(rows), side="right")
        held = np.concatenate([before, inputs])[latest]
        if rows:
            self.held, self.next = held[-1:], begin + rows
        return Run(self.origin + begin * period, regular, held, begin > 0)


def _means(samples: Array, first: Array) -> Array:
    """The mean of the rows from each of `first` to the next, without those that are not numbers."""
    if len(first) == len(samples):
        return samples
    good = np.isfinite(samples)
    sums, counts = (np.add.reduceat(v, first, axis=0) for v in (np.where(good, samples, 0.0), good.astype(np.float64)))
    return np.where(counts > 0.0, sums / np.maximum(counts, 1.0), np.nan)


def _slopes(samples: Array, stamps: Array) -> Array:
    """Local derivatives of the samples by time."""
    from scipy.signal import savgol_filter  # its import takes longer than a fit, and only uneven stamps need it

    slope, spacing = (savgol_filter(v, SLOPE_SAMPLES, 3, deriv=1, axis=0) for v in (_filled(samples), stamps[:, None]))
    return np.asarray(slope / spacing)


def _filled(samples: Array) -> Array:
    """Non-finite values interpolated, for the slope estimate only."""
    result = samples.copy()
    index = np.arange(len(samples))
    for column in result.T:
        good = np.isfinite(column)
        if good.any():
            column[~good] = np.interp(index[~good], index[good], column[good])
    return result
