"""tinyude fit: a log and the physics that is known, to a model and its report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tinyude.cli.console import (
    console,
    print_lines,
    print_table,
    progress_bar,
    refuse_unwritable,
    say,
    write_json,
    write_text,
)
from tinyude.cli.options import JsonFile, PhysicsPath, Preset, Seed
from tinyude.data.log import Log
from tinyude.data.logs import Columns, iter_log, log_stream
from tinyude.errors import TinyUDEError, printable
from tinyude.model.validation import LONGEST, VALID_ERROR, longest_stretch, validate
from tinyude.physics.file import PhysicsFile, load_physics_file
from tinyude.report.sentences import diagnostics_table, joined
from tinyude.ude import UDE


def fit(
    logs: Annotated[
        list[Path], typer.Argument(metavar="LOG...", help="A log or several runs: CSV, Parquet, .mat or .npz.")
    ],
    physics: PhysicsPath,
    out: Annotated[Path | None, typer.Option(help="Where to save the model (.tinyude).")] = None,
    report: Annotated[Path | None, typer.Option(help="Where to write the report page.")] = None,
    held_out: Annotated[
        Path | None, typer.Option("--validate", metavar="LOG", help="A log to predict freely, unseen by the fit.")
    ] = None,
    json: JsonFile = None,
    seed: Seed = 0,
    preset: Preset = "default",
    updates: Annotated[int | None, typer.Option(help="Training updates of the network.", min=1)] = None,
) -> None:
    """Learn what a physics file leaves out of a recorded system."""
    refuse_unwritable(out, report, json)
    if held_out is not None and held_out.resolve() in [log.resolve() for log in logs]:
        raise TinyUDEError(f"--validate {held_out} is also fitted to; give a log that the fit does not see.")
    rig = load_physics_file(physics)
    columns = Columns.of(rig)
    with progress_bar(f"reading {joined([log.name for log in logs])}"):
        stream = log_stream(logs, columns)
    unseen = None if held_out is None else longest_stretch(iter_log(held_out, columns))
    ude = _estimator(rig, preset, seed, updates)
    with progress_bar("learning what is missing") as moved:
        ude.fit(stream, progress=moved)
    ude.diagnostics_["files"] = [printable(log.name) for log in logs]
    ude.diagnostics_["columns"] = columns.to_dict()  # so that the model finds its signals in other logs
    run, told = _validated(ude, unseen, held_out)
    print_table(diagnostics_table(ude.diagnostics_, list(columns.measured)))
    print_lines([*str(ude).splitlines(), *told])
    console.print()
    if out is not None:
        ude.save(out)
        say(f"wrote {out}")
    if report is not None:
        from tinyude.report import collect, render

        title = f"What {physics.name} leaves out of {', '.join(log.name for log in logs)}"
        write_text(report, render(collect(ude, title=title, headline=told, run=run)))
    write_json(json, _figures(ude, run))


def _estimator(rig: PhysicsFile, preset: str, seed: int, updates: int | None) -> UDE:
    return UDE(
        rig.physics,
        preset=preset,
        measured=tuple(rig.measured),
        on=rig.residual_on,
        sees=rig.residual_sees,
        updates=updates,
        hold=rig.holds or "auto",
        unmeasured=rig.unmeasured or None,
        random_state=seed,
    )


def _validated(ude: UDE, unseen: Log | None, path: Path | None) -> tuple[dict[str, Any] | None, list[str]]:
    """The free run over the held-out log, and its result in a sentence."""
    if unseen is None or path is None:
        return None, []
    try:
        run = validate(ude, unseen)
    except TinyUDEError as error:
        return None, [f"The free run over {path.name} did not come to its end: {error}"]
    part = f"{LONGEST:,} samples of " if len(unseen.t) == LONGEST else ""
    return run, [
        f"Left alone over {part}the held-out {path.name}, the model has RMSE / std {run['total_error']:.2g}, and is "
        f"a valid prediction (error below {VALID_ERROR:g} std) for {run['valid_seconds']:.4g} of {run['t'][-1]:.4g} s.",
        *(f"On the way {warning}" for warning in run["warnings"]),
    ]


def _figures(ude: UDE, run: dict[str, Any] | None) -> dict[str, Any]:
    figures = {"equations": ude.equations(), "diagnostics": ude.diagnostics_}
    if run is not None:
        scores = {name: run[name] for name in ("error", "total_error", "valid_seconds")}
        figures["validation"] = {"channels": run["names"], "seconds": float(run["t"][-1]), **scores}
    return figures
