"""One unit of work: read a machine's log of one period, fit it, keep the model, and return the result as plain data."""

from __future__ import annotations

import hashlib
import json
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import fsspec

import tinyude
from tinyude.data.logs import Columns, log_stream
from tinyude.data.streams import Stream
from tinyude.errors import TinyUDEError
from tinyude.estimator.ude import UDE
from tinyude.fleet.evidence import coefficient_rows, unit_figures
from tinyude.fleet.paths import Unit
from tinyude.fleet.store import Store, report_path
from tinyude.physics.file import PhysicsFile

OK, FAILED = "ok", "failed"


@dataclass(frozen=True)
class Recipe:
    """How every unit is fitted: the known physics, the terms that all machines learn, and settings of the estimator."""

    rig: PhysicsFile
    terms: tuple[str, ...] = ()  # () for the estimator's own library
    options: Mapping[str, Any] = field(default_factory=dict)

    def with_terms(self, terms: tuple[str, ...]) -> Recipe:
        return replace(self, terms=terms)

    def windows_only(self) -> Recipe:
        """Without refinement: enough where sums are formed."""
        return replace(self, options={**self.options, "refine": False})

    @property
    def key(self) -> str:
        """A hash of everything but the data that a result depends on."""
        said = {
            "version": tinyude.__version__,
            "physics": self.rig.physics.to_dict(),
            "columns": Columns.of(self.rig).to_dict(),
            "on": self.rig.residual_on,
            "sees": self.rig.residual_sees,
            "terms": self.terms,
            "options": dict(self.options),
        }
        return hashlib.sha256(json.dumps(said, sort_keys=True, default=str).encode()).hexdigest()

    def estimator(self) -> UDE:
        rig = self.rig
        options = {"hidden": (), **self.options}
        if self.terms:
            options |= {"library": list(self.terms), "keep": True}  # only the same coefficients can be compared
        return UDE(rig.physics, measured=tuple(rig.measured), on=rig.residual_on, sees=rig.residual_sees, **options)


def fit_unit(unit: Unit, recipe: Recipe, store: Store) -> dict[str, Any]:
    """Fit a unit unless its result is kept already; what goes wrong is recorded, never raised.

    Returns
    -------
    dict
        A row of `units.parquet`, with the coefficients under `terms`. It is in the store when this returns.
    """
    started, used = time.perf_counter(), time.process_time()
    row: dict[str, Any] = {"machine": unit.machine, "period": unit.period, "recipe": recipe.key}
    row |= {"labels": dict(unit.labels), "files": list(unit.files), "stamps": list(unit.stamps)}
    paths: list[Path] = []
    try:
        with local_logs(unit) as paths:
            row["key"] = unit_key(paths, recipe)
            if (kept := store.read(unit, row["key"])) is not None:
                kept |= {"files": row["files"], "stamps": row["stamps"]}
                store.write(unit, row["key"], kept)  # where the same content lies now
                return kept
            row |= _fitted(unit, paths, recipe, store, row["key"])
    except TinyUDEError as error:
        row |= _failure(_with_addresses(str(error), unit, paths), lasting=True)
    except (OSError, MemoryError) as error:
        row |= _failure(f"{type(error).__name__}: {error}", lasting=False)
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        message = f"{type(error).__name__}: {error} ({Path(place.filename).name}:{place.lineno})"
        row |= _failure(message, lasting=True)
    row["seconds"], row["cpu_seconds"] = time.perf_counter() - started, time.process_time() - used
    row.setdefault("key", _lost_key(unit, recipe))
    store.write(unit, row["key"], row)
    return row


def _fitted(unit: Unit, paths: list[Path], recipe: Recipe, store: Store, key: str) -> dict[str, Any]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        stream = read_stream(paths, recipe.rig)
        ude = recipe.estimator().fit(stream)
    ude.diagnostics_["files"] = [_provenance(name, path) for name, path in zip(_names(unit), paths, strict=True)]
    ude.diagnostics_["columns"] = Columns.of(recipe.rig).to_dict()
    figures = unit_figures(ude)
    said = [*figures["warnings"], *(str(entry.message) for entry in caught)]
    figures["warnings"] = list(dict.fromkeys(_with_addresses(text, unit, paths) for text in said))
    return {
        "status": OK,
        "error": "",
        "lasting": True,
        "terms": coefficient_rows(ude),
        "model": store.write_model(unit, key, ude),
        **figures,
    }


def read_stream(paths: list[Path], rig: PhysicsFile) -> Stream:
    return log_stream(paths, Columns.of(rig))


def unit_key(paths: list[Path], recipe: Recipe) -> str:
    """A short name of the logs' content and the recipe: what a result is kept under."""
    digest = hashlib.sha256(recipe.key.encode())
    for path in paths:
        with open(path, "rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:16]


@contextmanager
def local_logs(unit: Unit) -> Iterator[list[Path]]:
    """The unit's logs as files here: in place where they are local, else copied for as long as they are needed."""
    with tempfile.TemporaryDirectory(prefix="tinyude-") as folder:
        if unit.content is not None:
            path = Path(folder) / "frame.parquet"
            path.write_bytes(unit.content)
            yield [path]
            return
        paths = []
        for number, address in enumerate(unit.files):
            system, path_there = fsspec.url_to_fs(address)
            if "file" in (system.protocol if isinstance(system.protocol, tuple) else (system.protocol,)):
                paths.append(Path(path_there))
            else:
                here = Path(folder) / f"{number}-{Path(path_there).name}"
                system.get_file(path_there, str(here))
                paths.append(here)
        yield paths


def _with_addresses(text: str, unit: Unit, paths: list[Path]) -> str:
    """A message about local copies, rewritten to name the original logs."""
    for path, name in zip(map(str, paths), _names(unit), strict=False):
        text = text.replace(path, name)
    return text


def _names(unit: Unit) -> list[str]:
    return list(unit.files) or [f"{unit.machine} {unit.period}".strip()]


def _provenance(name: str, path: Path) -> dict[str, str]:
    with open(path, "rb") as file:
        return {"name": name, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


def _failure(message: str, lasting: bool) -> dict[str, Any]:
    """Lasting: the same content fails again; failures of the computer (no space, no network) are retried next time."""
    return {"status": FAILED, "error": " ".join(message.split())[:500], "lasting": lasting, "terms": [], "model": ""}


def _lost_key(unit: Unit, recipe: Recipe) -> str:
    """A name for the result of a unit whose files could not be read."""
    return hashlib.sha256(f"{recipe.key} {unit.files} {unit.stamps}".encode()).hexdigest()[:16]


def write_report(model: str, store: Store) -> None:
    """The report page of a stored model, in the folder of the fleet's page."""
    from tinyude.estimator.ude import load
    from tinyude.report.collect import collect
    from tinyude.report.page import render

    with tempfile.TemporaryDirectory(prefix="tinyude-") as folder:
        here = Path(folder) / "model.tinyude"
        here.write_bytes(store.get(model) or b"")
        page = render(collect(load(here), title=f"The model {model.removeprefix('models/')}"))
    store.put(report_path(model), page.encode())
