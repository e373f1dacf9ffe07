"""A fitted hybrid model as plain arrays and text, evaluated with NumPy, independent of how it was trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from tinyude.model.dynamics import Dynamics, model_dynamics
from tinyude.model.kernel import KernelNetwork
from tinyude.model.parts import MLP, Part, Terms
from tinyude.physics import Physics
from tinyude.reference.signal.angle import angle_wrap_state

Array = NDArray[Any]


@dataclass(frozen=True)
class Model:
    """dx/dt = f_known(x, u) + terms + kernel network + multilayer perceptron.

    The residual is the sum of `parts`; the arrays here define the parts and are stored in the file.
    """

    physics: Physics  # with learned parameters at their fitted value
    on: tuple[int, ...]
    sees: tuple[int, ...]
    hidden: tuple[int, ...]
    weights: Array  # averaged network parameters, flat
    network_on: Array  # (on,) 1 or 0
    x_scale: Array
    u_scale: Array
    dx_scale: Array
    terms: tuple[sp.Expr, ...]
    coefficients: Array  # (on, terms)
    errors: Array  # (on, terms) standard errors, 0 for a term that is out
    parameter_errors: Array  # (learned parameters,)
    angles: tuple[int, ...] = ()  # states with a learned part of period one revolution, evaluated in the one around 0
    forms: tuple[sp.Expr, ...] = ()  # the terms with symbols for their fitted shape parameters; (): no such parameters
    shapes: Mapping[str, float] = field(default_factory=dict)  # those parameters
    kernel: KernelNetwork | None = None
    covariance: Array | None = None  # of the learned parameters, then the unknowns of `parts`

    def __repr__(self) -> str:
        """One line, without the arrays."""
        return f"Model({self.physics!r}, {len(self.parts)} learned parts)"

    def __getstate__(self) -> dict[str, Any]:
        """Only plain arrays and text: compiled objects are rebuilt when needed."""
        return {entry.name: getattr(self, entry.name) for entry in fields(self)}

    def field(self, x: Array, u: Array | None = None) -> Array:
        """dx/dt, shaped like x."""
        return np.asarray(self.physics.field(x, u), dtype=np.float64) + self.library(x, u) + self.network(x, u)

    def residual(self, x: Array, u: Array | None = None) -> Array:
        """The learned part N(x, u), shaped like x."""
        return self.library(x, u) + self.network(x, u) + self.through_inputs(x, u)

    def through_inputs(self, x: Array, u: Array | None = None) -> Array:
        """What learned terms that act through inputs change in the known physics, shaped like x."""
        if not self.physics.input_terms:
            return np.zeros(x.shape)
        whole, stated = (np.asarray(own.field(x, u), dtype=np.float64) for own in (self.physics, self.physics.stated))
        return np.asarray(whole - stated)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The summands of the residual that are in use: terms, kernel network, multilayer perceptron."""
        found: list[Part] = [self._library] if self.coefficients.any() else []
        if self.kernel is not None:
            found.append(self.kernel)
        return (*found, self._mlp) if self._mlp is not None else tuple(found)

    @cached_property
    def dynamics(self) -> Dynamics:
        """The whole field as one program, for free runs."""
        return model_dynamics(self)

    @property
    def unknowns(self) -> Array:
        """Learned parameters, then the unknowns of every part, as one flat array."""
        values = [self.physics.parameters[name].value for name in self.physics.learned]
        return np.concatenate([np.array(values, dtype=np.float64), *(part.unknowns for part in self.parts)])

    def with_unknowns(self, values: Array) -> Model:
        """The same model with other numbers; the standard errors stay."""
        count = len(self.physics.learned)
        learned = dict(zip(self.physics.learned, map(float, values[:count]), strict=True))
        changed: dict[str, Any] = {"physics": self.physics.with_parameters(learned) if learned else self.physics}
        for part in self.parts:
            stop = count + len(part.unknowns)
            moved, count = part.with_unknowns(np.asarray(values[count:stop])), stop
            if isinstance(moved, Terms):
                changed |= {"coefficients": moved.coefficients, "shapes": moved.shapes, "terms": moved.terms}
            elif isinstance(moved, KernelNetwork):
                changed["kernel"] = moved
            elif isinstance(moved, MLP):
                changed["weights"] = moved.weights
        return replace(self, **changed)

    def with_learned(self, names: Sequence[str]) -> Model:
        """The same model with these parameters counted as learned, and no others; newly learned ones have error 0."""
        before, physics = self.physics.learned, self.physics.with_learned(names)
        if physics.learned == before:
            return self
        both = [name for name in physics.learned if name in before]
        old, new = [before.index(name) for name in both], [physics.learned.index(name) for name in both]
        errors = np.zeros(len(physics.learned))
        errors[new] = self.parameter_errors[old]
        changed = replace(self, physics=physics, parameter_errors=errors)
        if self.covariance is None:
            return changed
        old += range(len(before), len(self.unknowns))
        new += range(len(physics.learned), len(changed.unknowns))
        covariance = np.zeros((len(changed.unknowns),) * 2)
        covariance[np.ix_(new, new)] = self.covariance[np.ix_(old, old)]
        return replace(changed, covariance=covariance)

    def residual_jacobian(self, x: Array, u: Array | None = None) -> Array:
        """Derivative of the residual by `unknowns` (..., states, unknowns); 0 for the stated physics' parameters."""
        rows = self._rows(x, u)
        answer = np.zeros((*x.shape, len(self.unknowns)))
        start = len(self.physics.learned)
        if through := [k for k, name in enumerate(self.physics.learned) if name in self.physics.of_input_terms]:
            answer[..., through] = np.asarray(self.physics.parameter_jacobian(x, u))[..., through]
        for part in self.parts:
            stop = start + len(part.unknowns)
            answer[..., list(part.on), start:stop] = part.jacobian(rows)
            start = stop
        return answer

    def library(self, x: Array, u: Array | None = None) -> Array:
        """The terms' share of the residual, shaped like x."""
        answer = np.zeros(x.shape)
        answer[..., list(self.on)] = self._library.evaluate(self._rows(x, u))
        return answer

    def term_values(self, x: Array, u: Array | None = None) -> Array:
        """The library's terms at states x (..., terms), 0 for those that are out."""
        return self._library.values(self._rows(x, u))

    def network(self, x: Array, u: Array | None = None) -> Array:
        """The share of the kernel network and the multilayer perceptron, shaped like x."""
        answer = np.zeros(x.shape)
        for part in (self.kernel, self._mlp):
            if part is not None:
                answer[..., list(part.on)] += part.evaluate(self._rows(x, u))
        return answer

    def features(self, x: Array, u: Array | None = None) -> Array:
        """Inputs of the perceptron's last layer (..., units + 1): the units before it, and 1."""
        if self._mlp is None:
            return np.zeros((*x.shape[:-1], 0))
        return self._mlp.features(self._rows(x, u))

    @cached_property
    def _library(self) -> Terms:
        names = (*self.physics.states, *self.physics.inputs)
        return Terms(self.on, names, self.forms or self.terms, self.coefficients, self.shapes)

    @cached_property
    def _mlp(self) -> MLP | None:
        if not (self.hidden and self.network_on.any()):
            return None
        scale = np.concatenate([self.x_scale, self.u_scale])
        unit = self.dx_scale[list(self.on)]
        return MLP(self.on, self.sees, self.hidden, self.weights, self.network_on, scale, unit)

    def _rows(self, x: Array, u: Array | None) -> Array:
        x = angle_wrap_state(x, self.angles)
        if u is None or not self.physics.n_inputs:
            return x
        return np.concatenate([x, np.broadcast_to(u, (*x.shape[:-1], self.physics.n_inputs))], axis=-1)
