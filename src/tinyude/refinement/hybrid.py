"""A model as a field of its unknowns, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.model.kernel import KernelNetwork
from tinyude.model.model import Model
from tinyude.model.parts import MLP, Part, Terms
from tinyude.physics.derivatives import bound, pruned
from tinyude.physics.programs import Emitter
from tinyude.refinement.field import Field
from tinyude.refinement.unknowns import Unknowns

Array = NDArray[Any]
MOST_UNKNOWNS = 200
LOOSE = 10.0  # factor on the windows' variance of a network's weights, for the prior of refinement


@dataclass(frozen=True)
class Hybrid:
    """A model with the unknowns that refinement moves; the weights of a perceptron are not changed.

    Attributes
    ----------
    model : Model
    field : Field
    unknowns : Unknowns
    places : array of int
        Indices of the unknowns in `model.unknowns`.
    """

    model: Model
    field: Field
    unknowns: Unknowns
    places: Array

    def moved(self, values: Array) -> Model:
        """The model with these values of the unknowns."""
        everything = self.model.unknowns.copy()
        everything[self.places] = values
        return self.model.with_unknowns(everything)


def hybrid(model: Model, *, last_layer: bool = False) -> Hybrid:
    """The field of a model and its unknowns: learned parameters, coefficients, shapes, kernel weights.

    last_layer: also the last layer of a perceptron, in which the model is linear.
    """
    moving = _moving(model, last_layer)
    counts = [len(part.unknowns) for part in model.parts]
    starts = len(model.physics.learned) + np.concatenate([[0], np.cumsum(counts)]).astype(int)
    places = [np.arange(len(model.physics.learned)), *(start + own for start, own in zip(starts, moving, strict=False))]
    chosen = np.concatenate(places)
    return Hybrid(model, _field(model, moving), _unknowns(model, moving, chosen), chosen)


def _moving(model: Model, last_layer: bool) -> list[Array]:
    """Which of each part's unknowns move; none in parts with too many of them."""
    moving = []
    for part in model.parts:
        count = len(part.unknowns)
        first = 0 if not isinstance(part, MLP) else count - part.last_layer if last_layer else count
        moving.append(np.arange(first, count))
    while len(model.physics.learned) + sum(map(len, moving)) > MOST_UNKNOWNS and any(map(len, moving)):
        moving[int(np.argmax([len(own) for own in moving]))] = np.zeros(0, dtype=int)
    return moving


def fixed_field(model: Model) -> Field:
    """The field of a model with every number a constant."""
    nothing = [np.zeros(0, dtype=int)] * len(model.parts)
    field, learned = _field(model, nothing), model.unknowns[: len(model.physics.learned)]
    return Field(bound(field.value, learned.tolist()), field.states, field.inputs, 0)


def without_parts(model: Model, *, terms: bool = False, network: bool = False) -> Model:
    """The model with only some of its learned parts; terms: also those that act through inputs."""
    kept = model.coefficients if terms else np.zeros(model.coefficients.shape)
    changed: dict[str, Any] = {"coefficients": kept, "errors": np.where(kept != 0.0, model.errors, 0.0)}
    if not network:
        changed |= {"kernel": None, "network_on": np.zeros(model.network_on.shape)}
    if not terms:
        stated = model.physics.stated
        own = [name in stated.learned for name in model.physics.learned]
        changed |= {"forms": (), "shapes": {}, "physics": stated, "parameter_errors": model.parameter_errors[own]}
    return replace(model, covariance=None, **changed)


def _field(model: Model, moving: Sequence[Array]) -> Field:
    physics, n, m = model.physics, model.physics.n_states, model.physics.n_inputs
    learned = len(physics.learned)
    count = learned + sum(map(len, moving))
    emitter = Emitter(n + m + count)
    known = physics.field_program()
    registers = emitter.include(known, range(n + m + learned))
    outputs = [registers[k] for k in known.outputs]
    columns = _columns(emitter, model)
    next_unknown = n + m + learned
    for part, moves in zip(model.parts, moving, strict=True):
        own: list[int] | None = None
        if len(moves):
            places = dict(zip(moves.tolist(), range(next_unknown, next_unknown + len(moves)), strict=True))
            values = part.unknowns.tolist()
            own = [places[k] if k in places else emitter.constant(v) for k, v in enumerate(values)]
            next_unknown += len(moves)
        for state, register in zip(part.on, part.emit(emitter, columns, own), strict=True):
            outputs[state] = emitter.write("add", outputs[state], register)
    return Field(pruned(emitter.finish(outputs)), n, m, count)


