"""Cost of a network update, and image size, on an emulated Cortex-M4F, by how the core is compiled."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from tinyude.experiments.board import emulator
from tinyude.experiments.board.export_session import MOTOR, motor_log
from tinyude.experiments.experiment import Table
from tinyude.export import chip_of_physics
from tinyude.physics.file import load_physics_file

SAMPLES = 6000  # of a stream, enough for a batch of windows
# Optimisation of the core, and of the two files in which training spends most time.
OPTIONS = {
    "all at -O3 (PlatformIO, `c`)": ("-O3", "-O3"),
    "`dense.c` and `dense_gradient.c` at -O3, the rest at -O2 (`cortex-m`, ESP-IDF, Zephyr)": ("-O2", "-O3"),
    "all at -O2": ("-O2", "-O2"),
    "all at -Os (the Arduino IDE leaves no choice)": ("-Os", "-Os"),
}


def by_options() -> Table:
    """Instructions of an update and flash of the image, for the motor of docs/export.md."""
    rows = motor_log().select("i", "omega", "V").to_numpy()[:SAMPLES]
    found = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "motor.toml").write_text(MOTOR)
        chip = chip_of_physics(load_physics_file(folder / "motor.toml").physics)
        config = replace(chip.config, calibration=SAMPLES // 2, train_every=0, updates=1, judged=False)
        for number, (name, (rest, hot)) in enumerate(OPTIONS.items()):
            here = folder / str(number)
            library = emulator.compile_core("cortex-m4", here, rest, hot)
            firmware = emulator.build_firmware(library, config, chip.programs, here)
            figures = emulator.run(firmware, rows).figures
            found.append([name, f"{figures['update_instructions']:,}", f"{firmware.flash_bytes:,} B"])
    return Table(
        "An update of this motor's network, and the image", ["compiled", "instructions", "flash of the image"], found
    )
