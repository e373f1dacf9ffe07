"""tinyude report: the page of a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tinyude.cli.console import check_writable, write_text
from tinyude.estimator.ude import load


def report(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A model written by `tinyude fit --out` or `UDE.save`.")
    ],
    out: Annotated[Path, typer.Option(help="Where to write the page.")] = Path("report.html"),
) -> None:
    """Write the report page of a saved model."""
    check_writable(out, read=[model])
    ude = load(model)
    from tinyude.report.collect import collect
    from tinyude.report.page import render

    write_text(out, render(collect(ude, title=f"The model {model.name}")))
