"""What a compiler and a linker make of an export: flash, RAM and stack, to the byte."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tinyude.errors import TinyUDEError
from tinyude.export.chip import Chip
from tinyude.export.folder import write_folder
from tinyude.export.packages import export_files
from tinyude.export.stack import deepest_stack, read_call_graph

TOOLS = ("make", "arm-none-eabi-gcc", "arm-none-eabi-size")
STACK_RESERVED = 2048  # the export's Makefile reserves so much
_ROOM = 1 << 24  # memory of a board that everything fits


@dataclass(frozen=True)
class Footprint:
    """Of the cortex-m export's own program."""

    flash_bytes: int
    ram_bytes: int  # arena, reserved stack and everything else
    stack_bytes: int  # the deepest path of calls, without interrupts


def missing_tools() -> list[str]:
    return [tool for tool in TOOLS if shutil.which(tool) is None]


def footprint(chip: Chip, cpu: str, prefix: str = "model") -> Footprint:
    """Build the cortex-m export with its own Makefile and ask the linker."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_folder(folder, export_files(chip, "cortex-m", prefix), {})
        _make(folder, cpu)
        sizes = subprocess.run(
            ["arm-none-eabi-size", f"{prefix}.elf"], cwd=folder, capture_output=True, text=True, check=True
        )
        text, data, bss = (int(number) for number in sizes.stdout.splitlines()[1].split()[:3])
        graph = read_call_graph(sorted(folder.glob("build/**/*.ci")))
        return Footprint(text + data, data + bss, deepest_stack(graph, "main", handlers="startup.c"))


def _make(folder: Path, cpu: str) -> None:
    settings = [f"CPU={cpu}", f"RAM_BYTES={_ROOM}", f"FLASH_BYTES={_ROOM}", "EXTRA_CFLAGS=-fcallgraph-info=su"]
    done = subprocess.run(["make", "--silent", *settings], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise TinyUDEError(f"The export does not build with {cpu}: {done.stderr.strip()[-1000:]}")
