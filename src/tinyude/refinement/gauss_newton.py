"""Levenberg's method on the filter's innovations, with gains frozen within each step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tinyude.refinement.filter import Noise, Passed
from tinyude.refinement.unknowns import Unknowns

Array = NDArray[Any]
FIRST_DAMPING = 1e-3  # of the diagonal
LEAST_DAMPING = 1e-9
TRIALS = 6  # dampings tried for one step, each ten times the previous one
EVERY = slice(None)
CONVERGED = 1e-3  # converged if the next step would lower the cost by less


class Pass(NamedTuple):
    """Options of a pass; filter.filter_pass_numpy explains each."""

    gate: float = 0.0
    sensitivities: bool = True
    frozen: Passed | None = None


class Filter(ABC):
    """A field and a batch, ready for passes (compiled.py)."""

    def run(
        self, unknowns: Array, noise: Noise, gate: float = 0.0, sensitivities: bool = True,
        frozen: Passed | None = None,
    ) -> Passed:  # fmt: skip
        """One pass over all stretches."""
        return self.run_pass(unknowns, noise, Pass(gate, sensitivities, frozen))

    @abstractmethod
    def run_pass(self, unknowns: Array, noise: Noise, asked: Pass) -> Passed:
        """The same, as an engine supplies it."""

    @abstractmethod
    def smooth(self, unknowns: Array, noise: Noise, gate: float, directions: Array) -> tuple[Array, Array]:
        """States given all rows of their stretch, and their variances (smoother.py)."""


@dataclass(frozen=True)
class Solution:
    """The final unknowns, and the pass there."""

    unknowns: Unknowns
    passed: Passed
    steps: int
    converged: bool

    @property
    def information(self) -> Array:
        return np.asarray(self.passed.information.sum(axis=0))


def gauss_newton(
    filter_: Filter,
    unknowns: Unknowns,
    noise: Noise,
    gate: float = 0.0,
    steps: int = 6,
    spent: Callable[[], bool] = bool,
    begun: Passed | None = None,
) -> Solution:  # fmt: skip
    """At most `steps` accepted steps from the given values, or until the work budget is `spent`.

    begun: the pass at the given values, if already made.

    A trial step is judged with gains, variances and rejected rows from before it, so that the cost is one
    function of the unknowns; after a step they are updated.
    """
    passed = begun or filter_.run(unknowns.values, noise, gate)
    damping = FIRST_DAMPING
    for number in range(steps):
        if not len(unknowns) or spent() or not np.isfinite(passed.cost):
            return Solution(unknowns, passed, number, not len(unknowns))
        moved, damping, gained = accepted_step(filter_, unknowns, noise, passed, damping)
        damping = max(0.1 * damping, LEAST_DAMPING)
        if moved is None:
            return Solution(unknowns, passed, number, True)
        unknowns, passed = moved, filter_.run(moved.values, noise, gate)
        if gained < CONVERGED:
            return Solution(unknowns, passed, number + 1, True)
    return Solution(unknowns, passed, steps, False)


def accepted_step(
    filter_: Filter, unknowns: Unknowns, noise: Noise, passed: Passed, damping: float = FIRST_DAMPING,
    stretches: slice | Array = EVERY,
) -> tuple[Unknowns | None, float, float]:  # fmt: skip
    """The first damping whose step lowers the cost: the unknowns there, the damping, the gain.

    If none does: None, the last damping, and the gain that the sums promised, at most CONVERGED at a minimum.
    passed: the pass at the given values. stretches: those whose sums and cost count.
    """
    matrix, gradient = system_of(unknowns, passed, stretches)
    cost = float(passed.squares[stretches].sum()) + unknowns.prior_cost
    promised = 0.0
    for _ in range(TRIALS):
        step = step_within(unknowns, matrix, gradient, damping)
        promised = float(gradient @ step)
        if promised < CONVERGED:  # it would gain about half of this
            break
        trial = unknowns.moved(step)
        new = float(filter_.run(trial.values, noise, frozen=passed).squares[stretches].sum()) + trial.prior_cost
        if new <= cost:
            return trial, damping, max(cost - new, promised * damping)
        damping = max(10.0 * damping, 1e-4)
    return None, damping, promised


def system_of(unknowns: Unknowns, passed: Passed, stretches: slice | Array = EVERY) -> tuple[Array, Array]:
    """Matrix and gradient over some stretches of a pass, in the coordinates of the unknowns."""
    return unknowns.system(passed.information[stretches].sum(axis=0), passed.gradient[stretches].sum(axis=0))


def step_within(unknowns: Unknowns, matrix: Array, gradient: Array, damping: float) -> Array:
    """The damped step within the bounds: unknowns that would leave stop there, and the others are solved again.

    If the step were clipped afterwards, the others would compensate for a change that did not happen.
    """
    step = np.zeros(len(unknowns))
    free = np.ones(len(unknowns), dtype=bool)
    while free.any():
        rest = gradient[free] - matrix[np.ix_(free, ~free)] @ step[~free]
        step[free] = damped_solve(matrix[np.ix_(free, free)], rest, damping)
        within = unknowns.within(step)
        stopped = free & (within != step)
        if not stopped.any():
            break
        step, free = np.where(free & ~stopped, step, within), free & ~stopped
    return step


def damped_solve(matrix: Array, gradient: Array, damping: float) -> Array:
    """(matrix + damping x its diagonal) step = gradient; unknowns without information do not move."""
    size = np.sqrt(np.maximum(np.diag(matrix), 0.0))
    known = size > 0.0
    size = np.where(known, size, 1.0)
    scaled = matrix / np.outer(size, size)
    np.fill_diagonal(scaled, 1.0 + damping + 1e-12)
    step = np.linalg.lstsq(scaled, np.where(known, gradient / size, 0.0), rcond=1e-13)[0] / size
    return np.asarray(np.where(known, step, 0.0))
