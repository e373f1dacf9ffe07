"""HDF5 and MATLAB 7.3 files: data sets as columns by their path; read slice by slice.

A matrix is name_1, name_2; the fields of a table are members of a group of its name; cells of a MATLAB file, which are
references to data sets elsewhere in it, are name{1}, name{2}."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from tinyude.data.columns import chosen_columns, same_length
from tinyude.data.csv_file import MAX_COLUMNS
from tinyude.data.declared_size import NUMBER, check_declared_size
from tinyude.data.extras import needed
from tinyude.data.matlab import MAX_DEPTH
from tinyude.data.recordings import Table
from tinyude.errors import TinyUDEError

CACHE = 1 << 20  # bytes of unpacked chunks that HDF5 keeps by itself
Place = int | str | None  # of a column in its data set: along the shorter side, a field, or all of it


def iter_hdf5(path: Path, columns: Sequence[str] | None, rows: int) -> Iterator[Table]:
    """Columns of an HDF5 file in pieces; groups are separated by / as in HDF5, by . in a .mat file."""
    h5py = needed("h5py", "hdf5")
    with h5py.File(path, "r") as file:
        found = _all_columns(h5py, file, path)
        chosen = chosen_columns(list(found), columns, path)
        items = {found[name][0] for name in chosen}
        check_declared_size(path, sum(max(item.size, _chunk(item)) for item in items))
        chosen, length = same_length({name: max(found[name][0].shape) for name in chosen}, columns is None, path)
        largest = NUMBER * max(map(_chunk, items), default=0)
    # A chunk that is not kept would be unpacked again for every piece.
    with h5py.File(path, "r", rdcc_nbytes=max(CACHE, largest)) as file:
        found = _all_columns(h5py, file, path)
        for start in range(0, length, rows):
            yield {name: _slice(*found[name], start, start + rows) for name in chosen}


def _chunk(item: Any) -> int:
    """Numbers of a data set that are unpacked at once."""
    return math.prod(item.chunks or ())


def hdf5_columns(path: Path) -> list[str]:
    """The names of all columns."""
    h5py = needed("h5py", "hdf5")
    with h5py.File(path, "r") as file:
        return list(_all_columns(h5py, file, path))


def _all_columns(h5py: Any, file: Any, path: Path) -> dict[str, tuple[Any, Place]]:
    """Every column's data set and place in it."""
    separator = "." if path.suffix.lower() == ".mat" else "/"
    entered: set[int] = set()  # groups and cells, each once: links may go round in circles

    def walk(name: str, item: Any, depth: int) -> Iterator[tuple[str, tuple[Any, Place]]]:
        if depth > MAX_DEPTH:
            raise TinyUDEError(f"{path}: groups or cells are nested deeper than {MAX_DEPTH}; save what was recorded.")
        cells = isinstance(item, h5py.Dataset) and h5py.check_ref_dtype(item.dtype) is h5py.Reference
        if isinstance(item, h5py.Group) or cells:
            place = int(h5py.h5o.get_info(item.id).addr)
            if place in entered:
                return
            entered.add(place)
        if isinstance(item, h5py.Group):
            for key in item:  # what begins with # is where MATLAB keeps what cells refer to; no other file is read
                if not key.startswith("#") and isinstance(item.get(key, getlink=True), h5py.HardLink):
                    yield from walk(f"{name}{separator}{key}" if name else key, item[key], depth + 1)
        elif cells:
            if item.size > MAX_COLUMNS:
                raise TinyUDEError(f"{path}: {name!r} holds more than {MAX_COLUMNS:,} cells; keep what was recorded.")
            for number, reference in enumerate(item[()].ravel(), start=1):
                if reference:
                    yield from walk(f"{name}{{{number}}}", file[reference], depth + 1)
        elif isinstance(item, h5py.Dataset) and not item.external and not item.is_virtual:
            yield from ((column, (item, place)) for column, place in _series(name, item, separator))

    found = dict(islice(walk("", file, 0), MAX_COLUMNS + 1))
    if len(found) > MAX_COLUMNS:
        raise TinyUDEError(f"{path} holds more than {MAX_COLUMNS:,} columns; keep those that were recorded.")
    return found


def _series(name: str, item: Any, separator: str) -> Iterator[tuple[str, Place]]:
    """The columns of a data set: the fields of a table, or the places along the shorter side of an array."""
    if not 1 <= item.ndim <= 2 or item.size == 0 or item.attrs.get("MATLAB_class") == b"char":
        return
    if item.dtype.names and item.ndim == 1:
        yield from ((f"{name}{separator}{f}", f) for f in item.dtype.names if item.dtype[f].kind in "fiub")
    elif item.dtype.kind in "fiub" and item.ndim == 1:
        yield name, None
    elif item.dtype.kind in "fiub":
        count = min(item.shape)
        yield from ((name if count == 1 else f"{name}_{place + 1}", place) for place in range(count))


def _slice(item: Any, place: Place, start: int, stop: int) -> Any:
    if place is None:
        part = item[start:stop]
    elif isinstance(place, str):
        part = item.fields(place)[start:stop]
    else:
        along = item.shape[0] >= item.shape[1]
        part = item[start:stop, place] if along else item[place, start:stop]
    return np.asarray(part, dtype=np.float64)
