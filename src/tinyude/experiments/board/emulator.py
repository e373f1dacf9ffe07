"""Emulated boards: the C core and a plant's generated physics as firmware, run under QEMU.

A run returns the same arrays as `NativeLearner.state()` on the host, and instruction counts: an emulator counts
instructions, not cycles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tinyude import native
from tinyude.errors import TinyUDEError
from tinyude.export.boards.toolchains import (
    BOARDS,
    Board,
    board,
    call,
    compile_objects,
    emulator_command,
    link,
    linked_bytes,
    missing_emulator,
    missing_tools,
)
from tinyude.export.codegen import c_source, config_header
from tinyude.export.footprint import HOT
from tinyude.reference.config import Config
from tinyude.training.known import KnownPrograms

__all__ = [
    "BOARDS",
    "Board",
    "BoardRun",
    "CoreLibrary",
    "Firmware",
    "available",
    "build_firmware",
    "compile_core",
    "missing",
    "run",
    "symbols",
]  # fmt: skip

ROOT = Path(__file__).parents[4]  # in a source tree only: an installed package has no firmware
STACK_BYTES = 4096
_COUNTED = ("_instructions", "_push", "_slice")  # figures that come from the instruction counter


@dataclass(frozen=True)
class CoreLibrary:
    """The C core compiled for a board; several firmware images can be linked with it."""

    core: str
    archive: Path


@dataclass(frozen=True)
class Firmware:
    """A linked image and the sizes that the linker reports."""

    elf: Path
    core: str
    config: Config
    flash_bytes: int
    ram_bytes: int  # arena, stack and everything else


@dataclass(frozen=True)
class BoardRun:
    """Result of a firmware run; `figures` holds bytes and, if the board provides them, instruction counts."""

    state: dict[str, Any]  # as NativeLearner.state()
    figures: dict[str, int]


def missing(core: str = "cortex-m4") -> list[str]:
    """Requirements of that board that are not installed here."""
    found = missing_tools(core) + missing_emulator(core)
    if not (ROOT / "firmware" / "main.c").is_file():
        found.append("firmware/ and core/ of a source tree")
    return found if native.available() else [*found, "the compiled core"]


def available(core: str = "cortex-m4") -> bool:
    return not missing(core)


def compile_core(core: str, folder: Path, optimise: str = "-O3", hot: str | None = None) -> CoreLibrary:
    """Compile the core as a library for one of BOARDS; `hot` replaces the optimisation option for the files of HOT."""
    if lacking := missing(core):
        raise TinyUDEError(f"An emulated {core} needs {', '.join(lacking)}; run tools/install_emulators.sh.")
    folder = folder.resolve()  # tools run inside it
    objects = folder / f"{core}-objects"
    objects.mkdir(parents=True, exist_ok=True)
    sources = sorted((ROOT / "core" / "src").rglob("*.c"))
    made = [
        *compile_objects(core, [s for s in sources if s.name not in HOT], [optimise, *includes()], objects),
        *compile_objects(core, [s for s in sources if s.name in HOT], [hot or optimise, *includes()], objects),
    ]
    archive = folder / f"lib{core}.a"
    call([f"{board(core).toolchain.prefix}ar", "rcs", archive, *made], folder)
    return CoreLibrary(core, archive)


def build_firmware(
    library: CoreLibrary,
    config: Config,
    programs: KnownPrograms,
    folder: Path,
    ram_bytes: int | None = None,
    stack_bytes: int = STACK_BYTES,
) -> Firmware:
    """Firmware that learns with this configuration; linking fails if it needs more than ram_bytes."""
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "plant.c").write_text(c_source(programs, "plant", config=config))
    arena = native.memory(config, "float32")["total"]
    (folder / "plant_config.h").write_text(config_header(config, arena, "plant"))
    objects = compile_objects(
        library.core, [*firmware_sources(library.core), folder / "plant.c"], ["-O2", *includes(), "-I", folder], folder
    )
    elf = folder / "firmware.elf"
    link(library.core, [*objects, library.archive], ROOT / "firmware" / "board.ld", elf, stack_bytes, ram_bytes)
    return Firmware(elf, library.core, config, *linked_bytes(library.core, elf))


def firmware_sources(core: str) -> list[Path]:
    """The sources of a board's program: those of all processors, then those of its kind."""
    root = ROOT / "firmware"
    return [path for folder in (".", *board(core).toolchain.folders) for path in sorted((root / folder).glob("*.c"))]


def includes() -> list[str | Path]:
    """Compiler options for the include folders of core and firmware."""
    core = [ROOT / "core" / folder for folder in ("include", "src", "src/numeric")]
    firmware = [ROOT / "firmware", ROOT / "firmware" / "semihosting"]
    return [part for folder in (*core, *firmware) for part in ("-I", folder)]


def symbols(firmware: Firmware) -> set[str]:
    """All symbols in a linked image."""
    listing = call([f"{board(firmware.core).toolchain.prefix}nm", firmware.elf], firmware.elf.parent)
    return {line.split()[-1] for line in listing.splitlines()}


def run(firmware: Firmware, rows: ArrayLike, seconds: float = 300.0, options: Sequence[str] = ()) -> BoardRun:
    """Push the rows (samples, channels + inputs) one by one on the emulated board, finish, and read the learner.

    Further options are passed to QEMU.
    """
    folder, chosen = firmware.elf.parent, board(firmware.core)
    np.ascontiguousarray(rows, np.float32).tofile(folder / "stream.bin")
    command = [*emulator_command(firmware.core, "shift=6", firmware.elf), *options]
    learner, machine = call(command, folder, seconds).split("\n\n")
    state: dict[str, Any] = {**_printed(learner), **_arrays(firmware.config, folder)}
    state["changed_at"] = state["changed_at"][: state["changes"]]
    figures = {name: int(n) for name, n in _printed(machine).items() if chosen.counts or not name.endswith(_COUNTED)}
    return BoardRun(state, figures)


def _arrays(config: Config, folder: Path) -> dict[str, NDArray[Any]]:
    """The arrays that the firmware saved, in the shapes and types of NativeLearner.state()."""
    scales, model = "sigma step x_scale dx_scale ddx_scale u_scale", "params average coefficients errors"
    types: dict[str, Any] = dict.fromkeys(f"{scales} {model}".split(), np.float32)
    types |= {"network_on": np.int32, "rejected": np.uint32, "changed_at": np.uint32}
    types["reservoir"] = types["holdout"] = np.int16 if config.compact else np.float32
    arrays = {name: np.fromfile(folder / f"{name}.bin", dtype) for name, dtype in types.items()}
    width = config.network_nodes * (config.states + config.inputs) + len(config.on)
    width += config.states if config.second_order > 0.0 else 0
    arrays["reservoir"] = arrays["reservoir"].reshape(-1, width)
    arrays["holdout"] = arrays["holdout"].reshape(-1, width + 1)
    return {name: a.astype(np.int64) if a.dtype == np.uint32 else a for name, a in arrays.items()}


def _printed(text: str) -> dict[str, int | float]:
    """Parse lines "name 12", or "name 0x3f800000" for a float."""
    values = dict(line.split() for line in text.splitlines())
    return {name: _real(value) if value.startswith("0x") else int(value) for name, value in values.items()}


def _real(bits: str) -> float:
    return float(np.uint32(int(bits, 16)).view(np.float32))
