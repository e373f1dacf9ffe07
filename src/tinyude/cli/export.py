"""tinyude export: a fitted model as a folder that builds unchanged."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tinyude import native
from tinyude.cli.console import check_writable, print_lines, print_table, write_json, wrote
from tinyude.cli.options import Compact, Forget, JsonFile, KeptTerms, NoNetwork, NoWeights, Reservoir
from tinyude.estimator.ude import load
from tinyude.export import TARGETS, chip_of_model, export_files, write_folder
from tinyude.export.advice import network_advice
from tinyude.export.fmu import write_fmu
from tinyude.export.sources import prefix_of


def export(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model written by `tinyude fit --out`.")],
    target: Annotated[str, typer.Option(help=f"One of {', '.join(TARGETS)}, fmu.")],
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="The folder to write: empty or an earlier export. Fmu: a file.")
    ],
    prefix: Annotated[
        str | None, typer.Option(metavar="NAME", help="Start of every generated name; by default the model's own.")
    ] = None,
    inference_only: Annotated[bool, typer.Option("--inference-only", help="A predictor without the learner.")] = False,
    no_weights: NoWeights = False,
    reservoir: Reservoir = None,
    compact: Compact = False,
    kept_terms: KeptTerms = False,
    no_network: NoNetwork = False,
    forget: Forget = None,
    json: JsonFile = None,
) -> None:
    """Write a fitted model as a package for a board: core, physics, configuration, weights and an example.

    Target fmu: an FMI 3.0 file for simulation tools instead, by model exchange or co-simulation.
    """
    check_writable(json, read=[model])
    name = prefix or prefix_of(model.stem)
    if target == "fmu":
        _export_fmu(model, out, name, json)
        return
    fitted = chip_of_model(load(model), weights=not no_weights)
    chip = fitted.reduced(reservoir, compact, kept_terms, no_network).forgetting(forget)
    files = export_files(chip, target, name, inference_only)
    made_of = {"target": target, "prefix": name, "learns": not inference_only}
    write_folder(out, files, made_of)
    memory = {} if inference_only else native.memory(chip.config, "float32")
    rows = [("package", f"{target}, {len(files)} files"), ("names start with", name)]
    if memory:
        rows.append(("arena", f"{memory['total']:,} bytes"))
        rows.append(("starts from", "the fitted model" if chip.start else "nothing"))
    print_table(rows)
    print_lines([] if inference_only else network_advice(fitted, chip))
    wrote(out)
    write_json(json, {**made_of, "memory": memory, "files": sorted(files)})


def _export_fmu(model: Path, out: Path, name: str, json: Path | None) -> None:
    check_writable(out, json, read=[model])
    has_binary = write_fmu(load(model).model_, out, name)
    print_table(
        [
            ("package", "FMI 3.0: model exchange and co-simulation"),
            ("model identifier", name),
            ("binary", "for this machine" if has_binary else "none: no C compiler here; compile its sources"),
        ]
    )
    wrote(out)
    write_json(json, {"target": "fmu", "prefix": name, "binary": has_binary})
