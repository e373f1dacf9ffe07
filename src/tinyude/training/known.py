"""The known part as an engine takes it: NumPy functions for the reference, straight-line programs for the core."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import sympy as sp

from tinyude.model.parts import Part
from tinyude.physics import Physics
from tinyude.physics.budget import with_time_limit
from tinyude.physics.derivatives import bound, program_derivative
from tinyude.physics.expressions import derivative, numpy_function
from tinyude.physics.programs import Emitter, Program, program, program_numpy
from tinyude.reference.state import Array, Known

MAX_SECONDS = 120.0  # of CPU time


@dataclass(frozen=True)
class KnownPrograms:
    """Inputs of every program: states, then inputs; parameters are constants at their current value."""

    field: Program
    jacobian: Program
    terms: Program
    sensitivity: Program


def known_functions(
    physics: Physics, terms: Sequence[sp.Expr], on: Sequence[int], frozen: Sequence[Part] = ()
) -> Known:
    """The functions of a physics and a library; `frozen` as in known_programs."""
    if frozen:
        return _followed(known_programs(physics, terms, on, frozen), physics.n_states, len(on))
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
    )


def known_programs(
    physics: Physics, terms: Sequence[sp.Expr], on: Sequence[int], frozen: Sequence[Part] = ()
) -> KnownPrograms:
    """The programs of a physics and a library; an error if SymPy does not finish in time.

    frozen: parts of a fitted model that are not changed and count as known.
    """
    return with_time_limit(
        MAX_SECONDS, "The derivative of this physics", lambda: _known_programs(physics, terms, on, frozen)
    )


def _known_programs(
    physics: Physics, terms: Sequence[sp.Expr], on: Sequence[int], frozen: Sequence[Part]
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

    library = program(list(terms), real)
    slopes = written([derivative(rhs[i], symbol) for i in on for symbol in learned])
    if not frozen:
        jacobian = [derivative(expr, s) for expr in rhs for s in plain[: physics.n_states]]
        return KnownPrograms(written(rhs), written(jacobian), library, slopes)
    whole = _with_parts(written(rhs), frozen)
    return KnownPrograms(whole, program_derivative(whole, range(physics.n_states)), library, slopes)


def _with_parts(known: Program, parts: Sequence[Part]) -> Program:
    emitter = Emitter(known.n_inputs)
    registers = emitter.include(known, range(known.n_inputs))
    total = [registers[k] for k in known.outputs]
    for part in parts:
        for state, register in zip(part.on, part.emit(emitter, range(known.n_inputs)), strict=True):
            total[state] = emitter.write("add", total[state], register)
    return emitter.finish(total)
