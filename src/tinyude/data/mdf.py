"""ASAM MDF (measurement data files, .mf4 and .mdf): channels as columns by their name.

A name that occurs in several channel groups is prefixed by the group's number, e.g. `3:EngineSpeed`.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tinyude.data.columns import chosen_columns
from tinyude.data.extras import needed
from tinyude.data.recordings import Table, aligned, base_of, in_step
from tinyude.errors import TinyUDEError, listed

ROWS = 20_000  # of a channel group, taken together


def iter_mdf(path: Path, columns: Sequence[str], rows: int, time: str | None, held: Collection[str]) -> Iterator[Table]:
    """Columns of an MDF file in pieces; `time` names a channel whose stamps make the rows."""
    asammdf = _library()
    with path.open("rb") as handle, asammdf.MDF(handle) as file:
        places = {column: _place(file, column, path) for column in columns}
        channel_of = {column: str(group) for column, (group, _) in places.items()}
        signals = {column: group for column, group in channel_of.items() if column != time}
        readers = {
            group: _pieces(file, int(group), {c: places[c][1] for c in signals if signals[c] == group}, path)
            for group in dict.fromkeys(channel_of.values())
        }
        for table in aligned(in_step(readers), signals, base_of(channel_of, columns, time), held, rows):
            stamps = table.pop("")
            yield table if time is None else {time: stamps, **table}


def mdf_columns(path: Path) -> dict[str, list[str]]:
    """Columns of numbers by the channel of times of their group."""
    asammdf = _library()
    with path.open("rb") as handle, asammdf.MDF(handle) as file:
        found: dict[str, list[str]] = {}
        for number, group in enumerate(file.groups):
            master = file.masters_db.get(number)
            named = [
                channel.name if len(file.whereis(channel.name)) == 1 else f"{number}:{channel.name}"
                for channel in group.channels
            ]
            if master is not None and group.channel_group.cycles_nr:
                numbers = [
                    k for k in range(len(named))
                    if k != master and file.get(group=number, index=k, record_count=1).samples.dtype.kind in "fiub"
                ]  # fmt: skip
                found[named[master]] = [named[k] for k in numbers]
        return found


def _library() -> Any:
    """asammdf, without its own lines in the terminal: what it prints of a damaged file it raises as well."""
    asammdf = needed("asammdf", "mdf")
    logging.getLogger("asammdf").setLevel(logging.CRITICAL)  # its import sets another
    return asammdf


def _place(file: Any, column: str, path: Path) -> tuple[int, int]:
    """Group and channel number of a column."""
    number, colon, rest = column.partition(":")
    name, group = (rest, int(number)) if colon and number.isdigit() else (column, None)
    if name not in file.channels_db:
        chosen_columns(sorted(file.channels_db), [name], path, "channel")
    found = [place for place in file.whereis(name) if group is None or place[0] == group]
    if len(found) != 1:
        groups = listed([f"{place[0]}:{name}" for place in file.whereis(name)])
        place = f"is in {len(found)} groups" if found else "is not there"
        raise TinyUDEError(f"{path}: the channel {column!r} {place}; name one of {groups}.")
    return int(found[0][0]), int(found[0][1])


def _pieces(file: Any, group: int, channels: dict[str, int], path: Path) -> Iterator[tuple[Any, Table]]:
    count = int(file.groups[group].channel_group.cycles_nr)
    for start in range(0, count, ROWS):
        part = {"record_offset": start, "record_count": min(ROWS, count - start)}
        stamps = np.asarray(file.get_master(group, **part), dtype=np.float64)
        yield stamps, {column: _samples(file, group, index, part, column, path) for column, index in channels.items()}


def _samples(file: Any, group: int, index: int, part: dict[str, int], column: str, path: Path) -> Any:
    """Physical values of a channel; those that the file marks as invalid are NaN."""
    wanted = {"group": group, "index": index, "ignore_invalidation_bits": True, **part}
    signal = file.get(**wanted)
    if signal.samples.dtype.kind not in "fiub":  # a value with a text for it: the value
        signal = file.get(raw=True, **wanted)
    if signal.samples.dtype.kind not in "fiub" or signal.samples.ndim != 1:
        raise TinyUDEError(f"{path}: the channel {column!r} is of type {signal.samples.dtype}; choose one of numbers.")
    samples = signal.samples.astype(np.float64)
    if signal.invalidation_bits is not None:
        samples[np.asarray(signal.invalidation_bits, dtype=bool)] = np.nan
    return samples
