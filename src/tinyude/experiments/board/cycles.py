"""Estimated cycles and energy of an update on a Cortex-M4F: instructions run under emulation times Arm's cycle table.

An estimate, not a measurement: an emulator models neither pipeline stalls nor flash wait states.
"""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from tinyude.experiments.board import emulator
from tinyude.experiments.board.board_run import core_library
from tinyude.experiments.experiment import Config, Result
from tinyude.export.boards.memory_presets import board_config
from tinyude.systems import pendulum
from tinyude.training.known import known_programs

SECONDS = 6.0  # of a stream, enough for a batch of windows
MEASURED_UPDATES = 16  # of firmware/main.c, after its report
TAKEN, NOT_TAKEN = 3, 1  # branches: Arm says 1 and 1 + 1 to 3
# Arm's Cortex-M4 Technical Reference Manual, tables 3-1 and 7-1; the first match counts. All others take one cycle.
CYCLES = (
    (r"vdiv|vsqrt", 14),
    (r"vf?n?m(la|ls|a|s)\b", 3),
    (r"[su]div", 7),  # 2 to 12
    (r"ldrd|strd", 3),
    (r"v?ldr|v?str", 2),
)
MICROAMPERE_A_MEGAHERTZ, VOLT = 100.0, 3.3  # STM32F411 data sheet: run mode, peripherals off
MICROJOULE_A_CYCLE = MICROAMPERE_A_MEGAHERTZ * VOLT * 1e-6

_INSTRUCTION = re.compile(r"^0x([0-9a-f]+):  ([0-9a-f]{4}(?: [0-9a-f]{4})?) +(\S+) *(.*)$")
_EXECUTED = re.compile(r"^Trace \d+: \S+ \[[0-9a-f]+/([0-9a-f]+)/\S+\] ?(\S*)")


@dataclass
class Stretch:
    """A block of consecutive instructions, and the address after the last."""

    instructions: list[str]
    end: int


def run_cycles(config: Config) -> Result:
    """The cost of an update of a preset, by instruction."""
    plant = pendulum()
    _, samples = plant.stream(noise=0.01, seconds=SECONDS)
    chosen = board_config(
        plant.physics, config["cycles_of"], samples=len(samples), calibration=len(samples) // 2, train_every=0,
        updates=1, network_nodes=1,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        firmware = emulator.build_firmware(core_library(), chosen, known_programs(plant.physics, [], chosen.on), folder)
        trace = folder / "trace.log"
        counted = emulator.run(firmware, samples, options=["-d", "exec,nochain,in_asm", "-D", str(trace)])
        code, executed = read_trace(trace)
    instructions, cycles = count(code, executed)
    return {
        "counted": counted.figures["update_instructions"],
        "instructions": sum(instructions.values()) / MEASURED_UPDATES,
        "cycles": cycles / MEASURED_UPDATES,
        "mix": {kind: number / MEASURED_UPDATES for kind, number in instructions.most_common()},
    }


def read_trace(path: Path) -> tuple[dict[int, Stretch], list[int]]:
    """Code blocks by address, and those that the measured updates ran through, in order."""
    code: dict[int, Stretch] = {}
    executed: list[int] = []
    inside, start = False, 0
    with path.open() as lines:
        for line in lines:
            if line.startswith("IN:"):
                start = 0
            elif found := _INSTRUCTION.match(line):
                address = int(found[1], 16)
                if not start:
                    start = address
                    code[start] = Stretch([], start)
                code[start].instructions.append(f"{found[3]} {found[4]}".strip())
                code[start].end = address + len(found[2].replace(" ", "")) // 2
            elif found := _EXECUTED.match(line):
                if found[2] == "tu_learner_step" and not inside:  # may occur more than once; the last one counts
                    executed.clear()
                    inside = True
                elif found[2] in ("report_state", "board_print_count"):
                    inside = False
                if inside:
                    executed.append(int(found[1], 16))
    return code, executed


def count(code: dict[int, Stretch], executed: list[int]) -> tuple[Counter[str], int]:
    """How often each kind of instruction ran, and the total number of cycles."""
    kinds: Counter[str] = Counter()
    cycles = 0
    for address, times in Counter(executed).items():
        for instruction in code[address].instructions:
            kinds[kind_of(instruction)] += times
            cycles += times * cycles_of(instruction)
    for (here, there), times in Counter(pairwise(executed)).items():
        if is_branch(code[here].instructions[-1]):
            cycles += times * (NOT_TAKEN if there == code[here].end else TAKEN)
    return kinds, cycles


def is_branch(instruction: str) -> bool:
    name = instruction.split()[0]
    return bool(re.match(r"(b|bl|bx|blx|cbz|cbnz|b(eq|ne|cs|hs|cc|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le))(\.[wn])?$", name))


def cycles_of(instruction: str) -> int:
    """Cycles of a single instruction; branches are counted by whether they are taken."""
    if is_branch(instruction):
        return 0
    name, _, operands = instruction.partition(" ")
    if "{" in operands and re.match(r"v?(push|pop|ldm|stm)", name):
        listed = operands[operands.index("{") + 1 : operands.index("}")].split(",")
        return 1 + sum(2 if register.strip().startswith("d") else 1 for register in listed)
    return next((cycles for pattern, cycles in CYCLES if re.match(pattern, name)), 1)


def kind_of(instruction: str) -> str:
    name = instruction.split()[0]
    if is_branch(instruction):
        return "branches"
    if re.match(r"v?(ldr|str|ldm|stm|push|pop)", name):
        return "loads and stores"
    return "floating point" if name.startswith("v") else "integer"
