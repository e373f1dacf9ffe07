"""The known part of a model, stated once in SymPy: NumPy field, Jacobians and generated C all come from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import sympy as sp

from tinyude.errors import TinyUDEError
from tinyude.physics.arguments import (
    check_finite,
    check_learned_are_used,
    check_names_differ,
    name_of,
    names,
    right_hand_sides,
)
from tinyude.physics.budget import with_time_limit
from tinyude.physics.compiled import CompiledPhysics
from tinyude.physics.expressions import Array, enters_as_angle
from tinyude.physics.input_terms import ActsThroughInputs, term_of_dict
from tinyude.physics.parameter import Parameter, parameter_dict
from tinyude.physics.parsing import MAX_SECONDS, parse_expression
from tinyude.physics.programs import Program
from tinyude.physics.syntax import canonical_text

_KEPT = ("states", "inputs", "texts", "rhs", "learned", "angles", "stated_rhs", "input_terms")  # by copies


class Physics(ActsThroughInputs):
    """Known dynamics dx/dt = f(x, u; parameters), with one right-hand side for each state.

    Immutable. All methods take arrays with any leading axes, real or complex.

    Parameters
    ----------
    states : sequence of str or sympy.Symbol
        Names of the states.
    rhs : sequence of str, sympy.Expr or float, or mapping of them
        The known part of dx/dt of each state, in the same order or by its name; 0 where nothing is known. As text:
        ``+ - * / **``, pi, sin, cos, tan, asin, acos, atan, sinh, cosh, tanh, exp, log, sqrt; and with corners abs,
        sign, max, min and Piecewise((a, x < 1), (b, True)), of which every piece must have a value everywhere.
    inputs : sequence of str or sympy.Symbol, default ()
        Names of the signals that act on the system.
    parameters : mapping of str to float or Parameter, optional
        Constants by name. `Parameter(value, learn=True)` is fitted.
    angles : sequence of str, optional
        States that are angles in radians, of which 2 pi more changes nothing. Default: those that enter only as
        integer multiples inside sin, cos or tan. `[]`: none is known. A fit also takes a state for an angle that no
        equation reads and that rotates, where the record is clearly likelier so.

    Attributes
    ----------
    states, inputs, learned, angles : tuple of str
        Names of the states, the inputs, the parameters that are learned and the states that are angles.
    parameters : dict of str to Parameter
        The constants by name.
    rhs : tuple of sympy.Expr
        The right-hand side of each state.
    texts : tuple of str
        The same as text, in one form of writing.
    kinematic : tuple of int or None
        For each state the index of the other state that is exactly its rate, or None.
    smooth : bool
        Whether the right-hand sides have no corners: no abs, sign, max, min or Piecewise.
    n_states, n_inputs : int
        Number of states and of inputs.

    Raises
    ------
    TinyUDEError
        If names clash, an expression holds unknown names or unsupported functions, or the counts differ.

    Examples
    --------
    >>> import tinyude as tu
    >>> physics = tu.Physics(["theta", "omega"], ["omega", "-(g/L)*sin(theta)"], parameters={"g": 9.81, "L": 1.0})
    >>> physics.angles
    ('theta',)
    >>> physics.field([0.0, 2.0])
    array([ 2., -0.])
    """

    def __init__(
        self,
        states: Sequence[str | sp.Symbol],
        rhs: Sequence[sp.Expr | str | float] | Mapping[str | sp.Symbol, sp.Expr | str | float],
        inputs: Sequence[str | sp.Symbol] = (),
        parameters: Mapping[str | sp.Symbol, float | Parameter] | None = None,
        angles: Sequence[str | sp.Symbol] | None = None,
    ) -> None:
        self.states = names(states, "state")
        self.inputs = names(inputs, "input")
        self.parameters = {
            name_of(key, "parameter"): value if isinstance(value, Parameter) else Parameter(value)
            for key, value in (parameters or {}).items()
        }
        check_names_differ(self.states, self.inputs, tuple(self.parameters))
        if not self.states:
            raise TinyUDEError("Physics needs at least one state, e.g. states=['theta', 'omega'].")
        self.texts = right_hand_sides(rhs, self.states, (*self.inputs, *self.parameters))
        self.rhs = tuple(parse_expression(text, self._symbols, smooth=False) for text in self.texts)
        self.texts = tuple(map(canonical_text, self.texts))  # what is shown and written into generated code
        self.stated_rhs, self.input_terms = self.rhs, ()
        self.learned = tuple(name for name, parameter in self.parameters.items() if parameter.learn)
        check_learned_are_used(self.rhs, self.learned)
        values = {self._symbols[name]: parameter.value for name, parameter in self.parameters.items()}
        with_time_limit(
            MAX_SECONDS, "The physics with its parameters' values", lambda: check_finite(self._equations, values)
        )
        self.angles = (
            tuple(name for name in self.states if enters_as_angle(self._symbols[name], self.rhs))
            if angles is None
            else names(angles, "angle")
        )
        for name in self.angles:
            if name not in self.states:
                raise TinyUDEError(f"The angle {name} is not a state; the states are {', '.join(self.states)}.")

    @property
    def n_states(self) -> int:
        return len(self.states)

    @property
    def n_inputs(self) -> int:
        return len(self.inputs)

    @property
    def smooth(self) -> bool:
        """Whether the right-hand sides have no corners: no abs, sign, max, min or Piecewise."""
        return not any(expr.has(sp.Abs, sp.sign) for expr in self.rhs)

    @property
    def kinematic(self) -> tuple[int | None, ...]:
        """For each state the index of the other state that is exactly its rate, or None.

        dx/dt = x is a growth law like any other, and no definition of a rate.
        """
        others = [expr.name if expr.is_Symbol and expr.name != state else "" for state, expr in self._equations]
        return tuple(self.states.index(name) if name in self.states else None for name in others)

    def field(self, x: Array, u: Array | None = None, p: Array | None = None) -> Array:
        """Evaluate the known right-hand side.

        Parameters
        ----------
        x : array of shape (..., states)
            States.
        u : array of shape (..., inputs), optional
            Inputs; needed where the physics has some.
        p : array of shape (..., learned parameters), optional
            Values of the learned parameters; default: their current ones.

        Returns
        -------
        ndarray of shape (..., states)
            The known part of dx/dt.
        """
        return self._compiled.field(x, u, p)

    def jacobian(self, x: Array, u: Array | None = None, p: Array | None = None) -> Array:
        """Evaluate the Jacobian df/dx.

        Parameters
        ----------
        x : array of shape (..., states)
            States.
        u : array of shape (..., inputs), optional
            Inputs; needed where the physics has some.
        p : array of shape (..., learned parameters), optional
            Values of the learned parameters; default: their current ones.

        Returns
        -------
        ndarray of shape (..., states, states)
            The derivative of each right-hand side by each state.
        """
        return self._compiled.jacobian(x, u, p)

    def parameter_jacobian(self, x: Array, u: Array | None = None, p: Array | None = None) -> Array:
        """Evaluate the derivatives by the learned parameters, df/dp.

        Parameters
        ----------
        x : array of shape (..., states)
            States.
        u : array of shape (..., inputs), optional
            Inputs; needed where the physics has some.
        p : array of shape (..., learned parameters), optional
            Values of the learned parameters; default: their current ones.

        Returns
        -------
        ndarray of shape (..., states, learned parameters)
            The derivative of each right-hand side by each learned parameter.
        """
        return self._compiled.parameter_jacobian(x, u, p)

    def field_program(self) -> Program:
        """Compile the field to straight-line code.

        Returns
        -------
        Program
            Its inputs are the states, the inputs, then the learned parameters.
        """
        return self._compiled.field_program()

    def jacobian_program(self) -> Program:
        """Compile df/dx to straight-line code.

        Returns
        -------
        Program
            The Jacobian row by row, with the same inputs as `field_program`.
        """
        return self._compiled.jacobian_program()

    def with_parameters(self, values: Mapping[str, float]) -> Self:
        """Copy the physics with other parameter values.

        Parameters
        ----------
        values : mapping of str to float
            New values by name; the other parameters stay.

        Returns
        -------
        Physics
            The copy.

        Raises
        ------
        TinyUDEError
            If a name is not a parameter, or a value is outside its bounds.
        """
        unknown = set(values) - set(self.parameters)
        if unknown:
            raise TinyUDEError(
                f"Unknown parameters {', '.join(sorted(unknown))}; these are {', '.join(self.parameters) or 'none'}."
            )
        changed = {name: replace(self.parameters[name], value=float(value)) for name, value in values.items()}
        other = object.__new__(type(self))  # the equations were read before
        vars(other).update({name: vars(self)[name] for name in _KEPT})
        other.parameters = self.parameters | changed
        return other

    def with_learned(self, names: Iterable[str]) -> Physics:
        """Copy the physics with these of its parameters learned, and no others.

        Parameters
        ----------
        names : iterable of str
            Names of parameters.

        Returns
        -------
        Physics
            The copy.
        """
        chosen = set(names)
        other = self.with_parameters({})
        other.parameters = {name: replace(own, learn=name in chosen) for name, own in self.parameters.items()}
        other.learned = tuple(name for name in self.parameters if name in chosen)
        return other

    def with_angles(self, names: Iterable[str]) -> Physics:
        """Copy the physics with these of its states as angles, and no others.

        Parameters
        ----------
        names : iterable of str
            Names of states.

        Returns
        -------
        Physics
            The copy.
        """
        chosen = set(names)
        other = self.with_parameters({})
        other.angles = tuple(name for name in self.states if name in chosen)
        return other

    def at_bounds(self) -> list[str]:
        """Name the learned parameters at a bound other than 0: such a value is not an estimate.

        Returns
        -------
        list of str
            Their names.
        """
        named = [(name, self.parameters[name]) for name in self.learned]
        return [name for name, own in named if any(b and own.value == b for b in (own.min, own.max))]

    def to_dict(self) -> dict[str, Any]:
        """Describe the physics as plain data for JSON.

        Returns
        -------
        dict
            Names, expressions as text, parameters.
        """
        return {
            "states": list(self.states),
            "rhs": list(self.texts),
            "inputs": list(self.inputs),
            "parameters": {name: parameter_dict(parameter) for name, parameter in self.parameters.items()},
            "angles": list(self.angles),
            "input_terms": [term.to_dict() for term in self.input_terms],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Physics:
        """Make physics from what `to_dict` gave. Safe on untrusted data: text is parsed by a whitelist, never executed.

        Parameters
        ----------
        data : mapping
            What `to_dict` gave.

        Returns
        -------
        Physics
            The physics described.

        Raises
        ------
        TinyUDEError
            If the data describe no physics.
        """
        try:
            parameters = {str(name): Parameter(**fields) for name, fields in data["parameters"].items()}
            lists = [data[key] for key in ("states", "rhs", "inputs", "angles")]
            through = list(data.get("input_terms", []))
            own = {str(name) for term in through for name in (term["coefficient"], *term["shapes"])}
            values = {name: parameters[name].value for name in own}
        except (KeyError, TypeError, AttributeError) as error:
            raise TinyUDEError(
                f"Not a description of physics ({error!r}); give the result of Physics.to_dict()."
            ) from None
        if not all(isinstance(items, list) and all(isinstance(item, str) for item in items) for items in lists):
            raise TinyUDEError("Not a description of physics: states, rhs, inputs and angles must be lists of text.")
        states, rhs, inputs, angles = lists
        physics = cls(states, rhs, inputs, {name: p for name, p in parameters.items() if name not in own}, angles)
        if not through:
            return physics
        whole = physics.with_input_terms([term_of_dict(physics, term) for term in through], values)
        return whole.with_learned(name for name, parameter in parameters.items() if parameter.learn)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Physics) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    def __reduce__(self) -> tuple[Callable[[Mapping[str, Any]], Physics], tuple[dict[str, Any]]]:
        return Physics.from_dict, (self.to_dict(),)

    def __deepcopy__(self, memo: dict[int, Any]) -> Physics:
        return self

    def __repr__(self) -> str:
        equations = ", ".join(f"d{s}/dt = {text}" for s, text in zip(self.states, self.texts, strict=True))
        return f"Physics({equations})"

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.startswith("_") or name.startswith("__")]

    @property
    def _equations(self) -> Iterator[tuple[str, sp.Expr]]:
        return zip(self.states, self.rhs, strict=True)

    def _repr_html_(self) -> str:
        from tinyude.physics.typeset import physics_html

        return physics_html(self)

    @cached_property
    def _identity(self) -> tuple[Any, ...]:
        return self.states, self.rhs, self.inputs, tuple(self.parameters.items()), self.angles

    @cached_property
    def _symbols(self) -> dict[str, sp.Symbol]:
        return {name: sp.Symbol(name) for name in (*self.states, *self.inputs, *self.parameters)}

    @cached_property
    def _compiled(self) -> CompiledPhysics:
        values = {name: parameter.value for name, parameter in self.parameters.items()}
        return CompiledPhysics(self.rhs, self.states, self.inputs, values, self.learned)
