"""tinyude size: the memory that a learner takes on a chip, before it is flashed."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from tinyude import native
from tinyude.cli.console import check_writable, print_lines, print_table, write_json
from tinyude.cli.options import Compact, Forget, JsonFile, KeptTerms, NoNetwork, NoWeights, Preset, Reservoir
from tinyude.errors import TinyUDEError
from tinyude.estimator.ude import load
from tinyude.export import Chip, chip_of_model, chip_of_physics
from tinyude.export.advice import fitting, network_advice
from tinyude.export.boards import toolchains as boards
from tinyude.export.boards.chipsets import CHIPSETS, chipset, parse_bytes
from tinyude.export.footprint import PREFIX, STACK_RESERVED, Footprint, footprint, missing_for
from tinyude.export.life import build_life, count_life, missing_for_life, probe_rows
from tinyude.export.sources import check_prefix, prefix_of
from tinyude.physics.file import load_physics_file
from tinyude.systems import pendulum


def size(
    model: Annotated[
        Path | None, typer.Argument(metavar="MODEL", help="A model written by `tinyude fit --out`.")
    ] = None,
    physics: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Physics instead of a model, before there is any data.")
    ] = None,
    preset: Preset = "default",
    board: Annotated[str, typer.Option(help=f"A core or a board: {', '.join(CHIPSETS)}.")] = "cortex-m4",
    ram: Annotated[
        str | None, typer.Option(metavar="BYTES", help="Available RAM, e.g. 32k; by default the board's.")
    ] = None,
    flash: Annotated[
        str | None, typer.Option(metavar="BYTES", help="Available flash, e.g. 128k; not checked if left out.")
    ] = None,
    reservoir: Reservoir = None,
    compact: Compact = False,
    kept_terms: KeptTerms = False,
    no_network: NoNetwork = False,
    forget: Forget = None,
    no_weights: NoWeights = False,
    life: Annotated[
        bool, typer.Option("--life", help="Count the instructions of a long run on an emulated Cortex-M4F.")
    ] = False,
    json: JsonFile = None,
) -> None:
    """Report RAM by array, flash and stack of a learner on a board, and advise when it does not fit.

    Without a model or physics: of the demo's pendulum. Exits with 3 when it does not fit.
    """
    check_writable(json, read=[model, physics])
    found = chipset(board)
    limit = found.ram_bytes if ram is None else parse_bytes(ram, "--ram")
    flash_limit = None if flash is None else parse_bytes(flash, "--flash")
    fitted = _chip(model, physics, preset, not no_weights)
    chip = fitted.reduced(reservoir, compact, kept_terms, no_network).forgetting(forget)
    memory = native.memory(chip.config, "float32")
    built, notes = _built(chip, board, _prefix(model))
    rest = built.ram_bytes - memory["total"] - STACK_RESERVED if built else 0
    needed = memory["total"] + STACK_RESERVED + rest
    if flash_limit is not None and built is None:
        raise TinyUDEError(f"--flash cannot be checked. {notes[0]}")
    in_ram = limit is None or needed <= limit
    in_flash = flash_limit is None or built is None or built.flash_bytes <= flash_limit
    saved = native.NativeLearner(chip.config, chip.programs, "float32").save_bytes
    costs, silence = _life(chip) if life else ({}, [])
    print_table(
        [*_rows(memory, built, rest, needed), ("saved state", f"{saved:>9,} (two slots of it)"), *costs.items()]
    )
    lines = notes + silence + network_advice(fitted, chip)
    if limit is not None:
        lines.append(_comparison(needed, limit, "RAM"))
        lines += [] if in_ram else fitting(chip, limit - (needed - memory["total"]), limit)
    if flash_limit is not None and built is not None:
        lines.append(_comparison(built.flash_bytes, flash_limit, "flash"))
        lines += [] if in_flash else ["Fit a smaller model, or use --no-network or --kept-terms."]
    print_lines(lines)
    fits = in_ram and in_flash
    figures = {"board": board, "memory": memory, "stack_reserved": STACK_RESERVED, "ram": needed, "fits": fits}
    compiled = {"flash": built.flash_bytes, "stack": built.stack_bytes} if built else {}
    figures |= {"saved": saved, "life": costs}
    write_json(json, {**figures, **compiled, "ram_limit": limit, "flash_limit": flash_limit, "notes": lines})
    if not fits:
        raise typer.Exit(3)


def _comparison(needed: int, limit: int, memory: str) -> str:
    return f"{needed:,} of {limit:,} bytes of {memory}: {'it fits.' if needed <= limit else 'it does not fit.'}"


def _chip(model: Path | None, physics: Path | None, preset: str, weights: bool) -> Chip:
    if model is not None and physics is not None:
        raise TinyUDEError("Give a model or --physics, not both: a model contains its physics.")
    if model is not None:
        return chip_of_model(load(model), weights)
    if physics is None:
        return chip_of_physics(pendulum().physics, preset)
    rig = load_physics_file(physics)
    period = rig.time if isinstance(rig.time, float) else 1e-3
    states = rig.physics.states  # all that the paper's network acts on and sees
    on, sees = (rig.residual_on, rig.residual_sees) if preset == "default" else (states, states)
    return chip_of_physics(rig.physics, preset, period, tuple(rig.measured), on, sees)


def _prefix(model: Path | None) -> str:
    """As `tinyude export` would name it, where that is a name."""
    try:
        name = prefix_of(model.stem) if model else PREFIX
        check_prefix(name)
    except TinyUDEError:
        return PREFIX
    return name


def _built(chip: Chip, board: str, prefix: str) -> tuple[Footprint | None, list[str]]:
    """Results of the linker; or a line that says why there are none."""
    found = CHIPSETS[board]
    packages = boards.board(found.core).toolchain.packages
    if lacking := missing_for(found.core):
        return None, [f"No flash and stack: {', '.join(lacking)} not found; install {packages}."]
    try:
        return footprint(chip, found.core, prefix), [found.note] if found.note else []
    except TinyUDEError as error:
        return None, [f"No flash and stack; are {packages} installed? {' '.join(str(error).split())}"]


def _life(chip: Chip) -> tuple[dict[str, str], list[str]]:
    """Instructions of a push and of a slice of work; or a line that says why they were not counted."""
    if lacking := missing_for_life():
        return {}, [f"No count of instructions: {', '.join(lacking)} not found; install them from your distribution."]
    rows = probe_rows(chip)
    with tempfile.TemporaryDirectory() as folder:
        found = count_life(build_life(chip, Path(folder)), rows, save_every=len(rows) // 4)
    costs = {name: found.cost(name) for name in ("push", "slice")}
    told = {
        f"{name}, instructions on an M4F": f"{cost.longest:>9,} at most, {cost.mean:,.0f} on average"
        for name, cost in costs.items()
    }
    return told, [f"Counted under emulation over {len(rows):,} synthetic samples, including telemetry and saves."]


def _rows(memory: dict[str, int], built: Footprint | None, rest: int, needed: int) -> list[tuple[str, str]]:
    parts: dict[str, Any] = {part: count for part, count in memory.items() if count and part != "total"}
    rows = [(part, f"{count:>9,}") for part, count in parts.items()]
    rows += [("arena", f"{memory['total']:>9,}")]
    deepest = f" (deepest path of calls: {built.stack_bytes:,})" if built else ""
    rows += [("stack, reserved", f"{STACK_RESERVED:>9,}{deepest}")]
    if built:
        rows += [("everything else", f"{rest:>9,}")]
    rows += [("RAM in all", f"{needed:>9,}")]
    return rows + ([("flash", f"{built.flash_bytes:>9,}")] if built else [])
