"""Boards supported by `tinyude size`: their processor core and their memory."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tinyude.errors import TinyUDEError

KILO = 1024


@dataclass(frozen=True)
class Chipset:
    """What a program finds on a board."""

    core: str  # of boards.BOARDS
    ram_bytes: int | None = None
    note: str = ""  # on its figures


_CORES = ("cortex-m0", "cortex-m0plus", "cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55", "rv32imac", "rv32imafc")
_BARE = "Flash and stack are those of the learner and its example, without ESP-IDF (see `idf.py size` for those)"
CHIPSETS = {core: Chipset(core) for core in _CORES} | {
    "microbit": Chipset("cortex-m0", 16 * KILO),
    "samd21": Chipset("cortex-m0plus", 32 * KILO),
    "rp2040": Chipset("cortex-m0plus", 264 * KILO),
    "rp2350": Chipset("cortex-m33", 520 * KILO),
    "stm32f401": Chipset("cortex-m4", 96 * KILO),
    "nrf52840": Chipset("cortex-m4", 256 * KILO),
    "teensy40": Chipset("cortex-m7", 512 * KILO),
    # What ESP-IDF lets static variables take: of the ESP32's 520 kB, where the rest is heap and caches; and of the
    # ESP32-C3's 400 kB, where code that runs from RAM takes its share of it.
    "esp32": Chipset("esp32", 160 * KILO, f"{_BARE}, by LLVM without register windows."),
    "esp32c3": Chipset("rv32imac", 320 * KILO, f"{_BARE}."),  # no atomic instructions there, and none used
}


def chipset(board: str) -> Chipset:
    if board not in CHIPSETS:
        raise TinyUDEError(f"board is {board!r}; use one of {', '.join(CHIPSETS)}.")
    return CHIPSETS[board]


def parse_bytes(text: str, option: str) -> int:
    """'32768', '32k', '32 kB' or '1M', in units of 1024; the option is for the error."""
    match = re.fullmatch(r"\s*(\d+)\s*([kKmM]?)(?:i?[bB])?\s*", text)
    if match is None or int(match[1]) == 0:
        raise TinyUDEError(f"{option} is {text!r}; write a whole number of bytes, or 32k, or 1M.")
    return int(match[1]) * {"": 1, "k": KILO, "m": KILO**2}[match[2].lower()]
