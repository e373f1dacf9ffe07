"""HDF5 and MATLAB 7.3 files: data sets as columns by their path, a matrix as name_1, name_2; read slice by slice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tinyude.data.columns import chosen_columns, same_length
from tinyude.data.extras import needed
from tinyude.data.recordings import Table


def iter_hdf5(path: Path, columns: Sequence[str] | None, rows: int) -> Iterator[Table]:
    """Columns of an HDF5 file in pieces; groups are separated by / as in HDF5, by . in a .mat file."""
    h5py = needed("h5py", "hdf5")
    separator = "." if path.suffix.lower() == ".mat" else "/"
    with h5py.File(path, "r") as file:
        found: dict[str, tuple[Any, int | None]] = {}

        def visit(name: str, item: Any) -> None:
            if isinstance(item, h5py.Dataset) and _is_numeric(item) and not name.startswith("#"):
                for column, place in _series(name.replace("/", separator), item):
                    found[column] = item, place

        file.visititems(visit)
        chosen = chosen_columns(list(found), columns, path)
        chosen, length = same_length({name: max(found[name][0].shape) for name in chosen}, columns is None, path)
        for start in range(0, length, rows):
            yield {name: _slice(*found[name], start, start + rows) for name in chosen}


def _is_numeric(item: Any) -> bool:
    kind = item.attrs.get("MATLAB_class", b"double")
    return item.dtype.kind in "fiub" and 1 <= item.ndim <= 2 and item.size > 0 and kind not in (b"char", b"cell")


def _series(name: str, item: Any) -> Iterator[tuple[str, int | None]]:
    """The columns of a data set and their place along its shorter side."""
    count = 1 if item.ndim == 1 else min(item.shape)
    if count == 1:
        yield name, None if item.ndim == 1 else 0
    else:
        yield from ((f"{name}_{place + 1}", place) for place in range(count))


def _slice(item: Any, place: int | None, start: int, stop: int) -> Any:
    if place is None:
        part = item[start:stop]
    else:
        along = item.shape[0] >= item.shape[1]
        part = item[start:stop, place] if along else item[place, start:stop]
    return np.asarray(part, dtype=np.float64)
