"""A whole model as one straight-line program: known physics plus every learned part.

An export to another tool (SymPy, CasADi, JAX, an FMU) is one loop over this program, for every kind of model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tinyude.physics.programs import Emitter, Program

if TYPE_CHECKING:
    from tinyude.model.model import Model


def model_program(model: Model, unknowns: bool = False) -> Program:
    """dx/dt of a fitted model as straight-line code.

    Parameters
    ----------
    model : Model
        A fitted model.
    unknowns : bool, optional
        Make the learned numbers (`model.unknowns`) further inputs instead of constants.

    Returns
    -------
    Program
        Inputs: the states, the inputs, then the unknowns if requested. Outputs: dx/dt of every state.
    """
    values = model.unknowns.tolist()
    width = model.physics.n_states + model.physics.n_inputs
    emitter = Emitter(width + (len(values) if unknowns else 0))
    learned = list(range(width, width + len(values))) if unknowns else [emitter.constant(value) for value in values]
    seen = [_wrapped(emitter, k) if k in model.angles else k for k in range(width)]
    return emitter.finish(write_model(emitter, model, seen, learned))


def write_model(emitter: Emitter, model: Model, seen: Sequence[int], unknowns: Sequence[int]) -> list[int]:
    """Write known physics and learned parts; returns the registers of dx/dt. The first inputs are states, then inputs.

    seen: the registers of the parts' inputs, with angles within half a revolution of 0.
    unknowns: the registers of `model.unknowns`.
    """
    physics = model.physics
    known, count = physics.field_program(), len(physics.learned)
    registers = emitter.include(known, [*range(physics.n_states + physics.n_inputs), *unknowns[:count]])
    dx = [registers[output] for output in known.outputs]
    for part in model.parts:
        stop = count + len(part.unknowns)
        own, count = unknowns[count:stop], stop
        for state, register in zip(part.on, part.emit(emitter, seen, own), strict=True):
            if register != emitter.constant(0.0):
                dx[state] = emitter.write("add", dx[state], register)
    return dx


def _wrapped(emitter: Emitter, angle: int) -> int:
    """An angle within half a revolution of 0: 2 atan(tan(a / 2)), exact to rounding and smooth except at the jump."""
    half = emitter.write("mul", emitter.constant(0.5), angle)
    return emitter.write("mul", emitter.constant(2.0), emitter.write("atan", emitter.write("tan", half)))
