"""tinyude init: a commented physics file from the header of a log."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from tinyude.cli.console import check_writable, say, write_text
from tinyude.data.tables import cell_columns, first_numbers, iter_table, recording_columns
from tinyude.errors import TinyUDEError
from tinyude.physics.template import physics_template

GUESSED = 12  # columns of a recording that become states or inputs; the others are listed


def init(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="A log whose columns the file is to name.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The physics file to write.")] = Path("physics.toml"),
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Write a commented physics file from the header of a log: guesses of time, units and rates to correct."""
    check_writable(out, read=[log])
    if out.exists() and not force:
        raise TinyUDEError(f"{out} already exists; choose another name with --out, or give --force.")
    write_text(out, _template(log))
    names = [f"./{path}" if str(path).startswith("-") else str(path) for path in (log, out)]
    command = shlex.join(["tinyude", "fit", names[0], "--physics", names[1]])  # names may hold what a shell acts on
    say(f"Next, write the equations you know into {out} and run: {command}")


def _template(log: Path) -> str:
    """Of a recording: its channels of one time base, the others as comments; of cells: those of the first run."""
    if channels := recording_columns(log):
        time = max(channels, key=lambda name: (len(channels[name]) <= GUESSED, len(channels[name])))
        table = next(iter_table(log, [time, *channels[time][:GUESSED]], time=time))
        others = [name for names in channels.values() for name in names if name not in table]
        return physics_template(table, log.name, time, others)
    if cells := {name: numbers[min(numbers)] for name, numbers in cell_columns(log).items()}:
        table = next(iter_table(log, list(cells.values())))
        return physics_template({name: table[cell] for name, cell in cells.items()}, log.name)
    return physics_template(first_numbers(log), log.name)
