"""Logs in files of any known kind as columns of float64; nothing in a file is ever executed."""

from __future__ import annotations

import errno
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tinyude.data.archives import read_mat, read_npz
from tinyude.data.columns import chosen_columns, same_length
from tinyude.data.csv_file import MAX_COLUMNS, MISSING, iter_csv_frames
from tinyude.data.declared_size import check_declared_size
from tinyude.data.frames import in_months
from tinyude.errors import TinyUDEError, no_such_file
from tinyude.physics.expressions import Array
from tinyude.physics.syntax import short

Table = dict[str, Array]

ROWS = 200_000
_CSV_ENDINGS = (".csv", ".tsv", ".txt", ".dat", ".log")
_PACKED = (".gz", ".zst")
_ISO_DATE = r"^\d{4}-\d{2}-\d{2}[T ]"


def read_table(path: str | Path, columns: Sequence[str] | None = None) -> Table:
    """The named columns of a file as float64 arrays, all by default; missing values are NaN."""
    chunks = list(iter_table(path, columns))
    return {name: np.concatenate([chunk[name] for chunk in chunks]) for name in chunks[0]}


class TextColumnError(TinyUDEError):
    """A column holds text; `numeric` names the columns that hold numbers."""

    def __init__(self, message: str, numeric: Sequence[str]) -> None:
        super().__init__(message)
        self.numeric = list(numeric)


def first_numbers(path: str | Path) -> Table:
    """The first rows of a file, without text columns such as comments."""
    try:
        return next(iter_table(path))
    except TextColumnError as error:
        if not error.numeric:
            raise
        return next(iter_table(path, error.numeric))


def iter_table(
    path: str | Path,
    columns: Sequence[str] | None = None,
    rows: int = ROWS,
    time: str | None = None,
    held: Collection[str] = (),
) -> Iterator[Table]:
    """The same in pieces of at most `rows` rows, one of them in memory at a time (.mat 7 and .npz: the whole file).

    Parameters
    ----------
    path : path-like
        A file, or the folder of a ROS 2 bag.
    columns : sequence of str, optional
        Which ones; all by default. Required for a recording whose channels have separate time stamps.
    rows : int, optional
        Rows of a piece.
    time : str, optional
        The column of the time. Of a recording: the channel or topic whose stamps make the rows.
    held : collection of str, optional
        Columns that hold their value until the next sample, as inputs do; this matters for recordings alone.

    Raises
    ------
    TinyUDEError
        When the file cannot be read, lacks a column, or holds no rows.
    """
    path = Path(path)
    if rows < 1:
        raise TinyUDEError(f"rows is {rows}; ask for at least 1 row per piece.")
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise TinyUDEError(
            f"{path} is not a regular file; copy its content into one, because it is read more than once."
        )
    empty = True
    try:
        for piece in _pieces_of(path, columns, rows, time, held):
            empty = False
            yield piece
    except FileNotFoundError:
        raise no_such_file(path) from None
    except OSError as error:
        reason = (error.strerror or str(error)).rstrip(".")
        raise TinyUDEError(f"Cannot read {path}: {reason}; check the file and its permissions.") from None
    if empty:
        raise TinyUDEError(f"{path} holds no rows; give a file with one row per sample.")


def _pieces_of(
    path: Path, columns: Sequence[str] | None, rows: int, time: str | None, held: Collection[str]
) -> Iterator[Table]:
    ending = "" if path.is_dir() else path.suffix.lower()
    if ending in _PACKED and Path(path.stem).suffix.lower() in _CSV_ENDINGS:
        return _iter_csv(path, columns, rows)
    if ending in _CSV_ENDINGS:
        return _iter_csv(path, columns, rows)
    if ending in _TABLES:
        return _TABLES[ending](path, columns, rows)
    if ending not in _RECORDINGS:
        known = " ".join((*_CSV_ENDINGS, *_TABLES, *filter(None, _RECORDINGS)))
        raise TinyUDEError(f"{path} does not have the ending of a log; give one of {known} or a ROS 2 bag.")
    if not columns:
        raise TinyUDEError(f"The channels of {path} have separate time stamps; name the columns to read.")
    path.stat()  # a missing file is named as such
    module, kind = _RECORDINGS[ending]
    reader = getattr(import_module(f"tinyude.data.{module}"), f"iter_{kind}")
    return _by_another_library(reader(path, columns, rows, time, held), path)


