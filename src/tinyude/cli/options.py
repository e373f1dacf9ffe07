"""Options that several commands have, so that they read the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tinyude.cli.console import quiet_for

JsonFile = Annotated[
    Path | None,
    typer.Option("--json", metavar="FILE", help="Also write the figures as JSON; - for stdout.", callback=quiet_for),
]
Seed = Annotated[int, typer.Option(help="Seed of everything random.", min=0)]
Preset = Annotated[str, typer.Option(help="default, paper-v2 or paper-v1.")]
PhysicsPath = Annotated[Path, typer.Option("--physics", metavar="FILE", help="TOML file with the known physics.")]
Reservoir = Annotated[int | None, typer.Option(metavar="N", help="Windows kept to train the network on.", min=1)]
Compact = Annotated[bool, typer.Option("--compact", help="Store these windows as 16-bit integers: half the memory.")]
KeptTerms = Annotated[bool, typer.Option("--kept-terms", help="Offer the chip only the terms that the fit kept.")]
Forget = Annotated[
    float | None,
    typer.Option(metavar="SECONDS", help="Age at which a window has weight 1/e, to follow a slow drift."),
]
NoNetwork = Annotated[bool, typer.Option("--no-network", help="No network on the chip: library terms alone.")]
NoWeights = Annotated[bool, typer.Option("--no-weights", help="Start without a model instead of from the fitted one.")]


def listed_terms(text: str | None) -> list[str] | None:
    """Terms between commas or semicolons that are not inside brackets; None if the option was not given."""
    if text is None:
        return None
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter in ",;" and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]
