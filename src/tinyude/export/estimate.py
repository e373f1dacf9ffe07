"""Estimated cost of an export on some processors without a compiler, for a README that is the same on every machine.

Flash is fitted to linked images of six learners and six predictors, instructions to emulated updates of five networks
(three, the largest of 12-12 units, on RV32). `footprint` measures the bytes of a model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinyude.export.chip import Chip
from tinyude.reference.network.mlp import mlp_count


@dataclass(frozen=True)
class Processor:
    """Bytes of flash, and instructions of an update for each sample of its batch."""

    name: str
    learner: int  # with a network, that starts from nothing, its example and libraries included
    terms_alone: int  # the same without a network
    paper: int  # further, for spaced taps and the second-order term
    stack: int  # of a learner's program
    start: int  # further, to start from a model
    predictor: int  # likewise with example and libraries
    network: int  # further, for a predictor's network
    operation: int  # of the known physics
    weight: float = 0.0  # instructions; 0 where nothing counted them
    unit: float = 0.0
    rest: float = 0.0


PROCESSORS = {
    "cortex-m4": Processor("Cortex-M4F", 70_400, 30_000, 12_600, 2_200, 1_100, 700, 450, 12, 7.73, 27.2, 87.7),
    "cortex-m0plus": Processor(
        "Cortex-M0+, no FPU", 93_400, 38_900, 18_700, 2_500, 1_300, 4_700, 600, 15, 604.0, 1546.0, -337.0
    ),
    "esp32": Processor("ESP32", 101_400, 65_700, 15_300, 3_600, 1_600, 1_700, 1_500, 20),
    "rv32imac": Processor("ESP32-C3, no FPU", 94_900, 55_300, 18_900, 2_600, 2_000, 4_900, 900, 24, 599.0, 948.0, 0.0),
}
PREDICTOR_STACK, NETWORK_STACK = 224, 48


@dataclass(frozen=True)
class Estimate:
    """Of a whole image, `dense.c` and `dense_gradient.c` of the core at -O3 and the rest at -O2."""

    name: str
    flash_bytes: int
    stack_bytes: int
    update_instructions: int | None  # None: nothing counted them there, or there is no network to update


def estimates(chip: Chip, inference_only: bool) -> dict[str, Estimate]:
    """By core of boards.BOARDS."""
    return {core: (_predictor if inference_only else _learner)(chip, known) for core, known in PROCESSORS.items()}


def _learner(chip: Chip, processor: Processor) -> Estimate:
    used = [name for name in vars(chip.programs) if name != "jacobian" or chip.config.second_order > 0.0]
    flash = processor.learner if chip.config.hidden else processor.terms_alone
    flash += processor.operation * _operations(chip, *used) + (0 if chip.config.dense else processor.paper)
    if chip.start is not None:
        flash += processor.start + 4 * sum(np.size(value) for value in vars(chip.start).values())
    config, update = chip.config, None
    if config.hidden and processor.weight:
        one = processor.weight * mlp_count(config.sizes) + processor.unit * sum(config.hidden) + processor.rest
        update = round(config.batch * config.network_nodes * one)
    return Estimate(processor.name, flash, processor.stack, update)


def _predictor(chip: Chip, processor: Processor) -> Estimate:
    chip = chip.with_kept_terms()
    assert chip.start is not None
    flash = processor.predictor + processor.operation * _operations(chip, "field", "terms")
    flash += 4 * chip.start.coefficients.size
    if not (chip.config.hidden and np.any(chip.start.network_on)):
        return Estimate(processor.name, flash, PREDICTOR_STACK, None)
    flash += processor.network + 4 * chip.start.weights.size
    return Estimate(processor.name, flash, PREDICTOR_STACK + NETWORK_STACK + 8 * max(chip.config.sizes), None)


def _operations(chip: Chip, *wanted: str) -> int:
    programs = vars(chip.programs)
    return sum(len(programs[name].code) for name in wanted)
