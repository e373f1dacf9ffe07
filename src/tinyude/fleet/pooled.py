"""One regression over many logs, as if they were one: a log larger than a computer, or a fleet taken as one machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from os import PathLike
from typing import Any

import polars as pl
from scipy.stats import t as student

from tinyude.errors import TinyUDEError
from tinyude.fleet import choice
from tinyude.fleet.choice import Progress
from tinyude.fleet.cluster import connected, results
from tinyude.fleet.paths import Unit, units_of
from tinyude.fleet.population import CONFIDENCE
from tinyude.fleet.run import rig_of
from tinyude.fleet.sums import GROUPS, Sums, WindowPlan
from tinyude.fleet.work import Recipe
from tinyude.physics import Physics
from tinyude.physics.file import PhysicsFile


def fit_pooled(
    logs: str | PathLike[str] | Sequence[str | PathLike[str]] | Mapping[Any, Any],
    physics: str | PathLike[str] | PhysicsFile | Physics,
    *,
    terms: Sequence[str] | None = None,
    scheduler: str | None = None,
    workers: int | None = None,
    client: Any = None,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """One set of coefficients for all logs together: every worker sums its files, and the sums are merged.

    No computer holds more than a piece of one file. The result does not depend on how runs are spread over files.

    Parameters
    ----------
    logs
        A template such as "logs/{machine}/{part}.parquet", several of them, or frames; as for `fit`.
    physics
        The known part, as for `fit`; without parameters to learn.
    terms
        Terms to learn; by default they are chosen from up to 24 of the files.
    scheduler, workers, client
        Where the work is done, as for `fit`.
    progress
        Called with what is done, files done and files in all.

    Returns
    -------
    polars.DataFrame
        state, term, coefficient, low, high (90 %) and error: jackknife over sixteen groups of windows.

    Raises
    ------
    TinyUDEError
        If the physics has parameters to learn, a log cannot be read, or no window was accepted.

    Examples
    --------
    >>> fit_pooled("logs/{machine}/{part}.parquet", "rig.toml", terms=["omega", "tanh(20*omega)"])  # doctest: +SKIP
    """
    recipe = Recipe(rig_of(physics)).windows_only()
    if learned := recipe.rig.physics.learned:
        raise TinyUDEError(
            f"{', '.join(learned)} is to be learned, which is not possible with merged sums; give it a fixed value."
        )
    report_progress = progress or (lambda what, done, total: None)
    files = single_files(units_of(logs))
    with connected(scheduler, workers, client) as dask:
        chosen = tuple(terms) if terms is not None else choice.choose_terms(dask, files, recipe, report_progress)
        if not chosen:
            raise TinyUDEError("No term stands out in these logs; name them, e.g. terms=['omega'].")
        plan = _window_plan(files, recipe)
        sums = summed(dask, files, recipe, plan, chosen, report_progress)
    return coefficients(sums, recipe, plan, chosen)


def single_files(units: Sequence[Unit]) -> list[Unit]:
    """The same logs, a file each: what one worker sums at a time."""
    return [
        replace(unit, files=(file,), stamps=(stamp,)) if unit.files else unit
        for unit in units
        for file, stamp in (zip(unit.files, unit.stamps, strict=True) if unit.files else [("", "")])
    ]


def _window_plan(files: Sequence[Unit], recipe: Recipe) -> WindowPlan:
    """The windows that suit the first file that can be fitted; all files use these."""
    for unit in choice.pilots(files):
        if found := choice.survey(unit, recipe):
            return found.plan
    raise TinyUDEError("None of the examined logs can be fitted; try `tinyude fit` with one of them.")


def summed(
    client: Any,
    files: Sequence[Unit],
    recipe: Recipe,
    plan: WindowPlan,
    terms: Sequence[str],
    report_progress: Progress,
) -> Sums:
    """The merged sums of all files. A file that cannot be read ends it: a part of a log is not the log."""
    work = partial(choice.file_sums, recipe=recipe, plan=plan, terms=list(terms))
    parts = []
    for unit, sums, error in results(client, work, files, "sums"):
        if error is not None:
            raise TinyUDEError(f"{' '.join(unit.files) or unit.machine}: {error}") from None
        parts.append(sums)
        report_progress("summing", len(parts), len(files))
    return reduce(Sums.merge, parts)


def coefficients(sums: Sums, recipe: Recipe, plan: WindowPlan, terms: Sequence[str]) -> pl.DataFrame:
    """The table of merged sums."""
    if not sums.windows:
        raise TinyUDEError("No window of these logs was accepted; try `tinyude fit` with one of them.")
    states = [recipe.rig.physics.states[i] for i in plan.config.on]
    half = student.isf((1.0 - CONFIDENCE) / 2.0, GROUPS - 1)
    rows = [
        {
            "state": state, "term": term, "coefficient": float(value), "low": float(value - half * error),
            "high": float(value + half * error), "error": float(error),
        }
        for (state, term), value, error in zip(
            ((state, term) for state in states for term in terms), sums.solve(), sums.errors(), strict=True
        )
    ]  # fmt: skip
    return pl.DataFrame(rows)
