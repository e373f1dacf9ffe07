"""Compiled free runs (native/simulate.c) over a field given as a program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.native.core import loaded
from tinyude.native.tape import tape_arrays
from tinyude.physics.programs import Program

Array = NDArray[Any]
STEPS_A_CALL = 20_000  # some tens of milliseconds: how long an interrupt waits
CALLS_A_CHECK = 10  # after which the pace of a run is checked


class NativeSimulation:
    """A field prepared for runs from many initial states.

    Parameters
    ----------
    program : Program
        dx/dt; its inputs are the states, the inputs u, then the states `angles`, wrapped to half a revolution around 0.
    states, inputs : int
        Number of each.
    angles : sequence of int
        States that the program takes again as wrapped angles.
    """

    def __init__(self, program: Program, states: int, inputs: int, angles: Sequence[int]) -> None:
        core = loaded("float64")
        self._ffi, self._lib = core.ffi, core.lib
        self._alive: list[Any] = []
        self.states, self.inputs = states, inputs
        self._simulation = core.ffi.new("tu_simulation *")
        code, constants, outputs = tape_arrays(program, np.float64)
        tape = core.ffi.new("tu_tape *")
        tape.states, tape.inputs = states, program.n_inputs - states
        tape.code_count, tape.constants_count, tape.outputs_count = len(code), len(constants), len(outputs)
        tape.code, tape.outputs = self._hold("int32_t[]", code), self._hold("int32_t[]", outputs)
        tape.constants = self._hold("tu_real[]", constants)
        self._alive.append(tape)
        self._simulation.field = tape
        self._simulation.states, self._simulation.inputs = states, inputs
        self._simulation.angles_count = len(angles)
        self._simulation.angles = self._hold("int32_t[]", np.array(angles, np.int32))

    def run(
        self,
        starts: Array,
        times: Array,
        polynomials: Array | None,
        limits: Array,
        *,
        relative: float,
        absolute: float,
        scale: Array,
        shortest: float,
        most_steps: int,
    ) -> tuple[Array, Array]:
        """States (runs, rows, states), NaN after a run diverged, and the time when it did (runs,), NaN if it did not.

        Between two calls of at most `STEPS_A_CALL` steps Python checks for interrupts. A run that needs more than
        `most_steps` steps counts as diverged. So does a run that would need more to reach its end at the pace of the
        last `CALLS_A_CHECK` calls.
        """
        simulation = self._ffi.new("tu_simulation *", self._simulation[0])  # one per call: threads share the field
        runs, rows = len(starts), len(times)
        out = np.full((runs, rows, self.states), np.nan)
        out[:, 0] = starts
        times, limits, scale = (np.ascontiguousarray(a, np.float64) for a in (times, limits, scale))
        kept = [self._ffi.from_buffer("tu_real[]", array) for array in (times, scale)]
        simulation.rows, simulation.times, simulation.scale = rows, kept[0], kept[1]
        simulation.relative, simulation.absolute, simulation.shortest = relative, absolute, shortest
        simulation.inputs_stride = 0
        if self.inputs and polynomials is not None:
            polynomials = np.ascontiguousarray(polynomials, np.float64)
            kept.append(self._ffi.from_buffer("tu_real[]", polynomials))
            simulation.inputs_at = kept[-1]
            simulation.inputs_stride = 4 * self.inputs * rows if polynomials.ndim == 4 else 0
        workspace = self._ffi.from_buffer("tu_real[]", np.zeros(self._lib.tu_simulate_workspace(simulation)))
        ends = np.full(runs, np.nan)
        for index in range(runs):
            ends[index] = self._one(
                simulation, index, starts[index], limits[index], out[index], workspace, times, most_steps
            )
        return out, ends

    def _one(
        self,
        simulation: Any,
        index: int,
        start: Array,
        limit: Array,
        out: Array,
        workspace: Any,
        times: Array,
        most_steps: int,
    ) -> float:
        ffi, lib = self._ffi, self._lib
        state = np.array(start, np.float64)
        run = ffi.new("tu_run *", {"time": float(times[0])})
        pointers = [ffi.from_buffer("tu_real[]", array) for array in (limit, state, out)]
        taken, look, before = 0, CALLS_A_CHECK * STEPS_A_CALL, float(run.time)
        while run.status == lib.TU_RUN_CONTINUES and taken < most_steps:
            taken += lib.tu_simulate(
                simulation, index, run, pointers[0], STEPS_A_CALL, workspace, pointers[1], pointers[2]
            )
            if taken % look == 0:
                if (run.time - before) * most_steps < (times[-1] - run.time) * look:
                    break
                before = float(run.time)
        return float("nan") if run.status == lib.TU_RUN_DONE else float(run.time)

    def _hold(self, ctype: str, array: Array) -> Any:
        pointer = self._ffi.from_buffer(ctype, np.ascontiguousarray(array))
        self._alive.append(pointer)
        return pointer
