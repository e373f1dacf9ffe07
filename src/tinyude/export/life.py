"""An export's life on an emulated Cortex-M4F: what a push and a slice of work take, sampling in true time, power cuts.

The program is the export's own, by its own Makefile; only its main is another (firmware/life). It takes the installed
package, GCC for Arm, make and QEMU.
"""

from __future__ import annotations

import shutil
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tinyude.errors import TinyUDEError
from tinyude.export.boards.toolchains import call, emulator_command, missing_emulator
from tinyude.export.chip import Chip
from tinyude.export.core_files import firmware_file
from tinyude.export.folder import write_folder
from tinyude.export.footprint import missing_for
from tinyude.export.packages import export_files

CORE = "cortex-m4"
COUNTED, PACED, RESUMED = range(3)
MIPS = {4: 62.5, 5: 31.25, 6: 15.625}  # by QEMU's icount shift: an instruction takes 2^shift ns
COUNTING_SHIFT = 6  # firmware/board.h counts in these
CLOCK_HZ = 25_000_000  # of the machine's timers
NEVER = 2**32 - 1
SLOT_BYTES = 0x40000
_SHARED = (
    "board.h",
    "board.c",
    "machine.h",
    "semihosting/semihosting.h",
    "semihosting/semihosting.c",
    "arm/semihost.c",
)


@dataclass(frozen=True)
class Cost:
    """Instructions of a call: on average and at most."""

    mean: float
    longest: int


@dataclass(frozen=True)
class Life:
    """The results of a run."""

    figures: dict[str, int]
    terms: dict[int, tuple[float, float]]  # by column: coefficient and half of its interval's width
    flash: bytes  # two slots

    def cost(self, name: str) -> Cost:
        """Of a `push` or a `slice`."""
        return Cost(self.figures[f"{name}_sum"] / self.figures[f"{name}_count"], self.figures[f"{name}_longest"])


def missing_for_life() -> list[str]:
    """The tools that an emulated life needs and that are not installed."""
    return missing_for(CORE) + missing_emulator(CORE)


def build_life(chip: Chip, folder: Path) -> Path:
    """The image, built in an empty folder."""
    if lacking := missing_for_life():
        raise TinyUDEError(f"An emulated {CORE} needs {', '.join(lacking)}; run tools/install_emulators.sh.")
    folder = folder.resolve()
    write_folder(folder, export_files(chip, "cortex-m", "model"), {})
    shutil.copy(firmware_file("life/life.c"), folder / "main.c")
    (folder / "sensor.c").write_text("typedef int nothing_to_sense;\n")
    for path in _SHARED:
        shutil.copy(firmware_file(path), folder / "src")
    memory = ["FLASH_START=0", "FLASH_BYTES=0x400000", "RAM_BYTES=0x400000", f"CLOCK_HZ={CLOCK_HZ}"]
    call(["make", "--silent", "-j2", *memory], folder)
    return folder / "model.elf"


def count_life(elf: Path, rows: ArrayLike, save_every: int = 0, cut_after: int = NEVER) -> Life:
    """Rows (samples, channels + inputs) pushed one by one, every push and every slice of work counted.

    Telemetry is on, and the state is saved every so many samples. After so many bytes to the flash the power fails.
    """
    table = np.ascontiguousarray(rows, np.float32)
    head = (COUNTED, len(table), save_every, cut_after, 1, 1)
    return _run(elf, head, table.tobytes(), COUNTING_SHIFT)


def resume_life(elf: Path, flash: bytes) -> Life:
    """A board that starts with this content of its flash: it loads the newest whole state, and saves it once more."""
    (elf.parent / "flash.bin").write_bytes(flash)
    return _run(elf, (RESUMED, 0, 0, NEVER, 1, 1), b"", COUNTING_SHIFT)


