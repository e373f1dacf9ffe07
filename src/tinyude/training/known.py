"""The known part as an engine takes it: NumPy functions for the reference, straight-line programs for the core."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import sympy as sp

from tinyude.model.kernel import KernelNetwork
from tinyude.model.kernel_parts import kernel_parts
from tinyude.physics import Physics
from tinyude.physics.budget import with_time_limit
from tinyude.physics.derivatives import bound, program_derivative
from tinyude.physics.expressions import derivative, numpy_function
from tinyude.physics.programs import Emitter, Program, program, program_numpy
from tinyude.reference.state import Array, Known

MAX_SECONDS = 120.0  # of CPU time
REACH = 0.2  # length scales of a kernel network by which it may be extrapolated
Ranges = Mapping[str, Sequence[float]]  # lowest and highest value by state and input


@dataclass(frozen=True)
class KnownPrograms:
    """Inputs of every program: states, then inputs; parameters are constants at their current value."""

    field: Program
    jacobian: Program
    terms: Program
    sensitivity: Program
    outside: Program  # one output, above 0 outside the range of a frozen part; none without such a part


def known_functions(
    physics: Physics,
    terms: Sequence[sp.Expr],
    on: Sequence[int],
    frozen: Sequence[KernelNetwork] = (),
    visited: Ranges | None = None,
) -> Known:
    """The functions of a physics and a library; `frozen` and `visited` as in known_programs."""
    if frozen:
        return _followed(known_programs(physics, terms, on, frozen, visited), physics.n_states, len(on))
    variables = [sp.Symbol(name, real=True) for name in (*physics.states, *physics.inputs)]
    library = numpy_function(list(terms), variables)
    residual = list(on)

    def held(u: Array) -> Array | None:
        return u if physics.n_inputs else None

    return Known(
        lambda x, u: np.asarray(physics.field(x, held(u)), dtype=np.float64),
        lambda x, u: np.asarray(physics.jacobian(x, held(u)), dtype=np.float64),
        lambda x, u: library(np.hstack([x, u])),
        lambda x, u: np.asarray(physics.parameter_jacobian(x, held(u)), dtype=np.float64)[:, residual],
    )


def _followed(programs: KnownPrograms, states: int, on: int) -> Known:
    """The programs as NumPy functions."""

    def rows(program: Program, x: Array, u: Array) -> Array:
        return np.asarray(program_numpy(program, np.hstack([x, u])), dtype=np.float64)

    return Known(
        lambda x, u: rows(programs.field, x, u),
        lambda x, u: rows(programs.jacobian, x, u).reshape(len(x), states, states),
        lambda x, u: rows(programs.terms, x, u),
        lambda x, u: rows(programs.sensitivity, x, u).reshape(len(x), on, -1),
        (lambda x, u: rows(programs.outside, x, u)) if programs.outside.outputs else None,
    )


def known_programs(
    physics: Physics,
    terms: Sequence[sp.Expr],
    on: Sequence[int],
    frozen: Sequence[KernelNetwork] = (),
    visited: Ranges | None = None,
) -> KnownPrograms:
    """The programs of a physics and a library; an error if SymPy does not finish in time.

    frozen: parts of a fitted model that are not changed and count as known. visited: the ranges of the record that they
    were fitted to; outside these they are not valid. A factor of each of their curves, 1 as fitted, is a further
    parameter, and one of each of a curve's parts.
    """
    made = with_time_limit(
        MAX_SECONDS, "The derivative of this physics", lambda: _known_programs(physics, terms, on, frozen)
    )
    return replace(made, outside=_outside(physics, frozen, visited)) if visited else made


def _known_programs(
    physics: Physics, terms: Sequence[sp.Expr], on: Sequence[int], frozen: Sequence[KernelNetwork]
) -> KnownPrograms:
    plain = [sp.Symbol(name) for name in (*physics.states, *physics.inputs)]
    real = [sp.Symbol(name, real=True) for name in (*physics.states, *physics.inputs)]
    fixed = {sp.Symbol(name): sp.Float(p.value) for name, p in physics.parameters.items() if not p.learn}
    learned = [sp.Symbol(name) for name in physics.learned]
    values = [physics.parameters[name].value for name in physics.learned]
    rhs = [expr.xreplace(fixed) for expr in physics.rhs]

    def written(exprs: Sequence[sp.Expr]) -> Program:
        """SymPy runs once, with the learned parameters as inputs; then their current values are substituted."""
        return bound(program(exprs, [*plain, *learned]), values)

    library, nothing = program(list(terms), real), program([], real)
    slopes = written([derivative(rhs[i], symbol) for i in on for symbol in learned])
    if not frozen:
        jacobian = [derivative(expr, s) for expr in rhs for s in plain[: physics.n_states]]
        return KnownPrograms(written(rhs), written(jacobian), library, slopes, nothing)
    whole = _with_parts(written(rhs), frozen)
    jacobian_program = program_derivative(whole, range(physics.n_states))
    return KnownPrograms(whole, jacobian_program, library, _with_gains(slopes, on, frozen), nothing)


def _outside(physics: Physics, parts: Sequence[KernelNetwork], visited: Ranges) -> Program:
    """Above 0 where a part is extrapolated by more than a fraction of its length scale: there its units say nothing."""
    names = (*physics.states, *physics.inputs)
    emitter, worst = Emitter(len(names)), None
    lengths = [part.lengths() for part in parts]
    for column in sorted({column for found in lengths for column in found}):
        low, high = visited[names[column]]
        apart = emitter.write("sub", column, emitter.constant(0.5 * (low + high)))
        half = 0.5 * (high - low) + REACH * min(found[column] for found in lengths if column in found)
        if names[column] in physics.angles:
            distance = emitter.write("neg", emitter.write("cos", apart))
            limit = -float(np.cos(min(half, np.pi)))
        else:
            distance, limit = emitter.write("abs", apart), half
        beyond = emitter.write("sub", distance, emitter.constant(limit))
        worst = beyond if worst is None else _larger(emitter, worst, beyond)
    return emitter.finish([] if worst is None else [worst])


def _larger(emitter: Emitter, a: int, b: int) -> int:
    both = emitter.write("add", emitter.write("add", a, b), emitter.write("abs", emitter.write("sub", a, b)))
    return emitter.write("mul", emitter.constant(0.5), both)


def _with_gains(slopes: Program, on: Sequence[int], parts: Sequence[KernelNetwork]) -> Program:
    """The derivatives by the learned parameters, then by a factor of each curve and of its parts: each is its own."""
    emitter = Emitter(slopes.n_inputs)
    registers = emitter.include(slopes, range(slopes.n_inputs))
    count, zero = len(slopes.outputs) // len(on), emitter.constant(0.0)
    curves = [
        curve
        for part in (*parts, *(own for part in parts for own in kernel_parts(part)))
        for curve in zip(part.on, part.emit(emitter, range(slopes.n_inputs)), strict=True)
    ]
    outputs: list[int] = []
    for i, state in enumerate(on):
        outputs += [registers[k] for k in slopes.outputs[i * count : (i + 1) * count]]
        outputs += [register if state == own else zero for own, register in curves]
    return emitter.finish(outputs)


def _with_parts(known: Program, parts: Sequence[KernelNetwork]) -> Program:
    emitter = Emitter(known.n_inputs)
    registers = emitter.include(known, range(known.n_inputs))
    total = [registers[k] for k in known.outputs]
    for part in parts:
        for state, register in zip(part.on, part.emit(emitter, range(known.n_inputs)), strict=True):
            total[state] = emitter.write("add", total[state], register)
    return emitter.finish(total)
