"""tinyude reproduce: the paper's tables and figures, computed here."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tinyude.cli.console import check_writable, console, print_lines, progress_bar, say, write_json
from tinyude.cli.options import JsonFile
from tinyude.errors import TinyUDEError
from tinyude.experiments import NAMES, load

DOCS = Path("docs/reproduction.md")


def reproduce(
    names: Annotated[list[str], typer.Argument(metavar="NAME", help=f"all, or some of: {', '.join(NAMES)}.")],
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer seeds and solver iterations: minutes, not hours.")
    ] = False,
    jobs: Annotated[int, typer.Option(metavar="N", help="Worker processes; -1: one for each core.")] = -1,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="A running Dask scheduler whose workers do the work; --out must be shared."
        ),
    ] = None,
    out: Annotated[
        Path,
        typer.Option(metavar="DIR", help="Folder for the page, pictures and numbers; results found there are reused."),
    ] = Path("report"),
    json: JsonFile = None,
    docs: Annotated[bool, typer.Option("--docs", help=f"Also write {DOCS} (full runs only).")] = False,
) -> None:
    """Compute tables and figures of the paper; an interrupted run is resumed."""
    chosen = list(NAMES) if "all" in names else list(dict.fromkeys(names))
    for name in chosen:
        load(name)
    if jobs == 0:
        raise TinyUDEError("--jobs is 0; give 1 or more, or -1 for one on each core.")
    check_writable(json, DOCS if docs else None)
    from tinyude.experiments.page import write_pages
    from tinyude.experiments.runner import reproduce as run

    with progress_bar("reproducing") as moved:
        summaries = run(chosen, quick, out, jobs, moved, scheduler)
    for summary in summaries.values():
        console.print()
        say(summary["title"])
        print_lines(summary["notes"])
    page = write_pages(out, DOCS if docs else None)
    write_json(json, summaries)
    console.print()
    say(f"wrote {page}")
