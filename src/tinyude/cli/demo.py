"""tinyude demo: the whole method on a synthetic pendulum."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tinyude.cli.console import (
    check_writable,
    console,
    print_lines,
    print_table,
    progress_bar,
    write_json,
    write_text,
    wrote,
)
from tinyude.cli.options import JsonFile, Preset, Seed


def demo(
    out: Annotated[Path, typer.Option(help="Where to write the report page.")] = Path("report.html"),
    json: JsonFile = None,
    picture: Annotated[Path | None, typer.Option(help="Also write the main pictures as one PNG.")] = None,
    seed: Seed = 0,
    noise: Annotated[float, typer.Option(help="Sensor noise as a share of each signal's RMS.")] = 0.01,
    preset: Preset = "default",
) -> None:
    """Learn a pendulum's missing damping from one noisy minute, and write a report page."""
    check_writable(out, json, picture)
    from tinyude.experiments.demo import run_demo
    from tinyude.report.figures import save_figure, summary
    from tinyude.report.page import render

    console.print("A pendulum swings for a minute; its model knows gravity, but not the damping.")
    with progress_bar("learning what is missing") as moved:
        found = run_demo(noise=noise, seed=seed, preset=preset, progress=moved)
    print_table(found.table())
    print_lines(str(found.ude).splitlines())
    console.print()
    write_text(out, render(found.report))
    write_json(json, found.results)
    if picture is not None:
        save_figure(summary(found.report), picture, dpi=130, metadata={"Software": None})
        wrote(picture)