def recording_columns(path: Path) -> dict[str, list[str]]:
    """Columns of a recording whose channels have separate time stamps, by what [time] names; {} for a table."""
    ending = "" if path.is_dir() else path.suffix.lower()
    if ending not in _RECORDINGS or not path.exists():
        return {}
    module, kind = _RECORDINGS[ending]
    with _damage_named(path):
        found: dict[str, list[str]] = getattr(import_module(f"tinyude.data.{module}"), _LISTS[kind])(path)
    return {time: columns for time, columns in found.items() if columns}


@contextmanager
def _damage_named(path: Path) -> Iterator[None]:
    """Whatever another library raises where it meets a damaged file, in one line."""
    try:
        yield
    except (TinyUDEError, ImportError):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):  # the disk's, not the library's
            raise  # EINVAL: a library that seeks where a damaged file points
        reason = f"{type(error).__name__}: {error}".rstrip(".")
        raise TinyUDEError(
            f"{path} is damaged, or not a {path.suffix} file ({reason}); record or export it again."
        ) from error


def _by_another_library(pieces: Iterator[Table], path: Path) -> Iterator[Table]:
    with _damage_named(path):
        yield from pieces


def _iter_csv(path: Path, columns: Sequence[str] | None, rows: int) -> Iterator[Table]:
    for frame, number in iter_csv_frames(path, lambda names: chosen_columns(names, columns, path), rows):
        yield _numbers(frame, path, number)


def _iter_parquet(path: Path, columns: Sequence[str] | None, rows: int) -> Iterator[Table]:
    yield from _iter_scanned(path, columns, rows, pl.scan_parquet, "a Parquet file")


def _iter_arrow(path: Path, columns: Sequence[str] | None, rows: int) -> Iterator[Table]:
    yield from _iter_scanned(path, columns, rows, pl.scan_ipc, "an Arrow IPC file (Feather 2)")


def _iter_scanned(
    path: Path, columns: Sequence[str] | None, rows: int, scan: Callable[[Path], pl.LazyFrame], kind: str
) -> Iterator[Table]:
    if path.stat().st_size == 0:  # a missing file is named as such
        raise TinyUDEError(f"{path} is empty; give a file with one row per sample.")
    try:
        source = scan(path)
        chosen = chosen_columns(source.collect_schema().names(), columns, path)
        check_declared_size(path, len(chosen) * int(source.select(pl.len()).collect().item()))
        source, start = source.select(chosen), 0
        while (frame := source.slice(start, rows).collect()).height:
            yield _numbers(frame, path, start + 1)
            start += frame.height
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:  # a panic is no PolarsError
        reason = short(str(error).splitlines()[0], 120)
        raise TinyUDEError(f"{path} cannot be read as {kind}: {reason}; save it again as such.") from None


def _iter_npz(path: Path, columns: Sequence[str] | None, rows: int) -> Iterator[Table]:
    yield from _pieces(read_npz(path), path, columns, rows)


def _iter_mat(path: Path, columns: Sequence[str] | None, rows: int) -> Iterator[Table]:
    variables = read_mat(path)
    yield from _iter_hdf5(path, columns, rows) if variables is None else _pieces(variables, path, columns, rows)


def cell_columns(path: Path) -> dict[str, dict[int, str]]:
    """Columns in cells of a MATLAB file, by their name without the cell and the cell's number.

    theta{1}, theta{2} are {"theta": {1: "theta{1}", 2: "theta{2}"}}: the runs of one signal.
    """
    found: dict[str, dict[int, str]] = {}
    for name in _mat_columns(path) if path.suffix.lower() == ".mat" else ():
        if place := re.search(r"\{(\d+)\}", name):
            found.setdefault(name[: place.start()] + name[place.end() :], {})[int(place[1])] = name
    return found


def _mat_columns(path: Path) -> list[str]:
    variables = read_mat(path)
    if variables is not None:
        return [name for entry in variables.items() for name, _ in _flattened(*entry)]
    from tinyude.data.hdf5 import hdf5_columns

    with _damage_named(path):
        return hdf5_columns(path)


def _iter_hdf5(path: Path, columns: Sequence[str] | None, rows: int) -> Iterator[Table]:
    from tinyude.data.hdf5 import iter_hdf5

    return _by_another_library(iter_hdf5(path, columns, rows), path)


def _pieces(variables: Mapping[str, Any], path: Path, columns: Sequence[str] | None, rows: int) -> Iterator[Table]:
    found = dict(islice((item for entry in variables.items() for item in _flattened(*entry)), MAX_COLUMNS + 1))
    if len(found) > MAX_COLUMNS:
        raise TinyUDEError(f"{path} holds more than {MAX_COLUMNS:,} columns; keep those that were recorded.")
    chosen = chosen_columns(list(found), columns, path)
    chosen, length = same_length({name: len(found[name]) for name in chosen}, columns is None, path)
    for start in range(0, length, rows):
        yield {name: found[name][start : start + rows] for name in chosen}


