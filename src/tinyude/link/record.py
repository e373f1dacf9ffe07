"""A recording of what a board measured and predicted, as Parquet."""

from __future__ import annotations

import io
from pathlib import Path

import polars as pl

from tinyude.data.whole_file import write_whole
from tinyude.errors import TinyUDEError
from tinyude.link.history import History, row_columns, row_values
from tinyude.link.messages import Row

_FIRST, _GROWTH = 100, 1.25  # rows until the file is written first, and by how much it grows between writes


class Recorder:
    """Rows to a Parquet file that is whole at any time; who is killed loses the last fifth, or 100 rows, at most."""

    def __init__(self, path: Path) -> None:
        if path.suffix != ".parquet":
            raise TinyUDEError(f"{path} does not end in .parquet; a recording is a Parquet file.")
        if not path.parent.is_dir():
            raise TinyUDEError(f"{path.parent} is not a folder; create it first.")
        if path.exists():
            raise TinyUDEError(f"{path} exists; give another name, or move it away.")
        self.path, self.rows = path, 0
        self._columns: list[str] = []
        self._values: list[list[float]] = []
        self._next = _FIRST

    def take(self, history: History, row: Row) -> None:
        columns = row_columns(history)
        if not self._columns:
            self._columns = columns
        if columns != self._columns:
            return  # another board on the line: its rows are none of this recording's
        self._values.append(row_values(history, row))
        self.rows += 1
        if self.rows >= self._next:
            self.flush()
            self._next = int(self.rows * _GROWTH)

    def flush(self) -> None:
        if not self._values:
            return
        table = pl.DataFrame(self._values, schema=self._columns, orient="row", infer_schema_length=None)
        file = io.BytesIO()
        table.with_columns(pl.col("tick").cast(pl.Int64)).write_parquet(file)
        write_whole(self.path, file.getvalue())