def pace_life(elf: Path, period: float, clean: ArrayLike, noise: ArrayLike, fine: int, shift: int) -> Life:
    """Samples in a timer's interrupt; the sensor's value depends on the time at which it is read.

    clean (samples * fine + 1, channels + inputs): the sensor's values, `fine` rows a period; held inputs.
    noise (samples + 1, channels): of the sample that is nearest. The first sample is taken one period after the start.
    shift: of QEMU's icount, see MIPS.
    """
    ticks = round(period * CLOCK_HZ / fine)
    if abs(ticks * fine / (period * CLOCK_HZ) - 1.0) > 1e-9:  # the sensor's time would leave the board's
        raise TinyUDEError(f"{period:g} s / {fine} is no whole number of ticks of {CLOCK_HZ:,} Hz; change either.")
    table, hiss = np.ascontiguousarray(clean, np.float32), np.ascontiguousarray(noise, np.float32)
    head = (PACED, len(hiss) - 1, 0, NEVER, fine, ticks)
    return _run(elf, head, table.tobytes() + hiss.tobytes(), shift)


def probe_rows(chip: Chip, samples: int = 6000) -> NDArray[np.float32]:
    """A synthetic stream for a chip without a record: motions of its scales, then faster ones, then noisy ones."""
    config, start, rng = chip.config, chip.start, np.random.default_rng(0)
    reach = start.window_half * start.window_spacing if start else config.max_half
    t = np.arange(samples) / (8.0 * reach)  # in periods of the motion
    phase = 2.0 * np.pi * (t + 0.5 * np.maximum(t - t[samples // 2], 0.0))  # from the middle on 1.5 times as fast
    rows = np.empty((samples, config.channels + config.inputs))
    for c in range(config.channels):
        scale = start.x_scale[config.channel.index(c)] if start else 1.0
        rows[:, c] = scale * (np.sin(phase + c) + 0.5 * np.sin(0.37 * phase))
    for angle, rate in enumerate(config.rate_channel):
        if rate:  # sensors that contradict each other would be found out
            rows[:, rate - 1] = np.gradient(rows[:, angle], config.sample_period)
    rows[:, config.channels :] = np.sign(np.sin(phase / 3.0))[:, None] * (start.u_scale if start else 1.0)
    noise = 0.01 * np.std(rows[:, : config.channels], axis=0) * rng.standard_normal((samples, config.channels))
    noise[-samples // 4 :] *= 8.0
    rows[:, : config.channels] += noise
    return np.asarray(rows, np.float32)


def saved_images(flash: bytes) -> dict[int, bytes]:
    """The whole images in a flash: by sequence, the state that each holds."""
    return dict(_images(flash))


def _images(flash: bytes) -> Iterator[tuple[int, bytes]]:
    for first in (0, SLOT_BYTES):
        _, _, _, sequence, length, _ = struct.unpack_from("<6I", flash, first)
        end = first + struct.calcsize("<6I") + length
        if end + 4 <= len(flash) and zlib.crc32(flash[first:end]) == struct.unpack_from("<I", flash, end)[0]:
            yield sequence, flash[first + struct.calcsize("<6I") : end]


def _run(elf: Path, head: tuple[int, ...], tables: bytes, shift: int) -> Life:
    folder = elf.parent
    (folder / "life.bin").write_bytes(struct.pack("<6I", *head) + tables)
    if head[0] != RESUMED:
        (folder / "flash.bin").unlink(missing_ok=True)
    said = call(emulator_command(CORE, f"shift={shift},sleep=off", elf), folder)
    lines = [line.split() for line in said.splitlines()]
    columns = [int(value) for name, value in lines if name == "column"]
    values, widths = (_reals(lines, name) for name in ("value", "half_width"))
    terms = {column: (float(a), float(b)) for column, a, b in zip(columns, values, widths, strict=True)}
    figures = {name: int(value) for name, value in lines if not value.startswith("0x") and name != "column"}
    return Life(figures, terms, (folder / "flash.bin").read_bytes())


def _reals(lines: list[list[str]], wanted: str) -> NDArray[np.float32]:
    return np.array([int(value, 16) for name, value in lines if name == wanted], np.uint32).view(np.float32)
