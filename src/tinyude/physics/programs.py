"""Straight-line programs: what NumPy, the host's tape and the board's C all follow, operation by operation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from tinyude.errors import TinyUDEError
from tinyude.physics.expressions import (
    NON_SMOOTH_FUNCTIONS,
    SMOOTH_FUNCTIONS,
    complex_safe_abs,
    complex_safe_sign,
    float_or_complex,
    in_basic_functions,
    is_finite_real,
)

Array = NDArray[Any]

UNARY: dict[str, Callable[[Array], Array]] = {
    "neg": np.negative, "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos, "tan": np.tan, "exp": np.exp, "log": np.log,
    "tanh": np.tanh, "atan": np.arctan, "asin": np.arcsin, "acos": np.arccos, "sinh": np.sinh, "cosh": np.cosh,
    "abs": complex_safe_abs, "sign": complex_safe_sign,
}  # fmt: skip
BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
}  # fmt: skip

_OPCODE_OF_FUNCTION = {
    f: name for name, f in (SMOOTH_FUNCTIONS | NON_SMOOTH_FUNCTIONS).items() if isinstance(f, sp.FunctionClass)
}


@dataclass(frozen=True)
class Program:
    """Straight-line code. Registers: the inputs, then the constants, then the result of each instruction in turn."""

    n_inputs: int
    constants: tuple[float, ...]
    code: tuple[tuple[str, int, int], ...]  # (operation, a, b); unary operations have b = a
    outputs: tuple[int, ...]

    @property
    def n_registers(self) -> int:
        return self.n_inputs + len(self.constants) + len(self.code)


def program(
    exprs: Sequence[sp.Expr],
    symbols: Sequence[sp.Symbol],
    more: Callable[[Emitter, list[int]], list[int]] | None = None,
) -> Program:
    """The expressions as one program: common subexpressions once, integer powers by square and multiply.

    more: takes the emitter and the expressions' registers, writes further instructions, gives the outputs' registers.
    """
    written = _written(tuple(exprs), tuple(symbols))
    if more is None:
        return written
    emitter = Emitter(len(symbols))
    registers = emitter.include(written, range(len(symbols)))
    return emitter.finish(more(emitter, [registers[k] for k in written.outputs]))


@lru_cache(maxsize=256)
def _written(exprs: tuple[sp.Expr, ...], symbols: tuple[sp.Symbol, ...]) -> Program:
    """Written once: a fit moves learned parameters, which are inputs, through many copies of one physics."""
    basic = [in_basic_functions(sp.sympify(e)) for e in exprs]
    shared, reduced = sp.cse(basic, symbols=sp.numbered_symbols(cls=sp.Dummy))
    emitter = Emitter(len(symbols))
    known = {symbol: register for register, symbol in enumerate(symbols)}
    for name, expr in shared:
        known[name] = emitter.expression(expr, known)
    return emitter.finish([emitter.expression(e, known) for e in reduced])


def program_walk(
    program: Program,
    inputs: Sequence[Any],
    operations: Mapping[str, Callable[..., Any]],
    constant: Callable[[float], Any] = float,
) -> list[Any]:
    """Follow a program over any kind of number: arrays, symbols, registers of another program.

    Parameters
    ----------
    program : Program
        What to follow.
    inputs : sequence
        One value for each input of the program.
    operations : mapping of str to callable
        What each operation of `UNARY` and `BINARY` means for these values.
    constant : callable, optional
        Makes a value of a number; by default a float.

    Returns
    -------
    list
        The program's outputs.
    """
    registers = [*inputs, *map(constant, program.constants)]
    for op, a, b in program.code:
        operation = operations[op]
        registers.append(operation(registers[a], registers[b]) if op in BINARY else operation(registers[a]))
    return [registers[k] for k in program.outputs]


def program_numpy(program: Program, x: Array) -> Array:
    """Evaluate a program on an array (..., n_inputs): what the generated C computes, as (..., n_outputs)."""
    x = float_or_complex(x)
    out = np.empty((*x.shape[:-1], len(program.outputs)), x.dtype)
    for k, value in enumerate(program_walk(program, [x[..., i] for i in range(program.n_inputs)], UNARY | BINARY)):
        out[..., k] = value
    return out


def read_inputs(program: Program) -> list[frozenset[int]]:
    """For each output the inputs that its value is computed from."""
    read = [frozenset((k,)) for k in range(program.n_inputs)] + [frozenset[int]()] * len(program.constants)
    for op, a, b in program.code:
        read.append(read[a] | read[b] if op in BINARY else read[a])
    return [read[k] for k in program.outputs]


class Emitter:
    """Writes a program, reusing any instruction already written; constants have negative numbers until `finish`."""

    def __init__(self, n_inputs: int) -> None:
        self.n_inputs = n_inputs
        self.constants: dict[float, int] = {}
        self.code: dict[tuple[str, int, int], int] = {}

    def finish(self, outputs: Sequence[int]) -> Program:
        """What was written, as a program with these registers for outputs."""
        n_in, n_const = self.n_inputs, len(self.constants)

        def final(register: int) -> int:
            if register < 0:
                return n_in + ~register
            return register if register < n_in else register + n_const

        code = tuple((op, final(a), final(b)) for op, a, b in self.code)
        return Program(n_in, tuple(self.constants), code, tuple(map(final, outputs)))

    def constant(self, value: float) -> int:
        return ~self.constants.setdefault(value, len(self.constants))

    def write(self, op: str, a: int, b: int | None = None) -> int:
        return self.code.setdefault((op, a, a if b is None else b), self.n_inputs + len(self.code))

    def include(self, program: Program, inputs: Sequence[int]) -> list[int]:
        """Write another program on these registers as its inputs; every register of it, as it is called here."""
        registers = [*inputs, *map(self.constant, program.constants)]
        for op, a, b in program.code:
            registers.append(self.write(op, registers[a], registers[b]))
        return registers

    def expression(self, expr: sp.Expr, known: Mapping[sp.Symbol, int]) -> int:
        """Write an expression of symbols whose registers are `known`; the register that holds it."""
        return _Expressions(self, known).emit(in_basic_functions(sp.sympify(expr)))


class _Expressions:
    """Writes SymPy expressions; `known` are the registers of their symbols."""

    def __init__(self, emitter: Emitter, known: Mapping[sp.Symbol, int]) -> None:
        self.known = known
        self.constant, self.write = emitter.constant, emitter.write

    def emit(self, expr: sp.Expr) -> int:
        """The register that holds the expression."""
        if expr.is_Symbol:
            if expr not in self.known:
                raise TinyUDEError(f"The expression uses {expr}, which is not among its inputs; add it to the symbols.")
            return self.known[expr]
        if expr.is_number:
            return self.constant(_real_number(expr))
        if expr.is_Add:
            return self._sum(expr)
        if expr.is_Mul:
            return self._product(expr)
        if expr.is_Pow:
            return self._power(expr.base, expr.exp)
        if expr.func in _OPCODE_OF_FUNCTION:
            return self.write(_OPCODE_OF_FUNCTION[expr.func], self.emit(expr.args[0]))
        raise TinyUDEError(
            f"{expr.func} has no counterpart in generated code; use arithmetic and {', '.join(SMOOTH_FUNCTIONS)}."
        )

    def _sum(self, expr: sp.Expr) -> int:
        minus = [t for t in expr.args if t.could_extract_minus_sign()]
        plus = [t for t in expr.args if t not in minus]
        total = self.emit(plus[0]) if plus else self.write("neg", self.emit(-minus.pop(0)))
        for term in plus[1:]:
            total = self.write("add", total, self.emit(term))
        for term in minus:
            total = self.write("sub", total, self.emit(-term))
        return total

    def _product(self, expr: sp.Expr) -> int:
        value = _real_number(sp.Mul(*(f for f in expr.args if f.is_number)))
        factors = [f for f in expr.args if not f.is_number]
        above = [f for f in factors if not _is_divisor(f)]
        below = [1 / f for f in factors if _is_divisor(f)]
        registers = [self.emit(f) for f in above]
        if abs(value) != 1.0 or not registers:
            registers.insert(0, self.constant(value))
        result = self._multiply(registers)
        if below:
            result = self.write("div", result, self._multiply([self.emit(f) for f in below]))
        return self.write("neg", result) if value == -1.0 and above else result

    def _multiply(self, registers: Sequence[int]) -> int:
        result = registers[0]
        for register in registers[1:]:
            result = self.write("mul", result, register)
        return result

    def _power(self, base: sp.Expr, exponent: sp.Expr) -> int:
        doubled = 2 * exponent
        if not (exponent.is_number and float(doubled).is_integer()):
            logarithm = self.write("log", self.emit(base))
            return self.write("exp", self.write("mul", self.emit(exponent), logarithm))
        twice = round(float(doubled))
        register = self.emit(base)
        if twice % 2:
            register, twice = self.write("sqrt", register), 2 * twice
        result = self._integer_power(register, abs(twice) // 2)
        return result if twice > 0 else self.write("div", self.constant(1.0), result)

    def _integer_power(self, square: int, exponent: int) -> int:
        if exponent == 0:
            return self.constant(1.0)
        factors = []
        while True:
            if exponent & 1:
                factors.append(square)
            exponent >>= 1
            if not exponent:
                return self._multiply(factors)
            square = self.write("mul", square, square)


def _is_divisor(factor: sp.Expr) -> bool:
    return bool(factor.is_Pow and factor.exp.is_number and factor.exp.is_negative)


def _real_number(expr: sp.Expr) -> float:
    if not is_finite_real(expr):
        raise TinyUDEError(f"The constant {expr} is not a finite real number; look for log, sqrt or 1/0 of a constant.")
    return float(expr)
