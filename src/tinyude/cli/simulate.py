"""tinyude simulate: a free run of a saved model from a moment of a log."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from tinyude.cli.console import check_writable, print_lines, print_table, write_json, write_text
from tinyude.cli.options import JsonFile
from tinyude.data.log import Log
from tinyude.data.logs import Columns, read_log
from tinyude.errors import TinyUDEError
from tinyude.estimator.ude import load
from tinyude.model.quantities import percent
from tinyude.model.start_state import state_at
from tinyude.model.validation import run_scores
from tinyude.physics.file import load_physics_file

MOST_STEPS = 5_000_000


def simulate(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model written by `tinyude fit --out`.")],
    log: Annotated[Path, typer.Option("--from", metavar="LOG", help="The log that gives the start and the inputs.")],
    at: Annotated[float, typer.Option(metavar="SECONDS", help="Start time in the log, in its own seconds.")],
    seconds: Annotated[float, typer.Option(metavar="SECONDS", help="Length of the simulation.")] = 8.0,
    out: Annotated[Path | None, typer.Option(help="Where to write the states as CSV.")] = None,
    json: JsonFile = None,
    physics: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Physics file to take the columns from instead of the model.")
    ] = None,
) -> None:
    """Simulate a model from a time in a log, and compare it with the rest of the log."""
    check_writable(out, json, read=[model, log, physics])
    if not (seconds > 0.0 and np.isfinite(seconds)):
        raise TinyUDEError(f"--seconds is {seconds:g}; give a positive number of seconds.")
    ude = load(model)
    columns = _columns(ude, physics)
    record = read_log(log, columns)
    times, inputs = _horizon(record, at, seconds)
    start = state_at(ude, record, float(times[0]))
    states = ude.simulate(start, times, inputs)
    scores = _scores(ude, record, times, states)
    names = ude.physics.states
    rows = [("from", f"{times[0]:.10g} s to {times[-1]:.10g} s, {len(times):,} steps")]
    rows += [
        (f"{name}", f"{first:.5g} -> {last:.5g}") for name, first, last in zip(names, start, states[-1], strict=True)
    ]
    rows += [
        (f"error of {name} (RMSE / std)", percent(error) if np.isfinite(error) else "does not move in the log")
        for name, error in scores.get("error", {}).items()
    ]
    if scores:
        rows.append(("valid prediction", f"{scores['valid_seconds']:.3g} s"))
    print_table(rows)
    warnings = ude.extrapolation(states, inputs, times)
    print_lines([f"warning: {warning}" for warning in warnings])
    if out is not None:
        write_text(out, _csv(times, states, names))
    elif json is None:
        print_lines(["Give --out FILE for the states at every step."])
    write_json(json, {"time": times, "states": dict(zip(names, states.T, strict=True)), "warnings": warnings, **scores})


def _columns(ude: Any, physics: Path | None) -> Columns:
    """From the physics file given, else as the model was fitted, else columns named like the states."""
    if physics is not None:
        return Columns.of(load_physics_file(physics))
    if "columns" in ude.diagnostics_:
        return Columns.of(ude.diagnostics_["columns"])
    measured, inputs = ude.measured or ude.physics.states, ude.physics.inputs
    return Columns("time", {name: name for name in measured}, {name: name for name in inputs})


def _horizon(record: Log, at: float, seconds: float) -> tuple[np.ndarray, np.ndarray | None]:
    """The log's times from the sample nearest to `at`, and the inputs; without inputs a run may outlast the log."""
    back = np.flatnonzero(np.diff(record.t) < 0.0)
    if len(back):
        before, after = record.t[back[0] : back[0] + 2]
        raise TinyUDEError(f"The log's time goes back from {before:.10g} to {after:.10g} s; sort or split its rows.")
    first, last = float(record.t[0]), float(record.t[-1])
    if not first <= at <= last or first == last:
        raise TinyUDEError(f"--at is {at:.10g}; choose a time within the log, from {first:.10g} s to {last:.10g} s.")
    start = float(record.t[np.argmin(np.abs(record.t - at))])
    times, rows = np.unique(record.t, return_index=True)
    inside = (times >= start) & (times <= start + seconds)
    period = float(np.median(np.diff(times)))
    if seconds / period > MOST_STEPS:
        raise TinyUDEError(
            f"--seconds {seconds:g} is {seconds / period:.3g} steps of the log's {period:g} s, and at most "
            f"{MOST_STEPS:,} are run; give --seconds {MOST_STEPS * period:g} or less."
        )
    if record.u is None:
        beyond = np.arange(times[inside][-1] + period, start + seconds + 0.5 * period, period)
        return np.concatenate([times[inside], beyond]), None
    if last < start + seconds - period:
        at_its_end = start > last - period
        remedy = f"--at {max(first, last - seconds):.10g}" if at_its_end else f"--seconds {last - start:g}"
        raise TinyUDEError(
            f"The log holds inputs until {last:.10g} s, but the run would end at {start + seconds:.10g} s; "
            f"give {remedy} or less."
        )
    return times[inside], record.u[rows[inside]]


def _scores(ude: Any, record: Log, times: np.ndarray, states: np.ndarray) -> dict[str, Any]:
    """Error of the run against the log, if the log is long enough."""
    shared, mine, theirs = np.intersect1d(times, record.t, return_indices=True)
    if len(shared) < 10:
        return {}
    channels = list(ude.measured or ude.physics.states)
    columns = [ude.physics.states.index(name) for name in channels]
    scores = run_scores(shared - times[0], states[mine][:, columns], record.Y[theirs])
    return {**scores, "error": dict(zip(channels, scores["error"].tolist(), strict=True))}


def _csv(times: np.ndarray, states: np.ndarray, names: tuple[str, ...]) -> str:
    import polars as pl

    return pl.DataFrame({"time": times, **dict(zip(names, states.T, strict=True))}).write_csv()
