"""Programs as arrays of numbers for the interpreter of the compiled core (tape.c)."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tinyude.errors import TinyUDEError
from tinyude.physics.programs import BINARY, UNARY, Program

OPERATIONS = (*BINARY, *UNARY)  # in the order of `enum tu_operation`
_CODE = {name: number for number, name in enumerate(OPERATIONS)}


def tape_arrays(
    program: Program, dtype: DTypeLike = np.float64
) -> tuple[NDArray[np.int32], NDArray[Any], NDArray[np.int32]]:
    """Instructions (n, 3) as (operation, a, b), constants in the given precision, and the output registers."""
    code, outputs = _ordered(program)
    return code, rounded(program.constants, dtype), outputs


@lru_cache(maxsize=64)
def _ordered(program: Program) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Instructions and output registers, in runs of one operation."""
    order = in_runs(program)
    place = np.arange(program.n_registers, dtype=np.int32)
    first = len(place) - len(order)
    place[first + np.array(order, np.intp)] = np.arange(first, len(place), dtype=np.int32)
    code = np.array([(_CODE[op], a, b) for op, a, b in (program.code[k] for k in order)], np.int32).reshape(-1, 3)
    code[:, 1:] = place[code[:, 1:]]
    return code, place[list(program.outputs)]


def in_runs(program: Program) -> list[int]:
    """Instructions reordered into long runs of one operation: greedily, the most frequent operation that is ready.

    The interpreter dispatches once per run, not once per instruction; results are bit-identical.
    """
    first = program.n_inputs + len(program.constants)
    users: list[list[int]] = [[] for _ in program.code]
    waits = [0] * len(program.code)  # operands not yet computed
    ready: dict[str, list[int]] = {}
    for number, (op, a, b) in enumerate(program.code):
        for operand in {a, b}:
            if operand >= first:
                users[operand - first].append(number)
                waits[number] += 1
        if not waits[number]:
            ready.setdefault(op, []).append(number)
    order: list[int] = []
    while ready:
        run = ready.pop(max(ready, key=lambda op: len(ready[op])))
        order += run
        for number in run:
            for user in users[number]:
                waits[user] -= 1
                if not waits[user]:
                    ready.setdefault(program.code[user][0], []).append(user)
    return order


def rounded(constants: tuple[float, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Constants in the chip's precision."""
    with np.errstate(over="ignore"):
        values = np.array(constants, np.float64).astype(dtype)
    for constant, value in zip(constants, values, strict=True):
        if not np.isfinite(value):
            raise TinyUDEError(
                f"The constant {constant:g} is beyond the largest {np.dtype(dtype)}, {np.finfo(values.dtype).max:g}; "
                "rescale the physics to other units."
            )
    return values
