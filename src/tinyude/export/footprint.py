"""What a compiler and a linker make of an export: flash, RAM and stack, to the byte."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tinyude.export.boards.toolchains import ARM, board, call, compile_objects, link, linked_bytes, missing_tools
from tinyude.export.chip import Chip
from tinyude.export.core_files import firmware_file
from tinyude.export.folder import write_folder
from tinyude.export.packages import export_files
from tinyude.export.sources import environment
from tinyude.export.stack import deepest_stack, read_call_graph

HOT = ("dense.c", "dense_gradient.c")  # of the core: training spends its time there; build files optimise them further
STACK_RESERVED = 4096  # the export's Makefile reserves so much
PREFIX = "model"
_ROOM = 1 << 24  # memory of a board that everything fits


@dataclass(frozen=True)
class Footprint:
    """Of the cortex-m export's program, or of the same program on another processor without the way from reset."""

    flash_bytes: int
    ram_bytes: int  # arena, reserved stack and everything else
    stack_bytes: int  # the deepest path of calls, without interrupts


def missing_for(core: str) -> list[str]:
    """The tools that a footprint on that core needs and that are not installed."""
    make = ["make"] if board(core).toolchain is ARM and shutil.which("make") is None else []
    return make + missing_tools(core)


def footprint(chip: Chip, core: str, prefix: str = PREFIX) -> Footprint:
    """What the learner's program takes on one of the cores of boards.BOARDS; its names are in its flash."""
    with tempfile.TemporaryDirectory() as temporary:
        return image_footprint(core, build_image(chip, core, Path(temporary).resolve(), prefix=prefix))


def image_footprint(core: str, elf: Path) -> Footprint:
    """Sizes of an image from the linker, and its call graph."""
    names = frozenset(call([f"{board(core).toolchain.prefix}nm", elf], elf.parent).split())
    graph = read_call_graph(elf.parent, names)
    return Footprint(*linked_bytes(core, elf), deepest_stack(graph, "main", "startup.c", names))


def build_image(chip: Chip, core: str, folder: Path, inference_only: bool = False, prefix: str = PREFIX) -> Path:
    """The cortex-m export, built in an empty folder for a core of any kind."""
    write_folder(folder, export_files(chip, "cortex-m", prefix, inference_only), {})
    elf = folder / f"{prefix}.elf"
    if board(core).toolchain is ARM:
        _make(folder, core)
    else:
        _build_bare(folder, core, elf, learns=not inference_only)
    return elf


def _make(folder: Path, core: str) -> None:
    """With the export's own Makefile."""
    memory = [f"RAM_BYTES={_ROOM}", f"FLASH_BYTES={_ROOM}"]
    settings = [f"CPU={' '.join(board(core).flags)}", *memory, "EXTRA_CFLAGS=-fcallgraph-info=su"]
    call(["make", "--silent", f"-j{os.cpu_count() or 1}", *settings], folder)


def _build_bare(folder: Path, core: str, elf: Path, learns: bool) -> None:
    """As the Makefile does, with the compiler of another processor."""
    (folder / "startup.c").write_text(environment().get_template("bare.c.jinja").render(learns=learns))
    inner = sorted((folder / "src" / "tinyude").glob("*.c"))
    hot = [path for path in inner if path.name in HOT]
    outer = [*folder.glob("*.c"), *folder.glob("src/*.c"), *map(firmware_file, board(core).toolchain.completed_by)]
    objects = []
    for name, optimise, sources in (
        ("hot", "-O3", hot),
        ("core", "-O2", [path for path in inner if path not in hot]),
        ("program", "-O2", sorted(outer)),
    ):
        made = folder / "build" / name
        made.mkdir(parents=True)
        objects += compile_objects(core, sources, [optimise, "-fdata-sections", "-I", folder / "src"], made)
    link(core, objects, firmware_file("board.ld"), elf, STACK_RESERVED, _ROOM)
