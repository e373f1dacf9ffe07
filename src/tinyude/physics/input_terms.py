"""Missing terms that act through an input of the known physics: dx/dt = f(x, u + d(x, u)).

Friction in a joint is a torque: it reaches every rate as a motor's torque does, through the inverse of the mass matrix.
It is a simple term of the torque, and no simple term of any acceleration.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from tinyude.errors import TinyUDEError
from tinyude.physics.arguments import check_names_differ
from tinyude.physics.derivatives import program_derivative, program_with_slopes
from tinyude.physics.expressions import expression_text
from tinyude.physics.parameter import Parameter
from tinyude.physics.parsing import parse_expression
from tinyude.physics.programs import program_numpy, read_inputs

if TYPE_CHECKING:
    from tinyude.physics.physics import Physics

Array = NDArray[Any]


@dataclass(frozen=True)
class InputTerm:
    """coefficient * form, added to an input; coefficient and shapes are names of learned parameters."""

    input: str
    form: sp.Expr  # of states, inputs and shapes
    coefficient: str
    shapes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Its parameters."""
        return (self.coefficient, *self.shapes)

    def shown(self, parameters: Mapping[str, Parameter]) -> sp.Expr:
        """The form with the shapes at their value."""
        values = {sp.Symbol(name): sp.Float(parameters[name].value) for name in self.shapes}
        return self.form.xreplace(values)

    def to_dict(self) -> dict[str, Any]:
        """As plain data for JSON."""
        return {
            "input": self.input,
            "form": expression_text(self.form),
            "coefficient": self.coefficient,
            "shapes": list(self.shapes),
        }


def term_of_dict(physics: Physics, data: Mapping[str, Any]) -> InputTerm:
    """A term from what `to_dict` gave; its text is parsed, never executed."""
    shapes = tuple(str(name) for name in data["shapes"])
    if data["input"] not in physics.inputs:
        raise TinyUDEError(
            f"A term acts through {data['input']!r}, which is no input; these are {list(physics.inputs)}."
        )
    known = (*physics.states, *physics.inputs, *shapes)
    form = parse_expression(str(data["form"]), {name: sp.Symbol(name) for name in known}, smooth=False)
    return InputTerm(str(data["input"]), form, str(data["coefficient"]), shapes)


def added(rhs: Sequence[sp.Expr], terms: Iterable[InputTerm]) -> tuple[sp.Expr, ...]:
    """The right-hand sides with the terms added to their inputs."""
    shifted: dict[sp.Symbol, sp.Expr] = {}
    for term in terms:
        own = sp.Symbol(term.input)
        shifted[own] = shifted.get(own, own) + sp.Symbol(term.coefficient) * term.form
    return tuple(expr.xreplace(shifted) for expr in rhs)


class ActsThroughInputs:
    """The part of `Physics` that concerns learned terms which act through its inputs."""

    states: tuple[str, ...]
    inputs: tuple[str, ...]
    parameters: dict[str, Parameter]
    angles: tuple[str, ...]
    learned: tuple[str, ...]
    rhs: tuple[sp.Expr, ...]
    stated_rhs: tuple[sp.Expr, ...]  # without them
    input_terms: tuple[InputTerm, ...]

    if TYPE_CHECKING:

        def with_parameters(self, values: Mapping[str, float]) -> Self: ...

    def with_input_terms(self, terms: Sequence[InputTerm], values: Mapping[str, float]) -> Self:
        """Copy the physics with learned terms that act through its inputs, dx/dt = f(x, u + d(x, u)).

        Parameters
        ----------
        terms : sequence of InputTerm
            The terms; they replace those that the physics has.
        values : mapping of str to float
            Values of their coefficients and shapes, by name; shapes are positive.

        Returns
        -------
        Physics
            The copy. Its `texts` stay as they were stated.
        """
        other = self.with_parameters({})
        kept = {name: own for name, own in self.parameters.items() if name not in self.of_input_terms}
        shapes = {name for term in terms for name in term.shapes}
        new = {
            name: Parameter(values[name], learn=True, min=0.0 if name in shapes else -np.inf)
            for term in terms
            for name in term.names
        }
        check_names_differ(self.states, self.inputs, (*kept, *new))
        other.parameters, other.input_terms = kept | new, tuple(terms)
        other.learned = tuple(name for name, own in other.parameters.items() if own.learn)
        other.rhs = added(self.stated_rhs, terms)
        return other

    @property
    def of_input_terms(self) -> frozenset[str]:
        """Names of the parameters that belong to learned terms."""
        return frozenset(name for term in self.input_terms for name in term.names)

    @property
    def stated(self) -> Self:
        """The physics as it was stated: without learned terms that act through inputs."""
        return self.with_input_terms((), {}) if self.input_terms else self

    @property
    def spelled_out(self) -> Self:
        """The same physics with learned terms written into its equations, as an export states it."""
        if not self.input_terms:
            return self
        return type(self)(self.states, self.rhs, self.inputs, self.parameters, self.angles)  # type: ignore[call-arg]


def acting_inputs(physics: Physics, on: Sequence[int]) -> tuple[int, ...]:
    """Inputs whose effect on the rates `on` no simple term has: it depends on the state, or several rates share it.

    Through any other input a missing term is a term of one rate, up to a constant factor.
    """
    first = physics.n_states
    columns = set(range(first + physics.n_inputs))
    slopes, entries = program_with_slopes(physics.field_program(), range(first, first + physics.n_inputs))
    needed = dict(zip(entries, read_inputs(slopes)[first:], strict=True))
    found = []
    for k in range(physics.n_inputs):
        effects = [needed[i, k] for i in on if (i, k) in needed]
        linear = not any(first + k in effect for effect in effects)
        if linear and (len(effects) > 1 or any(effect & columns for effect in effects)):
            found.append(k)
    return tuple(found)


def input_effects(physics: Physics, inputs: Sequence[int], x: Array, u: Array) -> Array:
    """df/du at rows of states and inputs (rows, states, inputs), for these inputs."""
    slopes = program_derivative(physics.field_program(), [physics.n_states + k for k in inputs])
    learned = np.broadcast_to(
        [physics.parameters[name].value for name in physics.learned], (len(x), len(physics.learned))
    )
    found = program_numpy(slopes, np.concatenate([x, u, learned], axis=1))
    return np.asarray(found, dtype=np.float64).reshape(len(x), physics.n_states, len(inputs))
