"""Work that refinement may do, counted and not timed: the same record gives the same result on a busy machine."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.physics.programs import Program
from tinyude.refinement.field import Field
from tinyude.refinement.filter import Noise, Passed, Plan
from tinyude.refinement.gauss_newton import Filter, Pass
from tinyude.refinement.stretches import Batch

Array = NDArray[Any]
SECONDS_AN_INSTRUCTION = 4e-9  # of a program (measured on a 2.5 GHz core)
ARITHMETIC = {"add", "sub", "mul", "neg", "abs", "sign"}
SLOW = 6.0  # instructions that a division, a root or an elementary function takes
SECONDS_A_ROW = 3e-7  # of the filter around it
SECONDS_AN_ENTRY = 1e-9  # of a matrix of sensitivities


class Budget:
    """Seconds that passes are expected to take, until they are spent."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.spent = seconds, 0.0

    def renew(self, seconds: float) -> None:
        """So much more from now on."""
        self.seconds, self.spent = seconds, 0.0

    @property
    def over(self) -> bool:
        return self.spent > self.seconds


def row_seconds(field: Field, sensitivities: bool = True, frozen: bool = False) -> float:
    """What a pass is expected to take for each row."""
    program = field.value if frozen else field.slopes if sensitivities else field.state_slopes[0]
    columns = 0 if frozen else field.states + field.unknowns * sensitivities
    entries = field.states * columns * field.states + sensitivities * field.unknowns**2
    return 4.0 * (_instructions(program) * SECONDS_AN_INSTRUCTION + entries * SECONDS_AN_ENTRY) + SECONDS_A_ROW


@lru_cache(maxsize=64)
def _instructions(program: Program) -> float:
    return sum(1.0 if operation in ARITHMETIC else SLOW for operation, _, _ in program.code)


class CountedFilter(Filter):
    """A filter whose passes are charged to a budget."""

    def __init__(self, filter_: Filter, field: Field, batch: Batch, plan: Plan, budget: Budget) -> None:
        self._filter, self._budget = filter_, budget
        spans = np.diff(batch.times)
        self._steps = max(1.0, float(np.median(spans)) / plan.longest_step) if len(spans) else 1.0
        self._field, self._rows = field, batch.rows

    def run_pass(self, unknowns: Array, noise: Noise, asked: Pass) -> Passed:
        self._charge(asked.sensitivities and asked.frozen is None, asked.frozen is not None)
        return self._filter.run_pass(unknowns, noise, asked)

    def smooth(self, unknowns: Array, noise: Noise, gate: float = 0.0) -> tuple[Array, Array]:
        self._charge(False, False)
        return self._filter.smooth(unknowns, noise, gate)

    def _charge(self, sensitivities: bool, frozen: bool) -> None:
        self._budget.spent += self._rows * self._steps * row_seconds(self._field, sensitivities, frozen)
