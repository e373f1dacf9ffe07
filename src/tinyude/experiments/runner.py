"""Runs units once and caches them as JSON: an interrupted run resumes, and experiments share results."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

import tinyude
from tinyude import native
from tinyude.data.whole_file import write_whole
from tinyude.experiments import load
from tinyude.experiments.experiment import Summary, Unit, plain
from tinyude.experiments.sources import module_hash, modules_hash, package_hash

Progress = Callable[[int, int], None]


def reproduce(
    names: Sequence[str],
    quick: bool,
    folder: Path,
    jobs: int = 1,
    progress: Progress | None = None,
    scheduler: str | None = None,
) -> dict[str, Summary]:
    """Run the missing units of the named experiments, and return the numbers of each, with their provenance.

    With the address of a Dask scheduler, units run on its workers (the folder must be shared), otherwise in `jobs`
    processes.
    """
    experiments = {name: load(name) for name in names}
    units = {name: experiment.units(quick) for name, experiment in experiments.items()}
    store = folder / "units"
    store.mkdir(parents=True, exist_ok=True)
    _do([unit for entries in units.values() for unit in entries], store, jobs, progress, scheduler)
    summaries = {}
    for name, experiment in experiments.items():
        outcomes = [(unit.config, _read(store, unit)["result"]) for unit in units[name]]
        summary = plain(experiment.summarise(outcomes, quick))
        summaries[name] = {
            "name": name,
            "title": experiment.TITLE,
            **summary,
            "provenance": _provenance(units[name], quick),
        }
        write_whole(folder / f"{name}.json", dump(summaries[name]))
    return summaries


def unit_key(unit: Unit) -> str:
    """A short hash of all that a result depends on: function, configuration, version and sources."""
    function = f"{unit.run.__module__}.{unit.run.__qualname__}"
    package = modules_hash(unit.through) if unit.through else package_hash()
    said = [function, plain(unit.config), tinyude.__version__, package, module_hash(unit.run.__module__)]
    return sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:16]


def dump(value: Any) -> str:
    return json.dumps(value, indent=1, allow_nan=False) + "\n"


def _do(units: list[Unit], store: Path, jobs: int, progress: Progress | None, scheduler: str | None) -> None:
    """Run the units that have no result yet, the longest first."""
    distinct = {unit_key(unit): unit for unit in units}
    todo = sorted((key for key in distinct if not (store / f"{key}.json").exists()), key=lambda k: -distinct[k].cost)
    tenths = {key: max(1, round(10.0 * distinct[key].cost)) for key in todo}
    total, done = sum(tenths.values()), 0
    for key in _done(distinct, todo, store, jobs, scheduler) if todo else ():
        done += tenths[key]
        if progress:
            progress(done, total)


def _done(units: dict[str, Unit], todo: list[str], store: Path, jobs: int, scheduler: str | None) -> Iterator[str]:
    """Keys of the units, in order of completion."""
    if scheduler is None:
        work = (delayed(_do_one)(units[key], key, store) for key in todo)
        yield from Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)(work)
        return
    from tinyude.fleet.cluster import connected, results

    with connected(scheduler) as client:
        for pair, _, error in results(client, partial(_do_pair, store=store.absolute()), [(units[k], k) for k in todo]):
            if error is not None:
                raise error
            yield pair[1]


def _do_pair(pair: tuple[Unit, str], store: Path) -> str:
    return _do_one(*pair, store)


def _do_one(unit: Unit, key: str, store: Path) -> str:
    result = plain(unit.run(unit.config))
    write_whole(store / f"{key}.json", dump({"unit": unit.config, "result": result}))
    return key


def _read(store: Path, unit: Unit) -> Any:
    return json.loads((store / f"{unit_key(unit)}.json").read_text(encoding="utf-8"))


def _provenance(units: list[Unit], quick: bool) -> dict[str, Any]:
    keys = sorted({unit_key(unit) for unit in units})
    return {
        "version": tinyude.__version__,
        "engine": "native" if native.available() else "reference",
        "quick": quick,
        "seeds": sorted({unit.config["seed"] for unit in units if "seed" in unit.config}),
        "configuration": sha256("".join(keys).encode()).hexdigest()[:16],
        "units": keys,
    }
