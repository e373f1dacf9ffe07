"""Compiled free runs (native/simulate.c) over a field given as a program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.native.buffers import Buffers
from tinyude.native.core import loaded
from tinyude.physics.programs import Program

Array = NDArray[Any]
STEPS_A_CALL = 20_000  # some tens of milliseconds: how long an interrupt waits
CALLS_A_CHECK = 10  # after which the pace of a run is checked


@dataclass(frozen=True)
class Steps:
    """Control of the step width.

    Attributes
    ----------
    relative, absolute : float
        Tolerances of a step; the absolute one times the scale of the state.
    shortest : float
        Seconds: least step, where the field switches.
    most : int
        Steps of one run, after which it counts as diverged.
    """

    relative: float
    absolute: float
    shortest: float
    most: int


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
        self._buffers = Buffers(core.ffi)
        self.states, self.inputs = states, inputs
        simulation = self._simulation = core.ffi.new("tu_simulation *")
        simulation.field = self._buffers.tape(program, states)
        simulation.states, simulation.inputs = states, inputs
        simulation.angles_count, simulation.angles = len(angles), self._buffers.integers(angles)

    def run(
        self, starts: Array, times: Array, polynomials: Array | None, limits: Array, scale: Array, steps: Steps
    ) -> tuple[Array, Array]:
        """States (runs, rows, states), NaN after a run diverged, and the time when it did (runs,), NaN if it did not.

        Between two calls of at most `STEPS_A_CALL` steps Python checks for interrupts. A run that needs more than
        `steps.most` steps counts as diverged. So does a run that would need more to reach its end at the pace of the
        last `CALLS_A_CHECK` calls.

        Parameters
        ----------
        starts : array (runs, states)
        times : array (rows,)
        polynomials : array (rows, inputs, 4) or (runs, rows, inputs, 4), optional
            Inputs from each time to the next; shared by all runs, or of each.
        limits : array (runs, states)
            Size of a state beyond which a run has diverged.
        scale : array (states,)
            Typical size of each state.
        steps : Steps
        """
        buffers = Buffers(self._ffi)
        simulation = self._ffi.new("tu_simulation *", self._simulation[0])  # one per call: threads share the field
        runs, rows = len(starts), len(times)
        states, out = np.array(starts, np.float64), np.full((runs, rows, self.states), np.nan)
        out[:, 0] = states
        simulation.rows, simulation.times, simulation.scale = rows, buffers.reals(times), buffers.reals(scale)
        simulation.relative, simulation.absolute = steps.relative, steps.absolute
        simulation.shortest, simulation.inputs_stride = steps.shortest, 0
        if self.inputs and polynomials is not None:
            simulation.inputs_at = buffers.reals(polynomials)
            simulation.inputs_stride = 4 * self.inputs * rows if polynomials.ndim == 4 else 0
        workspace = buffers.reals(np.zeros(self._lib.tu_simulate_workspace(simulation)))
        ends = np.full(runs, np.nan)
        for index, (limit, state, found) in enumerate(zip(limits, states, out, strict=True)):
            pointers = [workspace, *map(buffers.reals, (limit, state, found))]
            ends[index] = self._one(simulation, index, pointers, (times[0], times[-1]), steps.most)
        return out, ends

    def _one(self, simulation: Any, index: int, pointers: Sequence[Any], span: tuple[float, float], most: int) -> float:
        """Continue one run to its end: the time of its divergence, or NaN."""
        lib, (workspace, limit, state, out) = self._lib, pointers
        run = self._ffi.new("tu_run *", {"time": float(span[0])})
        taken, look, before = 0, CALLS_A_CHECK * STEPS_A_CALL, float(run.time)
        while run.status == lib.TU_RUN_CONTINUES and taken < most:
            taken += lib.tu_simulate(simulation, index, run, limit, STEPS_A_CALL, workspace, state, out)
            if taken % look == 0:
                if (run.time - before) * most < (span[1] - run.time) * look:
                    break
                before = float(run.time)
        return float("nan") if run.status == lib.TU_RUN_DONE else float(run.time)
