"""The work budget of refinement, counted and not timed: results do not depend on the machine's load."""

from __future__ import annotations

from collections.abc import Callable
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
SECONDS_AN_INSTRUCTION = 8e-10  # of a program, evaluated over many rows at once (measured on a 2.5 GHz core)
ARITHMETIC = {"add", "sub", "mul", "neg", "abs", "sign"}
SLOW = 6.0  # cost of a division, a root or an elementary function, in instructions
SECONDS_A_ROW = 2e-7  # of the filter, beside the program
SECONDS_AN_ENTRY = 5e-10  # of a matrix of sensitivities
SECONDS_A_PASS = 1.5e-4  # overhead of a pass


class Budget:
    """Expected seconds of passes, granted in shares: every loop of refinement checks whether they are spent."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._granted, self._spent = 0.0, 0.0

    def grant(self, share: float) -> None:
        """Grant a share of the total, in addition to what was granted and not spent."""
        self._granted = max(self._granted, self._spent) + share * self.seconds

    def charge(self, seconds: float) -> None:
        self._spent += seconds

    @property
    def over(self) -> bool:
        return self._spent > self._granted

    def part(self, count: int) -> Callable[[], bool]:
        """A test whether the first of `count` equal parts of the remaining work is done."""
        limit = self._spent + max(self._granted - self._spent, 0.0) / count
        return lambda: self._spent > limit


def row_seconds(field: Field, sensitivities: bool = True, frozen: bool = False) -> float:
    """Expected seconds per row of a pass."""
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

    def smooth(self, unknowns: Array, noise: Noise, gate: float, directions: Array) -> tuple[Array, Array]:
        self._charge(False, False)
        return self._filter.smooth(unknowns, noise, gate, directions)

    def _charge(self, sensitivities: bool, frozen: bool) -> None:
        seconds = row_seconds(self._field, sensitivities, frozen)
        self._budget.charge(SECONDS_A_PASS + self._rows * self._steps * seconds)
