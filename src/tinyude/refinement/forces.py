"""Missing forces, looked for where an input acts.

Friction of a joint passes through the same inertia as the torque of its motor: in a double pendulum it changes both
accelerations, by amounts that vary with the angles. No term of one equation has that form. Such a force is added to the
input inside the known equations, with one coefficient, which is a learned parameter of the physics.
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
from tinyude.physics import Parameter, Physics
from tinyude.physics.expressions import expression_text

Array = NDArray[Any]


@dataclass(frozen=True)
class Force:
    """A coefficient times a shape, added to an input."""

    name: str
    input: str
    shape: str


@dataclass(frozen=True)
class Forces:
    """Forces that a search may add to the physics.

    Attributes
    ----------
    base : Physics
        Without any of them.
    offered : tuple of Force
    """

    base: Physics
    offered: tuple[Force, ...]

    def wide(self, model: Model) -> tuple[Model, Array]:
        """The model with every force, new ones with coefficient 0; and their indices among its unknowns."""
        everything = self._with(model, self.offered)
        names = [force.name for force in self.offered]
        return everything, np.array([everything.physics.learned.index(name) for name in names], dtype=int)

    def narrow(self, model: Model, places: Array, chosen: Array) -> Model:
        """The model with the chosen forces only."""
        return self._with(model, [force for force, place in zip(self.offered, places, strict=True) if chosen[place]])

    def _with(self, model: Model, forces: Sequence[Force]) -> Model:
        texts = list(self.base.texts)
        for name in self.base.inputs:
            own = [f"{force.name}*({force.shape})" for force in forces if force.input == name]
            if own:
                texts = [re.sub(rf"\b{name}\b", f"({' + '.join([name, *own])})", text) for text in texts]
        now = model.physics.parameters
        parameters = {name: now[name] for name in self.base.parameters}
        parameters |= {force.name: now.get(force.name, Parameter(0.0, learn=True)) for force in forces}
        physics = Physics(self.base.states, texts, self.base.inputs, parameters, self.base.angles)
        return replace(model, physics=physics, parameter_errors=np.zeros(len(physics.learned)), covariance=None)


def forces_of(model: Model, terms: Sequence[sp.Expr], without: Sequence[str] = ()) -> Forces | None:
    """Forces at every input that acts on several equations or with a gain that varies; None if there is no such input.

    Elsewhere a term of the one equation says the same. Shapes are the terms of one state that may be wrong, a constant
    and the input itself.
    without: names that no shape may contain.
    """
    physics = model.physics
    own = {physics.states[k] for k in model.on}
    offered = []
    for name in physics.inputs:
        gains = [sp.diff(expr, sp.Symbol(name)) for expr in physics.rhs]
        varies = any({s.name for s in gain.free_symbols} & set(physics.states) for gain in gains)
        if not varies and sum(gain != 0 for gain in gains) < 2:
            continue
        for term in terms:
            used = {s.name for s in term.free_symbols}
            if len(used) < 2 and used <= own | {name} and not used & set(without):
                shape = expression_text(term)
                offered.append(Force(re.sub(r"\W+", "_", f"{name}_{shape}").strip("_"), name, shape))
    return Forces(physics, tuple(offered)) if offered else None


def forces_added(given: Model, terms: Sequence[sp.Expr], learned: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Input and shape of every force among the learned parameters, by its name.

    given: with the physics before the search.
    """
    forces = forces_of(given, terms)
    return {f.name: (f.input, f.shape) for f in (forces.offered if forces else ()) if f.name in learned}
