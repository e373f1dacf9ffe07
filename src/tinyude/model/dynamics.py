"""The hybrid field as one program, for free runs, linearisation and exports."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tinyude import native
from tinyude.model.program import write_model
from tinyude.native.simulate import NativeSimulation
from tinyude.physics import Physics
from tinyude.physics.programs import Emitter, Program, program_numpy
from tinyude.reference.signal.angle import angle_wrap_state

if TYPE_CHECKING:
    from tinyude.model.model import Model

Array = NDArray[Any]


@dataclass(frozen=True)
class Dynamics:
    """dx/dt = f(x, u) as a program.

    Attributes
    ----------
    program : Program
        Its inputs are the states, the inputs u, then the states `angles` within half a revolution of 0.
    states, inputs : tuple of str
        Their names.
    angles : tuple of int
        States that the learned part receives wrapped to the revolution around 0.
    """

    program: Program
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    angles: tuple[int, ...] = ()

    def field(self, x: Array, u: Array | None = None) -> Array:
        """dx/dt in NumPy, shaped like x."""
        held = np.zeros((*x.shape[:-1], 0)) if u is None or not self.inputs else np.broadcast_to(
            u, (*x.shape[:-1], len(self.inputs))
        )  # fmt: skip
        wrapped = angle_wrap_state(x, self.angles)[..., list(self.angles)]
        return program_numpy(self.program, np.concatenate([x, held, wrapped], axis=-1))

    @cached_property
    def compiled(self) -> NativeSimulation | None:
        """The field in the compiled core; None without it."""
        if not native.available():
            return None
        return NativeSimulation(self.program, len(self.states), len(self.inputs), self.angles)


def model_dynamics(model: Model) -> Dynamics:
    """Known physics and everything learned."""
    width = model.physics.n_states + model.physics.n_inputs
    emitter = Emitter(width + len(model.angles))
    seen = [width + model.angles.index(k) if k in model.angles else k for k in range(width)]
    outputs = write_model(emitter, model, seen, [emitter.constant(value) for value in model.unknowns.tolist()])
    return Dynamics(emitter.finish(outputs), model.physics.states, model.physics.inputs, tuple(model.angles))


@lru_cache(maxsize=64)
def known_dynamics(physics: Physics) -> Dynamics:
    """The known physics alone, its learned parameters at their current value."""
    width = physics.n_states + physics.n_inputs
    emitter, known = Emitter(width), physics.field_program()
    learned = [emitter.constant(physics.parameters[name].value) for name in physics.learned]
    registers = emitter.include(known, [*range(width), *learned])
    return Dynamics(emitter.finish([registers[output] for output in known.outputs]), physics.states, physics.inputs)
