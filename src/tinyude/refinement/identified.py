"""Parameters that the record does not identify stay at the user's value while the others are fitted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.model.model import Model
from tinyude.physics import Physics
from tinyude.refinement.estimate import Estimate, Setup, solve_with_noise
from tinyude.refinement.hybrid import Hybrid
from tinyude.refinement.uncertainty import covariance_of
from tinyude.refinement.unknowns import Unknowns

Array = NDArray[Any]
UNSURE = 0.6  # relative standard error of a direction; under the prior of positive parameters alone it is 1
MOVED = 2.0  # standard errors from the user's value
FIRM = 1e30  # larger than any record's precision: a kept parameter does not move with the others
ROUNDS = 2
SAME = 1e-3  # relative change of a value that did not move: the others need no new fit


def identified(
    setup: Setup, own: Hybrid, result: Estimate, model: Model, given: Physics, worse: Callable[[Estimate], bool]
) -> tuple[Model, Estimate]:
    """The model with its covariance; parameters that are not identified return to the user's value.

    One by one, the largest relative error first: with one fixed, the others may be identified. They are fitted again,
    unless it stands at the user's value already, and none returns if that makes the model worse: a further fit of an
    incomplete model may end elsewhere.

    Parameters
    ----------
    worse : callable
        Whether a new fit predicts held-back runs clearly worse than the present one.
    """
    kept: list[int] = []
    now, final = result, covariance_of(setup, own, result, model)
    while (place := _least_sure(final, given, kept)) is not None:
        before, value = now.unknowns.values[place], _value(given, final, place)
        fitted = replace(now, solution=replace(now.solution, unknowns=_kept(now.unknowns, place, value)))
        if abs(before - value) > SAME * abs(value):
            fitted = solve_with_noise(setup, fitted, ROUNDS)
        if not np.isfinite(fitted.solution.passed.cost) or worse(fitted):
            break
        kept.append(place)
        now = fitted
        final = _without_errors(covariance_of(setup, own, now, own.moved(now.unknowns.values)), kept)
    return final, now


def _value(given: Physics, model: Model, place: int) -> float:
    """As the user gave it; 0 for a force that the search added."""
    name = model.physics.learned[place]
    return given.parameters[name].value if name in given.parameters else 0.0


def _least_sure(model: Model, given: Physics, kept: list[int]) -> int | None:
    """The place of a parameter to keep, if some direction of the parameters is not identified.

    The errors of several parameters of which only a product is determined are smaller than that of the direction in
    which they may move together. Not identified: that is hardly more precise than the prior, and the parameter with
    the largest share of it did not move away from the user's value. Where that is 0 there is nothing to compare an
    error with: then only a parameter without any information counts.
    """
    places, sizes = [], []
    for k, (name, error) in enumerate(zip(model.physics.learned, model.parameter_errors, strict=True)):
        own, value = model.physics.parameters[name], _value(given, model, k)
        known = bool(np.isfinite(error) and error > 0.0)
        if k not in kept and not known:
            return k
        positive = own.min >= 0.0 and own.value > 0.0 and value > 0.0
        size, apart = (own.value, own.value * np.log(own.value / value)) if positive else (value, own.value - value)
        if k not in kept and size and abs(apart) <= MOVED * error:
            places.append(k)
            sizes.append(size)
    if not places:
        return None
    relative = _covariance(model)[np.ix_(places, places)] / np.outer(sizes, sizes)
    variances, directions = np.linalg.eigh(relative)
    return places[int(np.argmax(np.abs(directions[:, -1])))] if variances[-1] > UNSURE**2 else None


def _covariance(model: Model) -> Array:
    """Of the learned parameters."""
    count = len(model.physics.learned)
    return np.diag(model.parameter_errors**2) if model.covariance is None else model.covariance[:count, :count]


def _kept(unknowns: Unknowns, place: int, value: float) -> Unknowns:
    """The unknowns with one of them fixed at a value."""
    values, lower, upper = unknowns.values.copy(), unknowns.lower.copy(), unknowns.upper.copy()
    mean, precisions = unknowns.prior_mean.copy(), [unknowns.prior_precision.copy(), unknowns.first_precision.copy()]
    values[place] = lower[place] = upper[place] = value
    mean[place] = np.log(value) if unknowns.positive[place] else value
    for precision in precisions:
        precision[place], precision[:, place] = 0.0, 0.0
        precision[place, place] = FIRM
    return Unknowns(unknowns.names, values, lower, upper, unknowns.positive, mean, *precisions)


def _without_errors(model: Model, kept: list[int]) -> Model:
    """Kept parameters count as exact: they were not estimated."""
    errors = model.parameter_errors.copy()
    errors[kept] = 0.0
    if model.covariance is None:
        return replace(model, parameter_errors=errors)
    covariance = model.covariance.copy()
    covariance[kept], covariance[:, kept] = 0.0, 0.0
    return replace(model, parameter_errors=errors, covariance=covariance)
