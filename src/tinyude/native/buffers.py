"""What C points to: arrays and tapes, kept alive as long as their owner."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from tinyude.native.tape import tape_arrays
from tinyude.physics.programs import Program


class Buffers:
    """Memory that C reads and writes: a pointer alone would not keep an array alive."""

    def __init__(self, ffi: Any) -> None:
        self._ffi = ffi
        self._alive: list[Any] = []

    def reals(self, values: ArrayLike, dtype: DTypeLike = np.float64) -> Any:
        """Pointer to an array of tu_real: to the array itself if it is contiguous and of this type."""
        return self._kept("tu_real[]", np.asarray(values, dtype))

    def integers(self, values: ArrayLike, bits: int = 32) -> Any:
        """Pointer to an array of int32_t or int64_t."""
        return self._kept(f"int{bits}_t[]", np.asarray(values, f"int{bits}"))

    def tape(self, program: Program, states: int) -> Any:
        """A new tape of this program, in double precision."""
        tape = self._ffi.new("tu_tape *")
        self._alive.append(tape)
        self.fill_tape(tape, program, states, np.float64)
        return tape

    def fill_tape(self, tape: Any, program: Program, states: int, dtype: DTypeLike) -> None:
        """Write a program of the states and further inputs into a tape of this precision."""
        code, constants, outputs = tape_arrays(program, dtype)
        tape.states, tape.inputs = states, program.n_inputs - states
        tape.code_count, tape.constants_count, tape.outputs_count = len(code), len(constants), len(outputs)
        tape.code, tape.outputs = self.integers(code), self.integers(outputs)
        tape.constants = self.reals(constants, dtype)

    def _kept(self, ctype: str, values: NDArray[Any]) -> Any:
        pointer = self._ffi.from_buffer(ctype, np.ascontiguousarray(values))
        self._alive.append(pointer)
        return pointer
