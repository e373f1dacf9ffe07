"""Sensors that are slower than their log: rows without a new value of a channel hold no measurement of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.data.grid import GAP, Piece
from tinyude.data.resolution import quantisation_step

Array = NDArray[Any]
Pieces = Callable[[], Iterator[Piece]]

MOST_ROWS = 100_000  # looked at to find how long values are held
LEAST_UPDATES = 12
STEPS = 3.0  # median change over the quantisation step: 1 for coarse sensors that repeat values, 19 and more for slow


def rows_held(pieces: Pieces, channels: int) -> Array:
    """For how many rows each channel usually keeps a value, or has none; 1 where every row is a measurement.

    A coarse sensor repeats values too, but then changes by one step; a machine at rest repeats them only there.
    """
    first = next(islice(pieces(), 1), None)
    if first is None:
        return np.ones(channels)
    return np.array([_rows_held(column[:MOST_ROWS]) for column in first.samples.T])


def _rows_held(column: Array) -> float:
    updates = np.flatnonzero(_new_values(column[:, None], np.full(1, np.nan))[:, 0])
    if len(updates) < LEAST_UPDATES:
        return 1.0
    rows = float(np.median(np.diff(updates)))
    numbers = column[np.isfinite(column)]
    repeats = len(numbers) - len(updates) > len(column) - len(numbers)
    coarse = repeats and np.median(np.abs(np.diff(column[updates]))) < STEPS * quantisation_step([numbers])
    return 1.0 if coarse else rows


def at_updates(pieces: Pieces, held: Array, period: float) -> Pieces:
    """The rows at which the slowest channel has a new value, with their time stamps.

    Other channels without a new value there are interpolated between their own. period: of a record without stamps.
    """
    return partial(_at_updates, pieces, held, period)


def _at_updates(pieces: Pieces, held: Array, period: float) -> Iterator[Piece]:
    last, row = np.full(len(held), np.nan), 0
    for piece in pieces():
        stamps = period * np.arange(row, row + len(piece.samples)) if piece.stamps is None else piece.stamps
        row += len(piece.samples)
        new = _new_values(piece.samples, last) & np.isfinite(stamps)[:, None]
        keep = new[:, int(np.argmax(held))] | ~np.isfinite(stamps)  # the grid counts rows without a time
        samples = piece.samples[keep]
        for channel, column in enumerate(piece.samples.T):
            stale = ~new[keep, channel] & (np.isnan(samples[:, channel]) | (held[channel] > 1.0))
            samples[stale, channel] = _between(stamps[keep][stale], stamps, column, new[:, channel])
        yield Piece(samples, piece.inputs[keep], stamps[keep])


def _between(times: Array, stamps: Array, column: Array, new: Array) -> Array:
    """A channel between its new values; NaN where these are a gap apart."""
    known = stamps[new]
    if len(known) < 2:
        return np.full(len(times), np.nan)
    after = np.searchsorted(known, times).clip(1, len(known) - 1)
    near = known[after] - known[after - 1] < GAP * np.median(np.diff(known))
    return np.where(near, np.interp(times, known, column[new]), np.nan)


def _new_values(samples: Array, last: Array) -> Array:
    """Where a value differs from the one before or follows a missing one; `last` is carried from piece to piece."""
    new = np.zeros(samples.shape, dtype=bool)
    for channel, column in enumerate(samples.T):
        new[:, channel] = np.isfinite(column) & (np.diff(column, prepend=last[channel]) != 0.0)
        last[channel] = column[-1] if len(column) else last[channel]
    return new
