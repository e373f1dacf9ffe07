"""tinyude init: a commented physics file from the header of a log."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tinyude.cli.console import refuse_unwritable, say, write_text
from tinyude.data.tables import iter_table
from tinyude.errors import TinyUDEError
from tinyude.physics.template import physics_template


def init(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="A log whose columns the file is to name.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The physics file to write.")] = Path("physics.toml"),
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
) -> None:
    """Write a commented physics file from the header of a log: guesses of time, units and rates to correct."""
    refuse_unwritable(out)
    if out.exists() and not force:
        raise TinyUDEError(f"{out} is there already; give --out another name, or --force.")
    write_text(out, physics_template(next(iter_table(log)), log.name))
    say(f"Now write the equations you know into {out}, then: tinyude fit {log} --physics {out}")
