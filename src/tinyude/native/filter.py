"""The compiled filter pass (native/filter.c), with stretches distributed over threads."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tinyude.errors import TinyUDEError
from tinyude.native.buffers import Buffers
from tinyude.native.core import loaded
from tinyude.physics.programs import Program

if TYPE_CHECKING:
    from tinyude.refinement.field import Field
    from tinyude.refinement.filter import Noise, Plan
    from tinyude.refinement.stretches import Batch

Array = NDArray[Any]
THREADS = max(1, min(8, os.cpu_count() or 1))
ROWS_A_THREAD = 10_000  # with fewer rows a thread costs more than it saves


class NativeFilter:
    """A field and a batch, ready for many passes."""

    def __init__(self, field: Field, batch: Batch, plan: Plan) -> None:
        core = loaded("float64")
        self._ffi, self._lib = core.ffi, core.lib
        self.field, self.batch, self.plan = field, batch, plan
        limits = (core.lib.TU_FILTER_STATES, core.lib.TU_FILTER_UNKNOWNS)
        if field.states > limits[0] or field.unknowns > limits[1]:
            raise TinyUDEError(
                f"{field.states} states and {field.unknowns} unknowns; refinement takes at most {limits[0]} and "
                f"{limits[1]}: learn fewer parameters, or fit with refine=False."
            )
        kept = self._buffers = Buffers(core.ffi)
        self._value = kept.tape(field.value, field.states)
        self._slopes = {True: self._with_entries(field.slopes, field.entries)}  # by whether sensitivities are computed
        self._slopes[False] = self._with_entries(*field.state_slopes)
        self._measured = kept.integers(plan.measured)
        self._data = core.ffi.new("tu_filter_data *")
        self._data.offsets = kept.integers(batch.offsets, 64)
        for name in ("times", "samples", "inputs", "starts", "start_variances"):
            setattr(self._data, name, kept.reals(getattr(batch, name)))

    def run(
        self,
        unknowns: Array,
        noise: Noise,
        gate: float = 0.0,
        sensitivities: bool = True,
        frozen: Mapping[str, Array] | None = None,
    ) -> dict[str, Array]:
        """One pass over all stretches: the arrays of tu_filter_result. frozen: variances and gains to keep."""
        sensitivities = sensitivities and frozen is None
        arrays = self._empty(sensitivities, frozen)
        buffers = Buffers(self._ffi)
        filter_ = self._filter(buffers, unknowns, noise, gate, sensitivities)
        filter_.frozen = frozen is not None
        result = self._result(buffers, arrays)
        size = self._lib.tu_filter_workspace(filter_)

        def over(span: tuple[int, int]) -> None:
            workspace = self._ffi.from_buffer("tu_real[]", np.zeros(size))
            self._lib.tu_filter_pass(filter_, self._data, span[0], span[1], workspace, result)

        self._threads(over)
        return arrays

    def smooth(self, unknowns: Array, noise: Noise, gate: float, directions: Array, step: float) -> tuple[Array, Array]:
        """States given all rows of their stretch, (rows, states), and their variances (refinement/smoother.py).

        step: of the difference along a direction.
        """
        arrays = self._empty(False, None)
        rows, n = self.batch.rows, self.field.states
        kept = {"covariances": np.zeros((rows, n, n)), "transitions": np.zeros((rows, n, n))}
        states, variances = np.zeros((rows, n)), np.zeros((rows, n))
        self._smooth(unknowns, noise, gate, arrays | kept, states, variances)
        frozen = {name: arrays[name] for name in ("variances", "gains")}
        for direction in directions:
            moved = self.run(unknowns + step * direction, noise, gate, frozen=frozen)
            beside = np.zeros((rows, n))
            self._smooth(unknowns, noise, gate, moved | kept, beside, None)
            variances += ((beside - states) / step) ** 2
        return states, variances

    def _smooth(
        self, unknowns: Array, noise: Noise, gate: float, arrays: Mapping[str, Array], states: Array,
        variances: Array | None,
    ) -> None:  # fmt: skip
        """Smoothed states of a pass; with variances the pass is made first."""
        buffers = Buffers(self._ffi)
        filter_ = self._filter(buffers, unknowns, noise, gate, False)
        result, out = self._result(buffers, arrays), buffers.reals(states)
        spread = self._ffi.NULL if variances is None else buffers.reals(variances)
        size = self._lib.tu_filter_workspace(filter_)

        def over(span: tuple[int, int]) -> None:
            workspace = self._ffi.from_buffer("tu_real[]", np.zeros(size))
            if variances is not None:
                self._lib.tu_filter_pass(filter_, self._data, span[0], span[1], workspace, result)
            self._lib.tu_filter_smooth(filter_, self._data, result, span[0], span[1], workspace, out, spread)

        self._threads(over)

    def _filter(self, buffers: Buffers, unknowns: Array, noise: Noise, gate: float, sensitivities: bool) -> Any:
        filter_ = self._ffi.new("tu_filter *")
        field = self.field
        filter_.states, filter_.inputs, filter_.unknowns = field.states, field.inputs, field.unknowns
        filter_.channels = len(self.plan.measured)
        filter_.value, (filter_.slopes, filter_.entries) = self._value, self._slopes[sensitivities]
        filter_.measured, filter_.values = self._measured, buffers.reals(unknowns)
        filter_.measurement, filter_.process = buffers.reals(noise.measurement), buffers.reals(noise.process)
        filter_.longest_step, filter_.widen = self.plan.longest_step, buffers.reals(self.plan.widen)
        filter_.gate, filter_.sensitivities = gate, sensitivities
        return filter_

    def _result(self, buffers: Buffers, arrays: Mapping[str, Array]) -> Any:
        result = self._ffi.new("tu_filter_result *")
        for name, array in arrays.items():
            setattr(result, name, buffers.reals(array))
        return result

    def _threads(self, over: Callable[[tuple[int, int]], None]) -> None:
        spans = self._spans()
        if len(spans) == 1:
            over(spans[0])
        else:
            with ThreadPoolExecutor(len(spans)) as pool:
                list(pool.map(over, spans))

    def _spans(self) -> list[tuple[int, int]]:
        """Ranges of stretches with about the same number of rows, one per thread."""
        offsets, count = self.batch.offsets, len(self.batch.stretches)
        wanted = max(1, min(THREADS, count, int(offsets[-1]) // ROWS_A_THREAD))
        goals = offsets[-1] * np.arange(1, wanted) / wanted
        cuts = sorted({0, count, *(int(np.searchsorted(offsets, goal)) for goal in goals)})
        return list(itertools.pairwise(cuts))

    def _empty(self, sensitivities: bool, frozen: Mapping[str, Array] | None) -> dict[str, Array]:
        field, batch = self.field, self.batch
        count, rows, channels = len(batch.stretches), batch.rows, len(self.plan.measured)
        p = field.unknowns if sensitivities else 0
        arrays = {
            "information": np.zeros((count, p, p)),
            "gradient": np.zeros((count, p)),
            **{name: np.zeros((count, channels)) for name in ("squares", "logs", "counts")},
            "innovations": np.full((rows, channels), np.nan),
            "variances": np.full((rows, channels), np.nan),
            "gains": np.zeros((rows, channels, field.states)),
            **{name: np.zeros((rows, field.states)) for name in ("states", "state_variances")},
        }
        return arrays | dict(frozen or {})

    def _with_entries(self, program: Program, entries: Sequence[tuple[int, int]]) -> tuple[Any, Any]:
        places = np.array(entries, np.int32).reshape(-1, 2)
        return self._buffers.tape(program, self.field.states), self._buffers.integers(places)
