"""Options that several commands have, so that they read the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

JsonFile = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Also write the figures as JSON.")]
Seed = Annotated[int, typer.Option(help="Seed of everything random.", min=0)]
Preset = Annotated[str, typer.Option(help="default, paper-v2 or paper-v1.")]
PhysicsPath = Annotated[Path, typer.Option("--physics", metavar="FILE", help="TOML file with the known physics.")]
