"""A recorded log as the signals of a model: which column is what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.data.grid import Piece
from tinyude.data.log import Log
from tinyude.data.streams import Source, Stream, make_stream, prepared
from tinyude.data.tables import ROWS, Table, cell_columns, iter_table
from tinyude.errors import TinyUDEError

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Columns:
    """How a log holds the signals of a model; a physics file has the same fields."""

    time: str | float  # the column of the time stamps, or the sample period in seconds
    measured: Mapping[str, str]  # state -> column
    inputs: Mapping[str, str] = field(default_factory=dict)
    wrapped: Mapping[str, float] = field(default_factory=dict)  # measured angle -> one revolution, by which it jumps
    scales: Mapping[str, float] = field(default_factory=dict)  # column -> what its values are multiplied by

    @classmethod
    def of(cls, source: Any) -> Columns:
        """Those of a PhysicsFile, or of a dictionary that came out of a model file."""
        values = source if isinstance(source, Mapping) else vars(source)
        try:
            names = {key: {str(k): str(v) for k, v in values[key].items()} for key in ("measured", "inputs")}
            numbers = {key: {str(k): float(v) for k, v in values[key].items()} for key in ("wrapped", "scales")}
            time = values["time"] if isinstance(values["time"], str) else float(values["time"])
        except (KeyError, TypeError, ValueError, AttributeError):
            raise TinyUDEError("The model does not say which columns it was fitted to; give --physics FILE.") from None
        return cls(time, names["measured"], names["inputs"], numbers["wrapped"], numbers["scales"])

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def signals(self) -> list[str]:
        """The columns of the samples and the inputs."""
        return [*self.measured.values(), *self.inputs.values()]

    def renamed(self, names: Mapping[str, str]) -> Columns:
        """The same signals in columns of other names, where `names` has one."""
        inverse = {names.get(column, column): scale for column, scale in self.scales.items()}
        return Columns(
            names.get(self.time, self.time) if isinstance(self.time, str) else self.time,
            {state: names.get(column, column) for state, column in self.measured.items()},
            {name: names.get(column, column) for name, column in self.inputs.items()},
            self.wrapped,
            inverse,
        )

    def piece(self, table: Table) -> Piece:
        """A stretch of a log file as samples, inputs and stamps, in the units of the model."""

        def scaled(columns: list[str]) -> Array:
            return np.column_stack([table[column] * self.scales.get(column, 1.0) for column in columns])

        rows = len(next(iter(table.values())))
        inputs = scaled(list(self.inputs.values())) if self.inputs else np.empty((rows, 0))
        stamps = scaled([self.time])[:, 0] if isinstance(self.time, str) else None
        return Piece(scaled(list(self.measured.values())), inputs, stamps)


def read_log(path: str | Path, columns: Columns) -> Log:
    """The signals of a whole log file, angles that wrap unwrapped."""
    parts = list(iter_log(path, columns))
    t, Y = np.concatenate([part.t for part in parts]), np.concatenate([part.Y for part in parts])
    if len(t) < 2:
        raise TinyUDEError(f"{path} has {len(t)} rows with a time; at least 2 are needed.")
    return Log(t, Y, np.concatenate([part.u for part in parts if part.u is not None]) if columns.inputs else None)


def iter_log(path: str | Path, columns: Columns, rows: int = ROWS) -> Iterator[Log]:
    """The same in pieces of at most `rows` rows, one of them in memory at a time; rows without a time are left out.

    Several runs in one file come one after the other.
    """
    for run in _runs(path, columns):
        start = 0
        for piece in _pieces(path, run, rows):
            count = len(piece.samples)
            ticks = np.arange(start, start + count, dtype=np.float64)
            t = ticks * float(run.time) if piece.stamps is None else piece.stamps
            timed = np.isfinite(t)
            yield Log(t[timed], piece.samples[timed], piece.inputs[timed] if run.inputs else None)
            start += count


def log_stream(paths: Sequence[str | Path], columns: Columns, rows: int = ROWS, several_rates: bool = False) -> Stream:
    """Log files as runs to fit; of long ones only `rows` rows are in memory at a time, read again in every pass.

    Cells of a MATLAB file are runs too: theta = "theta" reads theta{1}, theta{2}, ...
    several_rates: runs that fit in memory may have other sample rates than most; they are then in `sources` alone.
    """
    sources = [_source(path, run, rows) for path in paths for run in _runs(path, columns)]
    names, inputs = list(columns.measured), list(columns.inputs)
    stream = make_stream(sources, names, inputs, several_rates=several_rates)
    whole = isinstance(stream.runs, list)
    return stream if whole or not several_rates else make_stream(sources, names, inputs)


def _runs(path: str | Path, columns: Columns) -> list[Columns]:
    """The columns of every run in a file: one, unless its signals are in cells."""
    cells = cell_columns(Path(path))
    wanted = [*([columns.time] if isinstance(columns.time, str) else []), *columns.signals]
    held = [cells[name] for name in wanted if name in cells]
    if not held:
        return [columns]
    if any(set(each) != set(held[0]) for each in held):
        counts = ", ".join(f"{name} in {len(cells[name])}" for name in wanted if name in cells)
        raise TinyUDEError(f"{path} holds {counts} cells; every signal of a run must have a cell of the same number.")
    return [columns.renamed({n: cells[n][k] for n in wanted if n in cells}) for k in sorted(held[0])]


def _source(path: str | Path, columns: Columns, rows: int) -> Source:
    time, scale = columns.time, columns.scales.get(str(columns.time), 1.0)
    if not isinstance(time, str):
        return Source(partial(_pieces, path, columns, rows), period=time)
    return Source(partial(_pieces, path, columns, rows), partial(_stamps, path, time, scale, rows))


def _stamps(path: str | Path, time: str, scale: float, rows: int) -> Iterator[np.ndarray]:
    return (table[time] * scale for table in iter_table(path, [time], rows, time))


def _pieces(path: str | Path, columns: Columns, rows: int) -> Iterator[Piece]:
    stamps = [columns.time] if isinstance(columns.time, str) else []
    revolutions = [columns.wrapped.get(state, 0.0) for state in columns.measured]
    time = stamps[0] if stamps else None
    tables = iter_table(path, [*stamps, *columns.signals], rows, time, set(columns.inputs.values()))
    return prepared((columns.piece(table) for table in tables), revolutions)
