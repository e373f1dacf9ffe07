"""Programs as arrays of numbers, which the compiled core interprets (tape.c)."""

from __future__ import annotations

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
    code = np.array([(_CODE[op], a, b) for op, a, b in program.code], np.int32).reshape(-1, 3)
    return code, rounded(program.constants, dtype), np.array(program.outputs, np.int32)


def rounded(constants: tuple[float, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Constants as the chip will hold them."""
    with np.errstate(over="ignore"):
        values = np.array(constants, np.float64).astype(dtype)
    for constant, value in zip(constants, values, strict=True):
        if not np.isfinite(value):
            raise TinyUDEError(
                f"The constant {constant:g} is beyond the largest {np.dtype(dtype)}, {np.finfo(values.dtype).max:g}; "
                "rescale the physics to other units."
            )
    return values
