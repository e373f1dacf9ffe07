"""Boards that QEMU emulates, and the tools that make programs for them."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tinyude.errors import TinyUDEError

# As the host's build: no contraction, no reassociation. Anything else would cost the bits.
FLAGS = ("-std=c99", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-ffunction-sections")


@dataclass(frozen=True)
class Toolchain:
    """What makes and runs programs of one kind of processor."""

    prefix: str  # of GNU's tools
    qemu: str
    packages: str  # Debian's, that bring the compiler and its library
    folders: tuple[str, ...]  # of firmware/
    flags: tuple[str, ...] = ()
    link_flags: tuple[str, ...] = ()
    llvm: tuple[str, ...] = ()  # options of llc, where LLVM compiles and GNU's tools only link
    completed_by: tuple[str, ...] = ()  # files of firmware/ with what its libraries leave out

    @property
    def builders(self) -> tuple[str, ...]:
        compilers = ("clang-22", "llc-22", "llvm-mc-22") if self.llvm else ()
        return (*compilers, *(self.prefix + tool for tool in ("gcc", "ar", "size", "nm")))


ARM = Toolchain(
    "arm-none-eabi-", "qemu-system-arm", "gcc-arm-none-eabi libnewlib-arm-none-eabi", ("arm", "semihosting"),
    ("-mthumb",), ("--specs=nano.specs",),
)  # fmt: skip
RISCV = Toolchain(
    "riscv64-unknown-elf-", "qemu-system-riscv32", "gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf",
    ("riscv", "semihosting"), ("--specs=picolibc.specs",),
)  # fmt: skip
# GNU's compiler for the ESP8266 has no FPU support; its libraries work for any Xtensa without register windows.
XTENSA = Toolchain(
    "xtensa-lx106-elf-", "qemu-system-xtensa", "clang-22 llvm-22 gcc-xtensa-lx106 picolibc-xtensa-lx106-elf",
    ("xtensa",), ("-isystem", "/usr/lib/xtensa-lx106-elf/include"), ("-Wl,--no-relax",),
    ("-mcpu=esp32", "-mattr=-windowed,-mul32high"), ("xtensa/arithmetic.c",),
)  # fmt: skip


@dataclass(frozen=True)
class Board:
    """A processor core, and the machine of QEMU that has it."""

    machine: str
    flags: tuple[str, ...]
    flash_start: int = 0x0000_0000
    ram_start: int = 0x2000_0000
    ram_bytes: int = 256 * 1024
    counts: bool = True  # whether the emulated timer runs
    toolchain: Toolchain = ARM
    cpu: str | None = None  # where the machine's own is not the one meant


_HARD = ("-mfloat-abi=hard", "-mfpu=fpv5-sp-d16")
BOARDS = {
    "cortex-m4": Board("mps2-an386", ("-mcpu=cortex-m4", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16")),
    "cortex-m7": Board("mps2-an500", ("-mcpu=cortex-m7", *_HARD)),
    "cortex-m33": Board("mps2-an505", ("-mcpu=cortex-m33", *_HARD), 0x1000_0000, 0x3800_0000, counts=False),
    "cortex-m55": Board("mps3-an547", ("-mcpu=cortex-m55", "-mfloat-abi=hard"), counts=False),
    # QEMU has no M0+. Its instructions (ARMv6-M, no FPU) are among those of an M3, and are all those of an M0.
    "cortex-m0plus": Board("mps2-an385", ("-mcpu=cortex-m0plus", "-mfloat-abi=soft")),
    "cortex-m0": Board("microbit", ("-mcpu=cortex-m0", "-mfloat-abi=soft"), ram_bytes=16 * 1024, counts=False),
    # An FPU for single precision only, as on most microcontrollers that have one; and none, as on an ESP32-C3.
    "rv32imafc": Board(
        "spike", ("-march=rv32imafc", "-mabi=ilp32f"), 0x8080_0000, 0x8000_0000, toolchain=RISCV, cpu="sifive-e34"
    ),
    "rv32imac": Board(
        "sifive_e", ("-march=rv32imac", "-mabi=ilp32"), 0x2040_0000, 0x8000_0000, 16 * 1024, toolchain=RISCV
    ),
    # The ESP32's instructions on another Xtensa with FPU: the bits of an ESP32, not its time.
    "esp32": Board("sim", (), 0, 0xFE00_0000, counts=False, toolchain=XTENSA, cpu="de233_fpu"),
}


def board(core: str) -> Board:
    if core not in BOARDS:
        raise TinyUDEError(f"core is {core!r}; use one of {', '.join(BOARDS)}.")
    return BOARDS[core]


def missing_tools(core: str) -> list[str]:
    """The tools that a board's programs are built with, as far as they are not installed."""
    return [tool for tool in board(core).toolchain.builders if shutil.which(tool) is None]


