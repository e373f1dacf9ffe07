"""PX4 ULog: fields of topics as columns, e.g. `vehicle_angular_velocity.xyz[0]`, `sensor_accel:1.x` for instance 1.

A sample's time is `timestamp_sample`, when it was measured, where the topic has it; else `timestamp`. Only the topics
that are asked for are in memory.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np

from tinyude.data.columns import chosen_columns
from tinyude.data.extras import needed
from tinyude.data.recordings import Table, aligned, base_of, in_step
from tinyude.errors import TinyUDEWarning

ROWS = 20_000  # of a topic, taken together


def iter_ulog(
    path: Path, columns: Sequence[str], rows: int, time: str | None, held: Collection[str]
) -> Iterator[Table]:
    """Columns of a ULog in pieces; `time` names the topic whose stamps make the rows."""
    pyulog = needed("pyulog", "px4")
    channel_of = {column: column.partition(".")[0] for column in columns}
    log = _read(pyulog, path, sorted({channel.partition(":")[0] for channel in channel_of.values()}))
    topics = _topics(log)
    known = topics if topics.keys() >= set(channel_of.values()) else _topics(_read(pyulog, path, None))
    chosen_columns(sorted(known), list(channel_of.values()), path, "topic")
    if log.file_corruption:
        warnings.warn(f"{path} is damaged; what pyulog could not read is missing.", TinyUDEWarning, stacklevel=2)
    signals = {column: topic for column, topic in channel_of.items() if column != time}
    for column, topic in signals.items():
        chosen_columns([f"{topic}.{field}" for field in topics[topic]], [column], path)
    readers = {
        topic: _pieces(topics[topic], [c for c in signals if signals[c] == topic], int(log.start_timestamp))
        for topic in dict.fromkeys(channel_of.values())
    }
    for table in aligned(in_step(readers), signals, base_of(channel_of, columns, time), held, rows):
        stamps = table.pop("")
        yield table if time is None else {time: stamps, **table}


def ulog_columns(path: Path) -> dict[str, list[str]]:
    """Columns of numbers by topic."""
    topics = _topics(_read(needed("pyulog", "px4"), path, None))
    return {
        topic: [f"{topic}.{name}" for name, values in data.items() if not name.startswith("timestamp") and len(values)]
        for topic, data in topics.items()
    }


def _read(pyulog: Any, path: Path, topics: list[str] | None) -> Any:
    with path.open("rb") as file, redirect_stdout(sys.stderr):  # pyulog prints what it meets
        return pyulog.ULog(file, topics)


def _topics(log: Any) -> dict[str, Any]:
    return {f"{d.name}:{d.multi_id}" if d.multi_id else d.name: d.data for d in log.data_list}


def _pieces(topic: Mapping[str, Any], columns: Sequence[str], start: int) -> Iterator[tuple[Any, Table]]:
    recorded = topic["timestamp"].astype(np.int64)
    measured = topic.get("timestamp_sample", recorded).astype(np.int64)
    stamps = 1e-6 * (np.where(measured > 0, measured, recorded) - start)
    for place in range(0, len(stamps), ROWS):
        part = slice(place, place + ROWS)
        yield stamps[part], {c: topic[c.partition(".")[2]][part].astype(np.float64) for c in columns}
