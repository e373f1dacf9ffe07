"""Results on disk or on any storage of fsspec: one small Parquet file per unit, written whole, named by its content.

units/machine=arm-087/2026-03-01.<key>.parquet     the result of a unit
models/arm-087/2026-03-01.<key>.tinyude            its model
units.parquet  terms.parquet  flags.parquet        all results in three tables
fleet.json  fleet.html                             how they were made, and the page
"""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq

from tinyude.data.whole_file import write_whole
from tinyude.errors import TinyUDEError
from tinyude.estimator.ude import UDE
from tinyude.fleet.paths import Unit

AT_ONCE = 1000  # results that are read together: some megabytes
_TERM = pa.struct(
    [("kind", pa.string()), ("state", pa.string()), ("term", pa.string())]
    + [(name, pa.float64()) for name in ("coefficient", "error", "low", "high", "known")]
)
RESULT = pa.schema(
    [(name, pa.string()) for name in ("machine", "period", "key", "recipe", "status", "error", "model", "verdict")]
    + [("lasting", pa.bool_()), ("labels", pa.map_(pa.string(), pa.string()))]
    + [(name, pa.list_(pa.string())) for name in ("files", "stamps", "warnings", "channels")]
    + [(name, pa.int64()) for name in ("samples", "windows", "accepted")]
    + [(name, pa.float64()) for name in ("health", "seconds", "cpu_seconds")]
    + [("noise", pa.list_(pa.float64())), ("terms", pa.list_(_TERM))]
)


@dataclass(frozen=True)
class Store:
    """A folder of results; "" keeps nothing."""

    address: str

    @property
    def keeps(self) -> bool:
        return bool(self.address)

    def _place(self) -> tuple[Any, str]:
        """The file system and the folder on it, as they are now: workers write there too."""
        system, root = fsspec.url_to_fs(self.address)
        system.invalidate_cache()  # of listings
        return system, root

    def path(self, unit: Unit, key: str) -> str:
        name = f"{quote(unit.period, safe='')}.{key}.parquet" if unit.period else f"{key}.parquet"
        return f"units/machine={quote(unit.machine, safe='')}/{name}"

    def read(self, unit: Unit, key: str) -> dict[str, Any] | None:
        """The kept result of this content and recipe; None where there is none, or it failed for a passing reason."""
        if not self.keeps:
            return None
        system, root = self._place()
        try:
            rows = read_rows(system.cat_file(f"{root}/{self.path(unit, key)}"))
        except (FileNotFoundError, pa.ArrowInvalid):
            return None
        return rows[0] if rows and rows[0]["lasting"] else None

    def write(self, unit: Unit, key: str, row: dict[str, Any]) -> None:
        if self.keeps:
            self.put(self.path(unit, key), table_bytes(pa.Table.from_pylist([row], schema=RESULT)))

    def write_model(self, unit: Unit, key: str, ude: UDE) -> str:
        """Keep the model; its path in the store."""
        if not self.keeps:
            return ""
        name = f"{quote(unit.period, safe='')}.{key}.tinyude" if unit.period else f"{key}.tinyude"
        place = f"models/{quote(unit.machine, safe='')}/{name}"
        with tempfile.TemporaryDirectory(prefix="tinyude-") as folder:
            here = Path(folder) / "model.tinyude"
            ude.save(here)
            self.put(place, here.read_bytes())
        return place

    def put(self, name: str, content: bytes) -> None:
        """Write a file whole or not at all."""
        system, root = self._place()
        path = f"{root}/{name}"
        try:
            if is_local(system):
                Path(path).parent.mkdir(parents=True, exist_ok=True)
                write_whole(Path(path), content)
            else:
                system.makedirs(os.path.dirname(path), exist_ok=True)
                system.pipe_file(path, content)  # an object store shows an object when it is complete
        except OSError as error:
            raise OSError(f"Cannot write {path}: {error.strerror or error}") from error

    def get(self, name: str) -> bytes | None:
        if not self.keeps:
            return None
        system, root = self._place()
        try:
            return bytes(system.cat_file(f"{root}/{name}"))
        except FileNotFoundError:
            return None

    def has(self, name: str) -> bool:
        system, root = self._place()
        return bool(self.keeps and system.exists(f"{root}/{name}"))

    def names(self, folder: str) -> list[str]:
        """Files below a folder of the store, from one listing."""
        if not self.keeps:
            return []
        system, root = self._place()
        try:
            return [path.removeprefix(f"{root}/") for path in system.find(f"{root}/{folder}")]
        except FileNotFoundError:
            return []

    def kept(self, recipe: str) -> list[dict[str, Any]]:
        """Lasting results of a recipe."""
        names = [name for name in self.names("units") if name.endswith(".parquet")]
        rows = []
        for start in range(0, len(names), AT_ONCE):
            for content in self._contents(names[start : start + AT_ONCE]):
                try:
                    rows += read_rows(content)
                except pa.ArrowInvalid:
                    continue  # not one of ours, or damaged: it is computed again
        return [row for row in rows if row["recipe"] == recipe and row["lasting"]]

    def _contents(self, names: list[str]) -> list[bytes]:
        """Files that are read together: a remote storage serves many requests at a time."""
        system, root = self._place()
        paths = [f"{root}/{name}" for name in names if not os.path.basename(name).startswith(".")]
        return list(system.cat(paths, on_error="omit").values()) if paths else []

    def plan(self) -> dict[str, Any]:
        """What earlier runs decided for all machines."""
        content = self.get("fleet.json")
        try:
            return dict(json.loads(content)) if content else {}
        except ValueError:
            raise TinyUDEError(f"{self.address}/fleet.json is damaged; delete it or choose another --out.") from None

    def write_plan(self, plan: dict[str, Any]) -> None:
        if self.keeps:
            self.put("fleet.json", (json.dumps(plan, indent=1) + "\n").encode())


def report_path(model: str) -> str:
    """Where the report of a stored model is kept, beside the page."""
    return f"reports/{model.removeprefix('models/').removesuffix('.tinyude')}.html" if model else ""


def is_local(system: Any) -> bool:
    protocols = system.protocol if isinstance(system.protocol, tuple) else (system.protocol,)
    return "file" in protocols


def read_rows(content: bytes) -> list[dict[str, Any]]:
    rows = pq.read_table(pa.BufferReader(content), schema=RESULT).to_pylist()
    for row in rows:
        row["labels"] = dict(row["labels"] or ())
    return rows


def table_bytes(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    return bytes(sink.getvalue().to_pybytes())