def missing_emulator(core: str) -> list[str]:
    """The emulator that has the board, where it is not installed."""
    qemu = board(core).toolchain.qemu
    return [] if shutil.which(qemu) else [qemu]


def emulator_command(core: str, icount: str, program: Path) -> list[str | Path]:
    """QEMU with a program that opens files and prints by semihosting; icount as QEMU takes it, an instruction's time.

    Machines without a table of vectors are told to start at the program's entry.
    """
    chosen = board(core)
    bare = ("-bios", "none", "-device", f"loader,file={program},cpu-num=0")
    return [
        chosen.toolchain.qemu, "-machine", chosen.machine, *(("-cpu", chosen.cpu) if chosen.cpu else ()),
        "-icount", icount, *(("-kernel", program) if chosen.toolchain is ARM else bare),
        "-chardev", "stdio,id=out", "-semihosting-config", "enable=on,target=native,chardev=out",
        "-display", "none", "-monitor", "none", "-serial", "none",
    ]  # fmt: skip


def compile_objects(core: str, sources: Sequence[Path], options: Sequence[str | Path], folder: Path) -> list[Path]:
    """The sources as object files for a board, in the folder given, with what call_graph reads beside them."""
    chosen = board(core)
    flags = [*FLAGS, *chosen.toolchain.flags, *chosen.flags, *options]
    objects = [folder / f"{source.stem}.o" for source in sources]
    if chosen.toolchain.llvm:
        for source, made in zip(sources, objects, strict=True):
            _compile_with_llvm(chosen.toolchain, source, flags, made)
    elif sources:
        call([f"{chosen.toolchain.prefix}gcc", *flags, "-fcallgraph-info=su", "-c", *sources], folder)
    return objects


def link(
    core: str, parts: Sequence[Path], script: Path, elf: Path, stack_bytes: int, ram_bytes: int | None = None
) -> None:
    """Objects and libraries as one image; rejected when it needs more than ram_bytes."""
    chosen, toolchain = board(core), board(core).toolchain
    layout = {
        "FLASH_START": chosen.flash_start,
        "RAM_START": chosen.ram_start,
        "RAM_LIMIT": chosen.ram_bytes if ram_bytes is None else ram_bytes,
        "STACK_BYTES": stack_bytes,
    }
    call(
        [
            f"{toolchain.prefix}gcc", *chosen.flags, *toolchain.flags, *toolchain.link_flags, *parts,
            "-nostartfiles", "-Wl,--gc-sections", "-T", script,
            *(f"-Wl,--defsym={name}={value}" for name, value in layout.items()), "-lm", "-o", elf,
        ],
        elf.parent,
    )  # fmt: skip


def linked_bytes(core: str, elf: Path) -> tuple[int, int]:
    """Flash and RAM that an image takes, as the linker placed it."""
    sizes = call([f"{board(core).toolchain.prefix}size", elf], elf.parent)
    text, data, bss = (int(number) for number in sizes.splitlines()[1].split()[:3])
    return text + data, data + bss


def _compile_with_llvm(toolchain: Toolchain, source: Path, flags: Sequence[str | Path], made: Path) -> None:
    """In three steps: clang does not know the processor, and llc's object files do not place constants."""
    folder, code, assembly = made.parent, made.with_suffix(".ll"), made.with_suffix(".s")
    call(["clang-22", "--target=xtensa", *flags, "-S", "-emit-llvm", source, "-o", code], folder)
    code.write_text(_without_float_choices(code.read_text()))
    stack = [f"--pass-remarks-output={made.with_suffix('.stack')}", "--pass-remarks-filter=prologepilog"]
    sections = ["-function-sections", "-data-sections"]
    call(["llc-22", "-mtriple=xtensa", *toolchain.llvm, *sections, *stack, code, "-o", assembly], folder)
    call(["llvm-mc-22", "-triple=xtensa", *toolchain.llvm, "-filetype=obj", assembly, "-o", made], folder)


def _without_float_choices(code: str) -> str:
    """A choice between two floating-point constants as one between their bits: LLVM 22 stops at the former."""
    return re.sub(
        r"%(\S+) = select i1 (\S+), float ([-\d]\S*), float ([-\d]\S*)",
        r"%bits.\1 = select i1 \2, i32 bitcast (float \3 to i32), i32 bitcast (float \4 to i32)"
        r"\n  %\1 = bitcast i32 %bits.\1 to float",
        code,
    )


def call(command: Sequence[str | Path], folder: Path, seconds: float = 600.0) -> str:
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
