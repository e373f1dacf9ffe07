"""tinyude fit: a log and the physics that is known, to a model and its report."""

from __future__ import annotations

import hashlib
import os
import shlex
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from tinyude.cli.console import (
    check_writable,
    console,
    print_lines,
    print_table,
    print_verdict,
    progress_bar,
    write_json,
    write_text,
    wrote,
)
from tinyude.cli.options import JsonFile, PhysicsPath, Preset, Seed, listed_terms
from tinyude.data.log import Log
from tinyude.data.logs import Columns, iter_log, log_stream
from tinyude.data.streams import Stream
from tinyude.data.tables import first_numbers
from tinyude.errors import TinyUDEError, TinyUDEWarning, printable
from tinyude.estimator.ude import UDE
from tinyude.model.equations import found_lines
from tinyude.model.line_wrapping import wrapped
from tinyude.model.quantities import percent, seconds
from tinyude.model.validation import LONGEST, VALID_ERROR, longest_stretch, validate
from tinyude.physics.file import PhysicsFile, fit_settings, load_physics_file
from tinyude.report.sentences import diagnostics_table, joined


def fit(
    logs: Annotated[
        list[Path],
        typer.Argument(metavar="LOG", help="A log or several runs: CSV, Parquet, MAT, HDF5, MCAP, ULog..."),
    ],
    physics: PhysicsPath,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Where to save the model (.tinyude).")] = None,
    report: Annotated[Path | None, typer.Option(metavar="FILE", help="Where to write the report page.")] = None,
    held_out: Annotated[
        list[Path] | None,
        typer.Option(
            "--validate",
            metavar="LOG",
            help="A log that the fit does not see, to simulate and compare with; may be given several times.",
        ),
    ] = None,
    json: JsonFile = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with status 3 unless the verdict is good.")] = False,
    library: Annotated[
        str | None, typer.Option(metavar="TERMS", help="auto, rich, none, or terms, e.g. 'omega, tanh(20*omega)'.")
    ] = None,
    network: Annotated[str | None, typer.Option(metavar="KIND", help="auto, kernel, mlp or none.")] = None,
    hold: Annotated[str | None, typer.Option(metavar="HOW", help="Inputs: auto, held, linear or cubic.")] = None,
    window: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="The longest window; chosen from the data if left out.")
    ] = None,
    seed: Seed = 0,
    preset: Preset = "default",
    updates: Annotated[int | None, typer.Option(metavar="N", help="Updates of a perceptron.", min=1)] = None,
) -> None:
    """Learn from a log what the physics file leaves out."""
    others = held_out or []
    check_writable(out, report, json, read=[*logs, physics, *others])
    _check_logs(logs, others)
    rig = load_physics_file(physics)
    columns = Columns.of(rig)
    with progress_bar(f"reading {joined([log.name for log in logs])}"):
        stream = log_stream(logs, columns, several_rates=preset == "default")
    unseen, judged = _unseen(others, columns)
    offered = library if library in ("auto", "rich", "none") else listed_terms(library)
    chosen = {"library": offered, "network": network, "hold": hold, "window": window}
    flags = fit_settings({key: value for key, value in chosen.items() if value is not None}, "--")
    ude = _estimator(rig, preset, seed, updates, flags)
    _learn(ude, stream, logs, columns, rig.units)
    found = [_validated(ude, stretch, log) for log, stretch in unseen.items()]
    runs, told = [run for run, _ in found if run is not None], [line for _, lines in found for line in lines]
    run = max(runs, key=lambda one: np.nan_to_num(one["total_error"]), default=None)  # the page shows the worst
    if judged is not None:
        unused = unused_columns(others[0], columns) if len(others) == 1 else None  # logs have times of their own
        ude.validate(judged, 0.0, name=joined([log.name for log in others]), unused=unused)
    _print_results(ude, columns, told)
    if out is not None:
        ude.save(out)
        wrote(out)
    if report is not None:
        headline = [lines[0] for one, lines in found if lines and one is run]
        write_text(report, _page(ude, physics, logs, others, headline=headline[:1], run=run, units=rig.units))
    write_json(json, _figures(ude, run, runs))
    print_verdict(ude.verdict_)
    if strict and ude.verdict_.status != "good":
        raise typer.Exit(3)


def _check_logs(logs: list[Path], held_out: list[Path]) -> None:
    """An error where a log counts twice, or validates the fit that it was used for."""
    places = [os.path.realpath(log) for log in logs]
    if seen := [log for log in held_out if os.path.realpath(log) in places]:
        raise TinyUDEError(f"--validate {seen[0]} is also used for the fit; give a log that the fit does not see.")
    logs, places = [*logs, *held_out], [*places, *map(os.path.realpath, held_out)]
    if twice := [log for k, log in enumerate(logs) if places[k] in places[:k]]:
        raise TinyUDEError(f"{twice[0]} is given twice; its rows would count twice: give each log once.")


def _learn(ude: UDE, stream: Stream, logs: list[Path], columns: Columns, units: Mapping[str, str]) -> None:
    """Fit the estimator and note what it was fitted to."""
    with progress_bar("learning what is missing") as moved, warnings.catch_warnings():
        warnings.simplefilter("ignore", TinyUDEWarning)  # the verdict is printed
        ude.fit(stream, progress=moved)
        if others := unused_columns(logs[0], columns):
            ude._judge(stream, unused=others)
    ude.diagnostics_["files"] = [printable(log.name) for log in logs]
    ude.diagnostics_["columns"] = columns.to_dict()  # so that the model finds its signals in other logs
    ude.diagnostics_["units"] = dict(units)


