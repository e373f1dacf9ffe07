"""Programs differentiated forward: the derivative of straight-line code is straight-line code.

Every register carries its derivatives by the inputs asked for, as registers of the same program; those that are 0 do
not exist. Instructions are shared (sin and cos of one angle, the square of a quotient), so the derivatives cost
little more than the function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from tinyude.errors import TinyUDEError
from tinyude.physics.programs import BINARY, UNARY, Emitter, Program

Entries = tuple[tuple[int, int], ...]


def program_derivative(program: Program, wrt: Sequence[int]) -> Program:
    """The derivatives of a program's outputs by some of its inputs.

    Parameters
    ----------
    program : Program
        What is differentiated.
    wrt : sequence of int
        Input registers by which to differentiate.

    Returns
    -------
    Program
        With the same inputs; its outputs are d output_i / d input_j, row by row: i outer, j inner.
    """
    emitter, outputs, slopes = _differentiated(program, wrt)
    zero = emitter.constant(0.0)
    return pruned(emitter.finish([slopes[i].get(j, zero) for i in range(len(outputs)) for j in wrt]))


def program_with_slopes(program: Program, wrt: Sequence[int]) -> tuple[Program, Entries]:
    """The outputs and those of their derivatives that are not 0, in one program.

    Returns
    -------
    program : Program
        Outputs: those of the given program, then the derivatives.
    entries : tuple of (int, int)
        For each derivative its output i and its place in `wrt`.
    """
    return _with_slopes(program, tuple(wrt))


@lru_cache(maxsize=64)
def _with_slopes(program: Program, wrt: tuple[int, ...]) -> tuple[Program, Entries]:
    emitter, outputs, slopes = _differentiated(program, wrt)
    entries = tuple((i, k) for i in range(len(outputs)) for k, j in enumerate(wrt) if j in slopes[i])
    return pruned(emitter.finish([*outputs, *(slopes[i][wrt[k]] for i, k in entries)])), entries


def pruned(program: Program) -> Program:
    """The same program without instructions and constants that no output needs."""
    first = program.n_inputs + len(program.constants)
    needed = set(program.outputs)
    for number in range(len(program.code) - 1, -1, -1):
        if first + number in needed:
            needed.update(program.code[number][1:])
    emitter = Emitter(program.n_inputs)
    place = {k: k for k in range(program.n_inputs)}
    for number, value in enumerate(program.constants):
        if program.n_inputs + number in needed:
            place[program.n_inputs + number] = emitter.constant(value)
    for number, (op, a, b) in enumerate(program.code):
        if first + number in needed:
            place[first + number] = emitter.write(op, place[a], place[b])
    return emitter.finish([place[k] for k in program.outputs])


def bound(program: Program, values: Sequence[float]) -> Program:
    """The program with these values for its last inputs; what depends on numbers alone is worked out."""
    emitter = Emitter(program.n_inputs - len(values))
    numbers = {emitter.constant(value): value for value in (*values, *program.constants)}
    registers = [*range(emitter.n_inputs), *(emitter.constant(v) for v in (*values, *program.constants))]
    for op, a, b in program.code:
        operands = [registers[k] for k in ((a, b) if op in BINARY else (a,))]
        if all(k in numbers for k in operands):
            value = _folded_constants(op, [numbers[k] for k in operands])
            if np.isfinite(value):
                registers.append(emitter.constant(value))
                numbers[registers[-1]] = value
                continue
        registers.append(emitter.write(op, *operands))
    return pruned(emitter.finish([registers[k] for k in program.outputs]))


def _folded_constants(op: str, numbers: Sequence[float]) -> float:
    with np.errstate(all="ignore"):
        return float((UNARY | BINARY)[op](*map(np.asarray, numbers)))


def _differentiated(program: Program, wrt: Sequence[int]) -> tuple[_Slopes, list[int], list[dict[int, int]]]:
    """An emitter that holds the program and its derivatives, and the registers of both."""
    emitter = _Slopes(program.n_inputs)
    registers = emitter.include(program, range(program.n_inputs))
    slopes: list[dict[int, int]] = [{} for _ in range(program.n_inputs + len(program.constants))]
    for j in wrt:
        slopes[j] = {j: emitter.constant(1.0)}
    first = len(slopes)
    for number, (op, a, b) in enumerate(program.code):
        own, left, right = registers[first + number], registers[a], registers[b]
        slopes.append(emitter.slope(op, own, left, right, slopes[a], slopes[b]))
    return emitter, [registers[k] for k in program.outputs], [slopes[k] for k in program.outputs]


class _Slopes(Emitter):
    """Writes derivatives without the factors 1 and terms 0 that the rules bring."""

    def slope(self, op: str, own: int, a: int, b: int, da: dict[int, int], db: dict[int, int]) -> dict[int, int]:
        """Derivatives of one instruction, from those of its operands."""
        if op in ("add", "sub"):
            return {j: self._sum(op, da.get(j), db.get(j)) for j in sorted(da.keys() | db.keys())}
        if op == "mul":
            return self._weighted((b, da), (a, db))
        if op == "div":
            reciprocal = self.write("div", self.constant(1.0), b) if da or db else 0
            weight = self.write("neg", self.write("mul", own, reciprocal)) if db else 0
            return self._weighted((reciprocal, da), (weight, db))
        if not da or op == "sign":
            return {}
        if op == "neg":
            return {j: self.write("neg", d) for j, d in da.items()}
        return self._weighted((self._rule(op, own, a), da))

    def _rule(self, op: str, own: int, a: int) -> int:
        """The derivative of a function at `a`, where its value is `own`."""
        one = self.constant(1.0)

        def square(register: int) -> int:
            return self.write("mul", register, register)

        rules: dict[str, Callable[[], int]] = {
            "sqrt": lambda: self.write("div", self.constant(0.5), own),
            "sin": lambda: self.write("cos", a),
            "cos": lambda: self.write("neg", self.write("sin", a)),
            "tan": lambda: self.write("add", one, square(own)),
            "exp": lambda: own,
            "log": lambda: self.write("div", one, a),
            "tanh": lambda: self.write("sub", one, square(own)),
            "atan": lambda: self.write("div", one, self.write("add", one, square(a))),
            "asin": lambda: self.write("div", one, self.write("sqrt", self.write("sub", one, square(a)))),
            "acos": lambda: self.write("neg", self._rule("asin", own, a)),
            "sinh": lambda: self.write("cosh", a),
            "cosh": lambda: self.write("sinh", a),
            "abs": lambda: self.write("sign", a),
        }
        if op not in rules:
            raise TinyUDEError(f"The operation {op} has no derivative here; differentiate {', '.join(rules)}.")
        return rules[op]()

    def _weighted(self, *parts: tuple[int, dict[int, int]]) -> dict[int, int]:
        """Sums of weight times derivative."""
        total: dict[int, int] = {}
        for weight, slopes in parts:
            for j, slope in slopes.items():
                product = self._product(weight, slope)
                total[j] = product if j not in total else self.write("add", total[j], product)
        return total

    def _product(self, a: int, b: int) -> int:
        one = self.constant(1.0)
        return b if a == one else a if b == one else self.write("mul", a, b)

    def _sum(self, op: str, a: int | None, b: int | None) -> int:
        if b is None:
            assert a is not None
            return a
        if a is None:
            return b if op == "add" else self.write("neg", b)
        return self.write(op, a, b)
