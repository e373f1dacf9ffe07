"""Filter passes: by the compiled core if there is one, otherwise in NumPy."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from tinyude import native
from tinyude.refinement.field import Field
from tinyude.refinement.filter import Noise, Passed, Plan, filter_pass_numpy
from tinyude.refinement.gauss_newton import Filter, Pass
from tinyude.refinement.smoother import STEP, smooth_numpy
from tinyude.refinement.stretches import Batch

Array = NDArray[Any]


def make_filter(field: Field, batch: Batch, plan: Plan) -> Filter:
    """A field and a batch, ready for passes."""
    return CompiledFilter(field, batch, plan) if native.available() else NumpyFilter(field, batch, plan)


class CompiledFilter(Filter):
    """Passes by native/filter.c."""

    def __init__(self, field: Field, batch: Batch, plan: Plan) -> None:
        self._native = native.NativeFilter(field, batch, plan)

    def run_pass(self, unknowns: Array, noise: Noise, asked: Pass) -> Passed:
        frozen = asked.frozen
        kept = None if frozen is None else {"variances": frozen.variances, "gains": frozen.gains}
        return Passed(**self._native.run(unknowns, noise, asked.gate, asked.sensitivities, kept))

    def smooth(self, unknowns: Array, noise: Noise, gate: float, directions: Array) -> tuple[Array, Array]:
        return self._native.smooth(unknowns, noise, gate, directions, STEP)


class NumpyFilter(Filter):
    """The same passes by the reference."""

    def __init__(self, field: Field, batch: Batch, plan: Plan) -> None:
        self.field, self.batch, self.plan = field, batch, plan

    def run_pass(self, unknowns: Array, noise: Noise, asked: Pass) -> Passed:
        return filter_pass_numpy(self.field, unknowns, self.batch, noise, self.plan, *asked)

    def smooth(self, unknowns: Array, noise: Noise, gate: float, directions: Array) -> tuple[Array, Array]:
        return smooth_numpy(self.field, unknowns, self.batch, noise, self.plan, gate, directions)