def _flattened(name: str, value: Any) -> Iterator[tuple[str, Array]]:
    """Vectors keep their name; a matrix gives name_1, name_2, a cell array name{1}, name{2}, a struct name.field."""
    value = _times_in_seconds(np.asarray(value))
    if value.dtype.names:
        for field in value.dtype.names:
            yield from _flattened(f"{name}.{field}", value[field].ravel()[0] if value.size == 1 else value[field])
    elif value.dtype == object:
        for position, item in enumerate(value.ravel(), start=1):
            yield from _flattened(f"{name}{{{position}}}", item)
    elif value.dtype.kind in "fiub" and value.ndim <= 2:
        matrix = np.atleast_2d(value.astype(np.float64, copy=False))
        series = matrix if matrix.shape[1] >= matrix.shape[0] else matrix.T  # time runs along the longer side
        if len(series) == 1:
            yield name, series[0]
        else:
            yield from ((f"{name}_{position}", row) for position, row in enumerate(series, start=1))


def _times_in_seconds(value: np.ndarray) -> np.ndarray:
    """Dates as seconds since 1970, spans of time as seconds; anything else as it is."""
    if value.dtype.kind not in "mM" or (value.dtype.kind == "m" and in_months(value)):
        return value
    fine = value.astype(f"{value.dtype.kind}8[us]")
    return np.where(np.isnat(fine), np.nan, fine.astype(np.int64) / 1e6)


def _numbers(frame: pl.DataFrame, path: Path, first_row: int) -> Table:
    """Every column as float64, missing values as NaN, dates in seconds; other text is an error that names it."""
    table = {}
    for name in frame.columns:
        column = frame[name]
        plain = _dates_in_seconds(column)
        if not (plain.dtype.is_numeric() or plain.dtype in (pl.String, pl.Boolean, pl.Null)):
            raise TinyUDEError(f"{path}: the column {name!r} is of type {column.dtype}; give numbers, time in seconds.")
        cast = plain.cast(pl.Float64, strict=False)
        if len(wrong := _text_rows(column, cast)):
            numeric = [n for n in frame.columns if not len(_text_rows(frame[n]))]
            raise TextColumnError(
                f"{path}: the column {name!r} holds {column[wrong[0]]!r} near line {first_row + wrong[0]}; "
                "it must hold numbers (dates as 2026-01-31T12:00:00), and an empty cell or NA for a missing value.",
                numeric,
            )  # fmt: skip
        table[name] = cast.fill_null(np.nan).to_numpy().astype(np.float64, copy=False)
    return table


def _text_rows(column: pl.Series, cast: pl.Series | None = None) -> pl.Series:
    """Rows of a column that hold text, neither numbers nor dates nor what stands for a missing value."""
    if column.dtype != pl.String:
        return pl.Series([], dtype=pl.UInt32)
    cast = _dates_in_seconds(column).cast(pl.Float64, strict=False) if cast is None else cast
    return (cast.is_null() & column.is_not_null() & ~column.is_in(MISSING)).arg_true()


def _dates_in_seconds(column: pl.Series) -> pl.Series:
    """Dates, ISO 8601 text among them, as seconds since 1970, spans of time as seconds; anything else as it is."""
    if column.dtype == pl.String and column.str.contains(_ISO_DATE).any():
        column = column.str.to_datetime(time_unit="us", time_zone="UTC", strict=False)
    if column.dtype == pl.Duration:
        return column.dt.total_microseconds() / 1e6
    if column.dtype in (pl.Date, pl.Datetime):
        return column.cast(pl.Datetime("us")).dt.epoch("us") / 1e6
    return column


_TABLES: dict[str, Callable[[Path, Sequence[str] | None, int], Iterator[Table]]] = {
    ".parquet": _iter_parquet, ".pq": _iter_parquet, ".feather": _iter_arrow, ".arrow": _iter_arrow,
    ".mat": _iter_mat, ".npz": _iter_npz, ".h5": _iter_hdf5, ".hdf5": _iter_hdf5,
}  # fmt: skip
_RECORDINGS = {  # module and kind; "": a folder
    "": ("ros_logs", "ros_log"), ".bag": ("ros_logs", "ros_log"), ".db3": ("ros_logs", "ros_log"),
    ".mcap": ("ros_logs", "ros_log"), ".ulg": ("ulog", "ulog"), ".mf4": ("mdf", "mdf"), ".mdf": ("mdf", "mdf"),
}  # fmt: skip
_LISTS = {"ros_log": "ros_columns", "ulog": "ulog_columns", "mdf": "mdf_columns"}
