"""Logs whose channels have separate time stamps (bags, ULog, MDF), brought to the time base of one of them.

Each row is one sample of the base channel, at its stamp. Signals of other channels are interpolated between the two
samples around that time, so nothing is delayed; inputs hold their latest value, as an actuator does, so nothing comes
from the future; rows before an input's first value are left out. Where a channel is silent for long, its signals are
missing (NaN) instead of made up.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.data.grid import GAP
from tinyude.errors import TinyUDEError

Array = NDArray[Any]
Table = dict[str, Array]
Batch = tuple[str, Array, Table]  # channel, stamps in seconds, values of its columns

STEPS = 1000  # between samples, from which a channel's usual one is taken
PATIENCE = 4  # pieces or batches of rows that wait for a channel, before it counts as silent


def aligned(
    batches: Iterator[Batch], channel_of: Mapping[str, str], base: str, held: Collection[str], rows: int
) -> Iterator[Table]:
    """Rows at the stamps of one channel, in pieces; memory holds a few pieces, whatever the length of the log.

    Parameters
    ----------
    batches : iterator of (str, array, dict)
        Samples of the channels, each in the order of time, all of them about in step.
    channel_of : mapping of str to str
        The channel of each column.
    base : str
        The channel whose stamps make the rows.
    held : collection of str
        Columns that hold their latest value; the others are interpolated.
    rows : int
        Rows of a piece.

    Yields
    ------
    dict of str to array
        The columns, and the stamps under the name "".
    """
    tracks = {name: _Track() for name in (*channel_of.values(), base)}
    for channel, stamps, values in batches:
        tracks[channel].add(stamps, values)
        waiting = len(tracks[base].stamps)
        if waiting < rows:
            continue
        safe = min(float(track.stamps[-1]) if len(track.stamps) else -np.inf for track in tracks.values())
        ready = int(np.searchsorted(tracks[base].stamps, safe, side="right"))
        if ready >= rows or waiting > PATIENCE * max(rows, len(stamps)):
            yield from _pieces(tracks, channel_of, base, held, ready if ready >= rows else waiting, rows)
    yield from _pieces(tracks, channel_of, base, held, len(tracks[base].stamps), rows)
    for column, name in channel_of.items():
        _check_same_times(column, tracks[name], tracks[base], column in held)


def _check_same_times(column: str, track: _Track, base: _Track, held: bool) -> None:
    """A column without a value at any row: another clock, or another time of day."""
    if base.first <= base.last and (base.last < track.first or (track.last < base.first and not held)):
        span = f"runs from {track.first:.10g} to {track.last:.10g} s" if track.first <= track.last else "is empty"
        raise TinyUDEError(
            f"{column!r} {span}, the rows from {base.first:.10g} to {base.last:.10g} s, so it has no value at any of "
            "them; choose another column, or check the clocks of the log."
        )


def in_step(readers: Mapping[str, Iterator[tuple[Array, Table]]]) -> Iterator[Batch]:
    """Batches of several channels, always of the one that is furthest behind."""
    queue = [(-np.inf, name) for name in readers]
    heapq.heapify(queue)
    while queue:
        _, name = heapq.heappop(queue)
        found = next(readers[name], None)
        if found is not None:
            stamps, values = found
            yield name, stamps, values
            heapq.heappush(queue, (float(stamps[-1]) if len(stamps) else -np.inf, name))


def _pieces(
    tracks: Mapping[str, _Track], channel_of: Mapping[str, str], base: str, held: Collection[str], count: int, rows: int
) -> Iterator[Table]:
    """The next `count` rows of the base, but for those before the first value of an input."""
    begin = max((tracks[channel_of[column]].first for column in held if column in channel_of), default=-np.inf)
    known = int(np.searchsorted(tracks[base].stamps[:count], begin))
    for start in range(known, count, rows):
        stamps = tracks[base].stamps[start : min(start + rows, count)]
        table = {column: tracks[name].at(stamps, column, column in held) for column, name in channel_of.items()}
        yield {"": stamps, **table}
    if count:
        last = float(tracks[base].stamps[count - 1])
        tracks[base].drop(count)
        for name, track in tracks.items():
            if name != base:
                track.drop(max(0, int(np.searchsorted(track.stamps, last, side="right")) - 1))


class _Track:
    """Samples of one channel that are still needed."""

    def __init__(self) -> None:
        self.stamps: Array = np.empty(0)
        self.values: Table = {}
        self.first, self.last = np.inf, -np.inf
        self.step = 0.0  # usual time between samples

    def add(self, stamps: Array, values: Table) -> None:
        """Samples in the order of time; those that come too late for it are left out."""
        order = np.argsort(stamps, kind="stable")
        order = order[
            (stamps[order] > self.last) & np.concatenate([[True], np.diff(stamps[order]) > 0.0])[: len(order)]
        ]
        if not len(order):
            return
        self.first, self.last = min(self.first, float(stamps[order[0]])), float(stamps[order[-1]])
        self.stamps = np.concatenate([self.stamps, stamps[order]])
        for name, value in values.items():
            self.values[name] = np.concatenate([self.values.get(name, np.empty(0)), value[order]])
        if not self.step and len(self.stamps) > 1:
            self.step = float(np.median(np.diff(self.stamps[:STEPS])))

    def at(self, times: Array, name: str, held: bool) -> Array:
        """A column at the given times."""
        if not len(self.stamps):
            return np.full(len(times), np.nan)
        values, after = self.values[name], np.searchsorted(self.stamps, times, side="right")
        if held:
            return np.where(after > 0, values[np.maximum(after - 1, 0)], np.nan)
        found = np.interp(times, self.stamps, values, left=np.nan, right=np.nan)
        edge = np.clip(after, 1, len(self.stamps) - 1) if len(self.stamps) > 1 else np.zeros(len(times), np.intp)
        apart = self.stamps[edge] - self.stamps[np.maximum(edge - 1, 0)]
        exact = self.stamps[np.maximum(after - 1, 0)] == times
        return np.where((apart < GAP * self.step) | exact, found, np.nan)

    def drop(self, count: int) -> None:
        self.stamps = self.stamps[count:]
        self.values = {name: value[count:] for name, value in self.values.items()}


def base_of(channel_of: Mapping[str, str], columns: Sequence[str], time: str | None) -> str:
    """The channel whose stamps make the rows: that of the time column, else of the first column."""
    return channel_of[time if time is not None else columns[0]]
