"""Missing forces that the search may add, where an input acts.

Friction of a joint passes through the same inertia as the torque of its motor: in a double pendulum it changes both
accelerations, by amounts that vary with the angles. No term of one equation has that form (`physics.input_terms`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from tinyude.model.model import Model
from tinyude.physics import Physics
from tinyude.physics.expressions import expression_text
from tinyude.physics.input_terms import InputTerm, acting_inputs

Array = NDArray[Any]


@dataclass(frozen=True)
class Forces:
    """Terms of inputs that a search may add to the physics.

    Attributes
    ----------
    base : Physics
        Without any of them.
    offered : tuple of InputTerm
    """

    base: Physics
    offered: tuple[InputTerm, ...]

    def wide(self, model: Model) -> tuple[Model, Array]:
        """The model with every force, new ones with coefficient 0; and their indices among its unknowns."""
        everything = self._with(model, self.offered)
        names = [force.coefficient for force in self.offered]
        return everything, np.array([everything.physics.learned.index(name) for name in names], dtype=int)

    def narrow(self, model: Model, places: Array, chosen: Array) -> Model:
        """The model with the chosen forces only."""
        return self._with(model, [force for force, place in zip(self.offered, places, strict=True) if chosen[place]])

    def _with(self, model: Model, forces: Sequence[InputTerm]) -> Model:
        now = model.physics.parameters
        values = {name: now[name].value if name in now else 0.0 for force in forces for name in force.names}
        values |= {name: now[name].value for name in self.base.of_input_terms}
        kept = {name: now[name].value for name in self.base.parameters}
        physics = self.base.with_parameters(kept).with_input_terms((*self.base.input_terms, *forces), values)
        return replace(model, physics=physics, parameter_errors=np.zeros(len(physics.learned)), covariance=None)


def forces_of(model: Model, terms: Sequence[sp.Expr], without: Sequence[str] = ()) -> Forces | None:
    """Forces at every input whose effect no term of one equation has; None if there is no such input.

    Shapes are the terms of one state that may be wrong, a constant and the input itself.
    without: names that no shape may contain.
    """
    physics = model.physics
    own = {physics.states[k] for k in model.on}
    there = {(term.input, term.form) for term in physics.input_terms}
    offered = []
    for name in (physics.inputs[k] for k in acting_inputs(physics, model.on)):
        for term in terms:
            used = {s.name for s in term.free_symbols}
            form = term.xreplace({s: sp.Symbol(s.name) for s in term.free_symbols})
            if len(used) < 2 and used <= own | {name} and not used & set(without) and (name, form) not in there:
                coefficient = re.sub(r"\W+", "_", f"{name}_{expression_text(form)}").strip("_")
                offered.append(InputTerm(name, form, coefficient))
    return Forces(physics, tuple(offered)) if offered else None
