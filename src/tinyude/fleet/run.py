"""tu.fleet.fit: find the logs, choose what all machines learn, fit each, compare, write tables and page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import polars as pl

import tinyude
from tinyude.errors import TinyUDEError
from tinyude.estimator.ude import UDE
from tinyude.fleet import choice
from tinyude.fleet.choice import Progress
from tinyude.fleet.cluster import connected, results
from tinyude.fleet.paths import Unit, units_of
from tinyude.fleet.result import FleetResult, merge_rows
from tinyude.fleet.store import Store, report_path
from tinyude.fleet.watch import FALSE_ALARMS
from tinyude.fleet.work import FAILED, OK, Recipe, fit_unit, write_report
from tinyude.physics import Physics
from tinyude.physics.file import PhysicsFile, load_physics_file
from tinyude.physics.library import given_terms

NO_REPORTS, FLAGGED_REPORTS, ALL_REPORTS = "none", "flagged", "all"


def fit(
    logs: str | PathLike[str] | Sequence[str | PathLike[str]] | Mapping[Any, Any],
    physics: str | PathLike[str] | PhysicsFile | Physics,
    *,
    out: str | PathLike[str] = "",
    terms: Sequence[str] | None = None,
    scheduler: str | None = None,
    workers: int | None = None,
    client: Any = None,
    false_alarms: float = FALSE_ALARMS,
    options: Mapping[str, Any] | None = None,
    reports: str = NO_REPORTS,
    command: str = "",
    progress: Progress | None = None,
    started: Callable[[Any], None] | None = None,
) -> FleetResult:
    """Fit every machine and period of a fleet, and report which machines differ and which change.

    Parameters
    ----------
    logs : str, sequence of str or mapping
        A template such as "logs/{machine}/{date}.parquet" (any address that fsspec opens), several of them, or frames:
        `{machine: frame}` or `{(machine, period): frame}`.
    physics : path, PhysicsFile or Physics
        A physics file, what `load_physics_file` gave, or a Physics whose states, inputs and "time" name the columns.
    out : path or str, default ""
        Folder or address for models, tables and page. What lies there is not computed again. "": keep nothing.
    terms : sequence of str, optional
        The terms that all machines learn; by default they are chosen from a few machines.
    scheduler : str, optional
        Address of a running Dask scheduler, e.g. "tcp://head:8786".
    workers : int, optional
        Processes of a cluster that is started here otherwise; by default one for each core.
    client : distributed.Client, optional
        A connected client, instead of either.
    false_alarms : float, default 0.001
        Share of healthy machines that one run may flag, between 0 and 1.
    options : mapping, optional
        Further arguments of `tinyude.UDE`. Fits have no network unless `hidden` is given. `refine=False` costs less
        CPU time; intervals then leave out what windows round off, such as the kink of dry friction.
    reports : {"none", "flagged", "all"}, default "none"
        Report pages of machines to write in addition to the fleet's page.
    command : str, default ""
        How the run was started, for the page.
    progress : callable, optional
        Called with what is done, units done and units in all.
    started : callable, optional
        Called with the client once it is connected.

    Returns
    -------
    FleetResult
        Tables of all units, terms and flags, and who differs or changes.

    Raises
    ------
    TinyUDEError
        If no log fits the template, no scheduler answers, or it is lost; finished units are kept in `out`.

    Examples
    --------
    >>> found = fit("logs/{machine}/{date}.parquet", "rig.toml", out="fleet")  # doctest: +SKIP
    >>> found.outliers()  # doctest: +SKIP
    """
    if not 0.0 < false_alarms < 1.0:
        raise TinyUDEError(f"false_alarms is {false_alarms}; give a share between 0 and 1, e.g. 0.001.")
    if reports not in (NO_REPORTS, FLAGGED_REPORTS, ALL_REPORTS):
        raise TinyUDEError(f"reports is {reports!r}; use 'none', 'flagged' or 'all'.")
    units = units_of(logs, fspath(out))
    recipe = Recipe(rig_of(physics), options=_options(options or {}))
    store = Store(_address(out))
    report_progress = progress or (lambda what, done, total: None)
    planned = _planned(recipe, store, terms)
    kept = _unchanged(units, store.kept(planned.key)) if planned else []
    done = {(row["machine"], row["period"]) for row in kept}
    todo = [unit for unit in units if (unit.machine, unit.period) not in done]
    rows: list[dict[str, Any]] = []
    report_progress("fitting", len(kept), len(units))
    found = FleetResult(merge_rows(kept), store, store.plan(), false_alarms)
    if todo or _unreported(found, reports):
        with _cluster(scheduler, workers, client, started) as dask:
            recipe = planned or recipe.with_terms(choice.choose_terms(dask, units, recipe, report_progress))
            store.write_plan(_plan(recipe, terms, command))
            rows = _fit_all(
                dask, todo, recipe, store, lambda count: report_progress("fitting", len(kept) + count, len(units))
            )
            found = FleetResult(merge_rows(kept, rows), store, store.plan(), false_alarms)
            _write_reports(dask, found, reports, report_progress)
    if store.keeps:
        found.write()
    return found


def open_fleet(out: str | PathLike[str], false_alarms: float = FALSE_ALARMS) -> FleetResult:
    """Read the results that an earlier run left in a folder.

    Parameters
    ----------
    out : path or str
        The folder or address given to `fit` as `out`.
    false_alarms : float, default 0.001
        Share of healthy machines that may be flagged, between 0 and 1; flags are computed again.

    Returns
    -------
    FleetResult
        All fits that the tables there name.

    Raises
    ------
    TinyUDEError
        If there are none.
    """
    store = Store(_address(out))
    plan = store.plan()
    table = store.get("units.parquet")
    keys = set(pl.read_parquet(table)["key"]) if table else set()
    rows = [row for row in store.kept(plan.get("recipe", "")) if row["key"] in keys]
    if not rows:
        raise TinyUDEError(f"{out} holds no fleet; run `tinyude fleet` with --out {out} first.")
    return FleetResult(merge_rows(rows), store, plan, false_alarms)


def _options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of the estimator; a wrong name is reported once, not by every unit."""
    known = set(UDE._get_param_names()) - {"physics", "measured", "on", "sees"}  # which the physics file says
    if wrong := sorted(set(options) - known):
        raise TinyUDEError(f"options has {', '.join(wrong)}; there are {', '.join(sorted(known))}.")
    return dict(options)


