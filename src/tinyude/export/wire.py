"""A chip's model as the numbers of the telemetry protocol (docs/telemetry.md), and its board's fingerprint."""

from __future__ import annotations

import json
import zlib

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tinyude.export.chip import Chip
from tinyude.reference.start import StartModel

LONGEST_SLICE = 120_000  # instructions of a Cortex-M4F that a slice of work may take
FIFO_SECONDS = 0.1  # of samples that may wait: a slice, a flash page's erasure, a burst of telemetry
FIFO_LEAST, FIFO_MOST = 8, 256


def fifo_depth(chip: Chip) -> int:
    """Samples that may wait for the learner."""
    return int(np.clip(np.ceil(FIFO_SECONDS / chip.config.sample_period), FIFO_LEAST, FIFO_MOST))


def fingerprint(chip: Chip) -> int:
    """A number that two chips share when one's model means the same to the other.

    That takes the same physics, terms, network and sample period; values of learned parameters may differ. A kernel
    network must be the same: its numbers are compiled into the firmware.
    """
    physics, config, kernel = chip.physics, chip.config, chip.kernel
    fixed = {name: p.value for name, p in physics.parameters.items() if name not in physics.learned}
    facts = [
        list(physics.states), list(physics.inputs), list(physics.texts), list(physics.learned), fixed,
        list(chip.measured), [str(term) for term in chip.terms], list(config.on), list(config.sees),
        list(config.hidden), f"{config.sample_period:.9g}", config.poly,
    ]  # fmt: skip
    if kernel is not None:
        arrays = (kernel.offset, kernel.centres, kernel.inverse_lengths, kernel.unknowns)
        facts.append([kernel.on, kernel.sees, kernel.angles, *(array.ravel().tolist() for array in arrays)])
    return zlib.crc32(json.dumps(facts, sort_keys=True).encode())


def model_numbers(chip: Chip, base: ArrayLike = ()) -> NDArray[np.float32]:
    """What a chip starts from, as a board takes it over the link.

    Parameters
    ----------
    chip
        A chip with a fitted model.
    base
        Values of the learned parameters that the board's own firmware was compiled with.
    """
    start = chip.start
    assert start is not None
    coefficients = start.coefficients.copy()
    learned = np.asarray(base, float)
    coefficients[: len(learned)] += np.array([*chip.parameters.values()]) - learned
    return np.concatenate(
        [
            [start.window_half, start.window_spacing, start.sigma_scale], start.x_scale, start.u_scale, start.dx_scale,
            start.network_on, coefficients, start.errors, start.weights,
        ]
    ).astype(np.float32)  # fmt: skip


def start_of_numbers(chip: Chip, numbers: NDArray[np.float32]) -> StartModel:
    """The model of a board that this chip was exported to, as it was fetched over the link."""
    config = chip.config
    columns = config.parameters + len(config.on) * config.library_terms
    lengths = [config.states, config.inputs, config.states, len(config.on), columns, columns]
    x, u, dx, on, coefficients, errors, weights = np.split(np.asarray(numbers[3:], float), np.cumsum(lengths))
    half, spacing, sigma_scale = numbers[:3].tolist()
    return StartModel(int(half), int(spacing), sigma_scale, x, u, dx, weights, on, coefficients, errors)