def _print_results(ude: UDE, columns: Columns, told: list[str]) -> None:
    """Figures of the fit, its equations, and how far it predicts."""
    print_table(diagnostics_table(ude.diagnostics_, list(columns.measured)))
    print_lines(wrapped(found_lines(ude.model_, ude.diagnostics_), console.width - 2))
    print_lines([*told, *_from_many_starts(ude)])
    console.print()


def _page(ude: UDE, physics: Path, logs: list[Path], held_out: list[Path], **content: Any) -> str:
    """The report page, with the command and the files that it was made from."""
    from tinyude.report.collect import collect
    from tinyude.report.page import render

    title = f"What {physics.name} leaves out of {', '.join(log.name for log in logs)}"
    command = shlex.join(["tinyude", *sys.argv[1:]]) if sys.argv[1:2] == ["fit"] else ""
    sources = {path.name: _digest(path) for path in [physics, *logs, *held_out] if path.is_file()}
    return render(collect(ude, title=title, command=command, sources=sources, **content))


def _digest(path: Path) -> str:
    """SHA-256 of a file that was read, so that a page can be traced to it."""
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def unused_columns(path: Path, columns: Columns) -> dict[str, tuple[Any, Any]]:
    """Numeric columns of a log's first rows that the model does not use, with their times."""
    try:
        table = first_numbers(path)
    except TinyUDEError:  # a format that is read by name only
        return {}
    used = {*columns.signals, columns.time}
    if isinstance(columns.time, str) and columns.time not in table:  # runs in cells
        return {}
    if isinstance(columns.time, str):
        times: Any = table[columns.time] * columns.scales.get(columns.time, 1.0)
    else:
        times = float(columns.time) * np.arange(len(next(iter(table.values()))))
    return {name: (times, values) for name, values in table.items() if name not in used}


def _unseen(paths: list[Path], columns: Columns) -> tuple[dict[Path, Log], Stream | None]:
    """The logs to predict freely, read before the fit: the longest stretch of each, and all of them as runs."""
    stretches = {}
    for path in paths:
        try:
            stretches[path] = longest_stretch(iter_log(path, columns))
            whole = log_stream([path], columns)
        except TinyUDEError as error:
            raise TinyUDEError(f"--validate {path}: {error}") from None
    return stretches, None if not paths else whole if len(paths) == 1 else log_stream(paths, columns)


def _estimator(rig: PhysicsFile, preset: str, seed: int, updates: int | None, chosen: dict[str, Any]) -> UDE:
    """Flags go before the file's [fit], which goes before the defaults."""
    settings = {"library": "auto", "network": "auto", "hold": "auto", "window": None} | rig.fit | chosen
    return UDE(
        rig.physics,
        preset=preset,
        library=None if settings["library"] == "none" else settings["library"],
        network=None if settings["network"] == "none" else settings["network"],
        measured=tuple(rig.measured),
        on=rig.residual_on,
        sees=rig.residual_sees,
        updates=updates,
        hold=rig.holds or settings["hold"],
        unmeasured=rig.unmeasured or None,
        window=settings["window"],
        random_state=seed,
    )


def _validated(ude: UDE, unseen: Log, path: Path) -> tuple[dict[str, Any] | None, list[str]]:
    """The free run over a held-out log, and its result in a sentence."""
    try:
        run = validate(ude, unseen) | {"log": printable(path.name)}
    except TinyUDEError as error:
        return None, [f"The free run over {path.name} stopped early: {error}"]
    if not np.isfinite(run["total_error"]):
        return run, [
            f"No measured signal moves in the held-out {path.name}; its free run has no error relative to that."
        ]
    part = f"{LONGEST:,} samples of " if len(unseen.t) == LONGEST else ""
    return run, [
        f"Free-run error over {part}the held-out {path.name}: RMSE / std {run['total_error']:.2g}; the free run is "
        f"a valid prediction (error below {VALID_ERROR:g} std) for {run['valid_seconds']:.4g} of {run['t'][-1]:.4g} s.",
        *(f"During the run {warning}" for warning in run["warnings"]),
    ]


def _from_many_starts(ude: UDE) -> list[str]:
    """Free runs from many moments of the record that the verdict judges, in a line for each horizon."""
    figures = ude.verdict_.figures
    if "horizons" not in figures:
        return []
    at, starts = figures["horizons"], figures["free_run"]["starts"]
    lines = [f"Free runs from {starts} starts of {figures['judged_on']}, median error in per cent of the spread:"]
    for horizon, model, known in zip(at["seconds"], at["model"], at["known"], strict=True):
        lines.append(f"  over {seconds(horizon)}: {percent(model)} (known physics alone: {percent(known)})")
    return lines


def _figures(ude: UDE, run: dict[str, Any] | None, runs: list[dict[str, Any]]) -> dict[str, Any]:
    """All figures as plain data; of several held-out logs, "validation" is the worst."""
    figures: dict[str, Any] = {
        "verdict": ude.verdict_.to_dict(),
        "equations": ude.equations(),
        "diagnostics": ude.diagnostics_,
    }
    if run is not None:
        figures |= {"validation": _scores(run), "validations": [_scores(one) for one in runs]}
    return figures


def _scores(run: dict[str, Any]) -> dict[str, Any]:
    scores = {name: run[name] for name in ("log", "error", "total_error", "valid_seconds")}
    return {"channels": run["names"], "seconds": float(run["t"][-1]), **scores}
