"""Emulated boards: the C core and a plant's generated physics as firmware, run under QEMU.

What comes back is what `NativeLearner.state()` shows on the host, and how many instructions it took: an emulator
counts instructions, never cycles.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tinyude import native
from tinyude.codegen import c_source, config_header
from tinyude.errors import TinyUDEError
from tinyude.known import KnownPrograms
from tinyude.reference.config import Config

ROOT = Path(__file__).parents[2]  # of a source tree: an installed package has no firmware
COMPILER = "arm-none-eabi-gcc"
TOOLS = (COMPILER, "arm-none-eabi-ar", "arm-none-eabi-size", "qemu-system-arm")
# As the host's build: no contraction, no reassociation. Anything else would cost the bits.
FLAGS = ("-std=c99", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-ffunction-sections")
STACK_BYTES = 4096
_COUNTED = ("_instructions", "_push")  # figures that come from the instruction counter


@dataclass(frozen=True)
class Board:
    """A processor core, and the machine of QEMU that has it."""

    machine: str
    flags: tuple[str, ...]
    flash_start: int = 0x0000_0000
    ram_start: int = 0x2000_0000
    ram_bytes: int = 256 * 1024
    counts: bool = True  # whether the emulated SysTick runs


_HARD = ("-mfloat-abi=hard", "-mfpu=fpv5-sp-d16")
BOARDS = {
    "cortex-m4": Board("mps2-an386", ("-mcpu=cortex-m4", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16")),
    "cortex-m7": Board("mps2-an500", ("-mcpu=cortex-m7", *_HARD)),
    "cortex-m33": Board("mps2-an505", ("-mcpu=cortex-m33", *_HARD), 0x1000_0000, 0x3800_0000, counts=False),
    "cortex-m55": Board("mps3-an547", ("-mcpu=cortex-m55", "-mfloat-abi=hard"), counts=False),
    # QEMU has no M0+. Its instructions (ARMv6-M, no FPU) are among those of an M3, and are all those of an M0.
    "cortex-m0plus": Board("mps2-an385", ("-mcpu=cortex-m0plus", "-mfloat-abi=soft")),
    "cortex-m0": Board("microbit", ("-mcpu=cortex-m0", "-mfloat-abi=soft"), ram_bytes=16 * 1024, counts=False),
}


@dataclass(frozen=True)
class CoreLibrary:
    """The C core compiled for a board; many firmwares can be linked with it."""

    core: str
    archive: Path


@dataclass(frozen=True)
class Firmware:
    """A linked image and what the linker says of it."""

    elf: Path
    core: str
    config: Config
    flash_bytes: int
    ram_bytes: int  # arena, stack and everything else


@dataclass(frozen=True)
class Run:
    """What a run of a firmware left behind; `figures` holds bytes and, where the board has them, instruction counts."""

    state: dict[str, Any]  # as NativeLearner.state()
    figures: dict[str, int]


def missing() -> list[str]:
    """What an emulated run needs and does not find here."""
    found = [tool for tool in TOOLS if shutil.which(tool) is None]
    if not (ROOT / "firmware" / "main.c").is_file():
        found.append("firmware/ and core/ of a source tree")
    return found if native.available() else [*found, "the compiled core"]


def available() -> bool:
    return not missing()


def compile_core(core: str, folder: Path, optimise: str = "-O3") -> CoreLibrary:
    """The core as a library for one of BOARDS, in the folder given."""
    if core not in BOARDS:
        raise TinyUDEError(f"core is {core!r}; use one of {', '.join(BOARDS)}.")
    if lacking := missing():
        raise TinyUDEError(f"An emulated board needs {', '.join(lacking)}; run tools/install_emulators.sh.")
    folder = folder.resolve()  # tools run inside it
    objects = folder / f"{core}-objects"
    objects.mkdir(parents=True, exist_ok=True)
    sources = sorted((ROOT / "core" / "src").glob("*.c"))
    _call([COMPILER, *_flags(core, optimise), "-c", *sources], objects)
    archive = folder / f"lib{core}.a"
    _call(["arm-none-eabi-ar", "rcs", archive, *sorted(objects.glob("*.o"))], folder)
    return CoreLibrary(core, archive)


def build_firmware(
    library: CoreLibrary,
    config: Config,
    programs: KnownPrograms,
    folder: Path,
    ram_bytes: int | None = None,
    stack_bytes: int = STACK_BYTES,
) -> Firmware:
    """Firmware that learns with this configuration; refused by the linker when it needs more than ram_bytes."""
    board, folder = BOARDS[library.core], folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "plant.c").write_text(c_source(programs, "plant"))
    arena = native.memory(config, "float32")["total"]
    (folder / "plant_config.h").write_text(config_header(config, arena, "plant"))
    layout = {
        "FLASH_START": board.flash_start,
        "RAM_START": board.ram_start,
        "RAM_LIMIT": board.ram_bytes if ram_bytes is None else ram_bytes,
        "STACK_BYTES": stack_bytes,
    }
    elf = folder / "firmware.elf"
    _call(
        [
            COMPILER, *_flags(library.core, "-O2"), "-I", folder,
            *sorted((ROOT / "firmware").glob("*.c")), folder / "plant.c", library.archive,
            "-nostartfiles", "-Wl,--gc-sections", "-T", ROOT / "firmware" / "board.ld",
            *(f"-Wl,--defsym={name}={value}" for name, value in layout.items()), "-lm", "-o", elf,
        ],
        folder,
    )  # fmt: skip
    text, data, bss = (int(n) for n in _call(["arm-none-eabi-size", elf], folder).splitlines()[1].split()[:3])
    return Firmware(elf, library.core, config, text + data, data + bss)


def run(firmware: Firmware, rows: ArrayLike, seconds: float = 300.0) -> Run:
    """Push the rows (samples, channels + inputs) one by one on the emulated board, finish, and read the learner."""
    folder, board = firmware.elf.parent, BOARDS[firmware.core]
    np.ascontiguousarray(rows, np.float32).tofile(folder / "stream.bin")
    command: list[str | Path] = [
        "qemu-system-arm", "-machine", board.machine, "-icount", "shift=6", "-kernel", firmware.elf,
        "-chardev", "stdio,id=out", "-semihosting-config", "enable=on,target=native,chardev=out",
        "-display", "none", "-monitor", "none", "-serial", "none",
    ]  # fmt: skip
    learner, machine = _call(command, folder, seconds).split("\n\n")
    state: dict[str, Any] = {**_printed(learner), **_arrays(firmware.config, folder)}
    state["changed_at"] = state["changed_at"][: state["changes"]]
    figures = {name: int(n) for name, n in _printed(machine).items() if board.counts or not name.endswith(_COUNTED)}
    return Run(state, figures)


def _arrays(config: Config, folder: Path) -> dict[str, NDArray[Any]]:
    """The arrays that the firmware saved, in the shapes and types of NativeLearner.state()."""
    scales, model = "sigma step x_scale dx_scale ddx_scale u_scale", "params average coefficients errors"
    types: dict[str, Any] = dict.fromkeys(f"{scales} {model}".split(), np.float32)
    types |= {"network_on": np.int32, "rejected": np.uint32, "changed_at": np.uint32}
    types["reservoir"] = np.int16 if config.compact else np.float32
    arrays = {name: np.fromfile(folder / f"{name}.bin", dtype) for name, dtype in types.items()}
    width = config.network_nodes * (config.states + config.inputs) + len(config.on)
    width += config.states if config.second_order > 0.0 else 0
    arrays["reservoir"] = arrays["reservoir"].reshape(-1, width)
    return {name: a.astype(np.int64) if a.dtype == np.uint32 else a for name, a in arrays.items()}


def _printed(text: str) -> dict[str, int | float]:
    """Lines "name 12", and "name 0x3f800000" for a real."""
    values = dict(line.split() for line in text.splitlines())
    return {name: _real(value) if value.startswith("0x") else int(value) for name, value in values.items()}


def _real(bits: str) -> float:
    return float(np.uint32(int(bits, 16)).view(np.float32))


def _flags(core: str, optimise: str) -> list[str | Path]:
    return [*FLAGS, optimise, "-mthumb", *BOARDS[core].flags, "-I", ROOT / "core/include", "-I", ROOT / "core/src"]


def _call(command: Sequence[str | Path], folder: Path, seconds: float = 600.0) -> str:
    """Output of a tool; what it prints when it fails becomes the error's text."""
    try:
        done = subprocess.run(
            [str(part) for part in command], cwd=folder, capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        raise TinyUDEError(f"{command[0]} ran longer than {seconds:g} s; give it a shorter stream.") from None
    if done.returncode != 0:
        said = (done.stdout + done.stderr).strip()[-2000:]
        raise TinyUDEError(f"{Path(command[0]).name} failed with status {done.returncode}: {said}")
    return done.stdout
