"""HDF5 and MATLAB 7.3 files: data sets as columns by their path; read slice by slice.

A matrix is name_1, name_2; the fields of a table are members of a group of its name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tinyude.data.columns import chosen_columns, same_length
from tinyude.data.extras import needed
from tinyude.data.recordings import Table
from tinyude.errors import TinyUDEError

Place = int | str | None  # of a column in its data set: along the shorter side, a field, or all of it


def iter_hdf5(path: Path, columns: Sequence[str] | None, rows: int) -> Iterator[Table]:
    """Columns of an HDF5 file in pieces; groups are separated by / as in HDF5, by . in a .mat file."""
    h5py = needed("h5py", "hdf5")
    separator = "." if path.suffix.lower() == ".mat" else "/"
    with h5py.File(path, "r") as file:
        found: dict[str, tuple[Any, Place]] = {}
        cells: list[str] = []

        def visit(path: str, item: Any) -> None:
            if isinstance(item, h5py.Dataset) and not path.startswith("#"):
                name = path.replace("/", separator)
                found.update({column: (item, place) for column, place in _series(name, item, separator)})
                if _kind(item) == b"cell":
                    cells.append(name)

        file.visititems(visit)
        for name in set(columns or ()).intersection(cells):
            raise TinyUDEError(f"{path}: {name!r} holds cells; save the file with save -v7, whose cells are runs.")
        chosen = chosen_columns(list(found), columns, path)
        chosen, length = same_length({name: max(found[name][0].shape) for name in chosen}, columns is None, path)
        for start in range(0, length, rows):
            yield {name: _slice(*found[name], start, start + rows) for name in chosen}


def _kind(item: Any) -> Any:
    return item.attrs.get("MATLAB_class", b"double")


def _series(name: str, item: Any, separator: str) -> Iterator[tuple[str, Place]]:
    """The columns of a data set: the fields of a table, or the places along the shorter side of an array."""
    if not 1 <= item.ndim <= 2 or item.size == 0 or _kind(item) in (b"char", b"cell"):
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
