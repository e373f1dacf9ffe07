"""A small driven oscillator with everything the filter must handle: an input, unknowns, missing and wild samples."""

from dataclasses import dataclass

import numpy as np
import pytest
import sympy as sp

from tinyude.physics.holds import Hold, interval_coefficients
from tinyude.physics.programs import program
from tinyude.refinement.field import Field
from tinyude.refinement.filter import Noise, Plan
from tinyude.refinement.stretches import Batch, Stretch, batch_of


@dataclass(frozen=True)
class Case:
    field: Field
    values: np.ndarray
    batch: Batch
    noise: Noise
    plan: Plan


@pytest.fixture(scope="session")
def driven() -> Case:
    x, v, u, k, c = sp.symbols("x v u k c")
    field = Field(program([v, -k * sp.sin(x) - c * v + u], [x, v, u, k, c]), states=2, inputs=1, unknowns=2)
    values = np.array([2.0, 0.3])
    rng = np.random.default_rng(3)
    stretches = []
    for number, rows in enumerate((60, 45)):
        times = np.cumsum(rng.uniform(0.03, 0.09, rows))
        inputs = np.sin(2.0 * times)[:, None]
        samples = np.column_stack([np.sin(times) + 0.01 * rng.standard_normal(rows), np.cos(times)])
        samples[7, 0], samples[9], samples[20 + number] = np.nan, np.nan, 30.0
        coefficients = interval_coefficients(times, inputs, [Hold("cubic")])
        stretches.append(Stretch(times, samples, coefficients, np.array([0.0, 1.0]), np.array([0.01, 0.1])))
    noise = Noise(np.array([0.02, 0.05]) ** 2, np.array([0.0, 0.01]))
    return Case(field, values, batch_of(stretches), noise, Plan((0, 1), 0.05, np.array([1.0, 4.0])))