def _fit_all(
    client: Any, units: Sequence[Unit], recipe: Recipe, store: Store, report_progress: Callable[[int], None]
) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    report_progress(0)
    for unit, row, error in results(client, partial(fit_unit, recipe=recipe, store=store), units):
        if error is not None:
            row = _lost_unit(unit, recipe, error)
            store.write(unit, row["key"], row)
        elif not rows and store.keeps and not store.has(store.path(unit, row["key"])):
            raise TinyUDEError(
                f"{store.address} on the workers is another folder than here; give --out as an address that "
                "all can access, e.g. a shared folder or s3://."
            )
        rows.append(row)
        report_progress(len(rows))
    return rows


def _lost_unit(unit: Unit, recipe: Recipe, error: BaseException) -> dict[str, Any]:
    """The row of a unit that took its workers down, or could not be sent; it is tried again by the next run."""
    message = f"{type(error).__name__}: {error}"
    return {
        "machine": unit.machine, "period": unit.period, "labels": dict(unit.labels), "files": list(unit.files),
        "stamps": list(unit.stamps), "key": "lost", "recipe": recipe.key, "status": FAILED, "lasting": False,
        "error": " ".join(message.split())[:500], "model": "", "terms": [], "seconds": None, "cpu_seconds": None,
    }  # fmt: skip


def _planned(recipe: Recipe, store: Store, terms: Sequence[str] | None) -> Recipe | None:
    """The recipe with the terms given, or with those that an earlier run chose for the same physics and options."""
    if terms is not None:
        given_terms(recipe.rig.physics, terms)  # rejected once, not by every unit
        return recipe.with_terms(tuple(terms))
    plan = store.plan()
    return recipe.with_terms(tuple(plan["terms"])) if plan.get("open_recipe") == recipe.key else None


def _plan(recipe: Recipe, terms: Sequence[str] | None, command: str) -> dict[str, Any]:
    return {
        "tinyude": tinyude.__version__, "physics": recipe.rig.physics.to_dict(), "terms": list(recipe.terms),
        "open_recipe": "" if terms is not None else recipe.with_terms(()).key, "recipe": recipe.key,
        "options": {key: str(value) for key, value in recipe.options.items()}, "command": command,
    }  # fmt: skip


def _unreported(found: FleetResult, which: str) -> list[str]:
    """Latest models of flagged machines, or of all, that have no report page yet."""
    if not found.store.keeps or which == NO_REPORTS:
        return []
    names = set(found.machines) if which == ALL_REPORTS else {flag.machine for flag in found.raised}
    latest = [[row for row in found.rows_of(name) if row["status"] == OK][-1]["model"] for name in sorted(names)]
    there = set(found.store.names("reports"))
    return [model for model in latest if report_path(model) not in there]


def _write_reports(client: Any, found: FleetResult, which: str, report_progress: Progress) -> None:
    todo = _unreported(found, which)
    for count, _ in enumerate(results(client, partial(write_report, store=found.store), todo, "report")):
        report_progress("reports", count + 1, len(todo))


@contextmanager
def _cluster(
    scheduler: str | None, workers: int | None, client: Any, started: Callable[[Any], None] | None
) -> Iterator[Any]:
    with connected(scheduler, workers, client) as dask:
        if started:
            started(dask)
        yield dask


def _unchanged(units: Iterable[Unit], kept: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Kept results whose files have the same names, sizes and times of change: not even read again."""
    wanted = {(unit.machine, unit.period): unit for unit in units if unit.content is None}
    found = []
    for row in kept:
        unit = wanted.get((row["machine"], row["period"]))
        if unit and list(unit.files) == row["files"] and list(unit.stamps) == row["stamps"]:
            found.append(row)
    return found


def rig_of(physics: str | PathLike[str] | PhysicsFile | Physics) -> PhysicsFile:
    """The physics file of what a caller gave."""
    if isinstance(physics, PhysicsFile):
        return physics
    if isinstance(physics, Physics):
        rates = tuple(s for s, rate in zip(physics.states, physics.kinematic, strict=True) if rate is None)
        return PhysicsFile(
            physics, {name: name for name in physics.states}, {name: name for name in physics.inputs}, "time",
            rates, (*physics.states, *physics.inputs),
        )  # fmt: skip
    return load_physics_file(fspath(physics))


def _address(out: str | PathLike[str]) -> str:
    text = fspath(out)
    if not text or "://" in text:
        return text.rstrip("/")
    try:
        Path(text).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TinyUDEError(f"Cannot create the folder {text}: {error.strerror}; choose another --out.") from None
    return str(Path(text).absolute())