def _columns(emitter: Emitter, model: Model) -> list[int]:
    """Registers of the parts' inputs: angles wrapped to the revolution around 0, as 2 atan(tan(x / 2))."""
    columns = list(range(model.physics.n_states + model.physics.n_inputs))
    if model.parts:
        for state in model.angles:
            half = emitter.write("tan", emitter.write("mul", emitter.constant(0.5), state))
            columns[state] = emitter.write("mul", emitter.constant(2.0), emitter.write("atan", half))
    return columns


def _unknowns(model: Model, moving: Sequence[Array], places: Array) -> Unknowns:
    physics = model.physics
    names = list(physics.learned)
    parameters = [physics.parameters[name] for name in physics.learned]
    lower, upper = [p.min for p in parameters], [p.max for p in parameters]
    positive = [p.min >= 0.0 and p.value > 0.0 for p in parameters]
    for number, (part, moves) in enumerate(zip(model.parts, moving, strict=True)):
        if len(moves):
            shapes = _shapes(part)
            names += [f"part {number}.{k}" for k in range(len(moves) - len(shapes))] + shapes
            positive += [False] * (len(moves) - len(shapes))
            positive += [bool(v > 0.0) for v in part.unknowns[len(part.unknowns) - len(shapes) :]]
    bounds = len(names) - len(parameters)
    values = model.unknowns[places]
    chosen = np.array(positive, dtype=bool)
    coordinates = np.where(chosen, np.log(np.where(chosen, values, 1.0)), values)
    return Unknowns(
        tuple(names),
        values,
        np.array([*lower, *[-np.inf] * bounds]),
        np.array([*upper, *[np.inf] * bounds]),
        chosen,
        coordinates,
        _prior(model, moving, places, chosen),
        _first_precision(model, moving, chosen),
    )


def _shapes(part: Part) -> list[str]:
    return list(part.shapes) if isinstance(part, Terms) else []


def _first_precision(model: Model, moving: Sequence[Array], positive: Array) -> Array:
    """Precision before any record: positive unknowns within a factor of e; network weights around 0."""
    precision = np.diag(positive.astype(np.float64))
    start = len(model.physics.learned)
    for part, moves in zip(model.parts, moving, strict=True):
        own = slice(start, start + len(moves))
        start = own.stop
        if isinstance(part, KernelNetwork) and len(moves):
            precision[own, own] = part.prior_precision()
        elif isinstance(part, MLP) and len(moves):
            precision[own, own] = np.eye(len(moves)) / (np.mean(part.unknowns[moves] ** 2) + 1e-12)
    return precision


def _prior(model: Model, moving: Sequence[Array], places: Array, positive: Array) -> Array:
    """Precision: positive unknowns within a factor of e; network weights near the windows' posterior, widened."""
    precision = np.diag(positive.astype(np.float64))
    start = len(model.physics.learned)
    for part, moves in zip(model.parts, moving, strict=True):
        own = slice(start, start + len(moves))
        start = own.stop
        if isinstance(part, Terms) or not len(moves):
            continue
        everything = places[own]
        if isinstance(part, KernelNetwork) and model.covariance is not None:
            covariance = LOOSE * model.covariance[np.ix_(everything, everything)]
            size = float(np.trace(covariance)) / len(covariance)
            precision[own, own] = np.linalg.inv(covariance + 1e-9 * size * np.eye(len(covariance)))
        else:
            precision[own, own] = LOOSE * np.eye(len(everything)) / (np.mean(part.unknowns[moves] ** 2) + 1e-12)
    return precision
