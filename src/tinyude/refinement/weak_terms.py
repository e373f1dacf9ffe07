"""Terms that the windows found and refinement does not: left out, as a candidate of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.model.model import Model
from tinyude.refinement.estimate import Estimate, Setup, estimate_on
from tinyude.refinement.hybrid import Hybrid, hybrid
from tinyude.refinement.uncertainty import information_covariance

Array = NDArray[Any]


def without_weak_terms(setup: Setup, own: Hybrid, found: Estimate, seen: float) -> tuple[Hybrid, Estimate] | None:
    """The structure without terms whose squared distance from 0 is below the price of an unknown; None if all stay.

    One after the other, the weakest first: beside a term that is out the others may be sure. At least one stays.
    seen: the share of the record's rows that the estimate saw.
    """
    like, began = found, own
    while not setup.spent() and (place := _weakest(own, found, seen)) is not None:
        own = hybrid(_without(own.moved(found.unknowns.values), place))
        found = estimate_on(setup, own.field, own.unknowns, like, search=False)
        if not np.isfinite(found.solution.passed.cost):
            return None
    return None if own is began else (own, found)


def _weakest(own: Hybrid, found: Estimate, seen: float) -> tuple[int, int] | None:
    """Row and column of the least sure coefficient, if the whole record would not pay for it either."""
    places = np.argwhere(own.model.coefficients != 0.0)
    if len(places) < 2:
        return None
    first = len(own.model.physics.learned)
    coefficients = slice(first, first + len(places))
    variance = np.diag(information_covariance(found))[coefficients]
    sure = found.unknowns.values[coefficients] ** 2 / np.maximum(variance, 1e-300)
    price = np.log(found.batch.rows / seen) * seen
    k = int(np.argmin(sure))
    return (int(places[k, 0]), int(places[k, 1])) if sure[k] < price else None


def _without(model: Model, place: tuple[int, int]) -> Model:
    """The model without one coefficient, and without shapes that no other term has."""
    kept = model.coefficients.copy()
    kept[place] = 0.0
    forms = model.forms or model.terms
    used = {
        symbol.name for form, column in zip(forms, kept.T, strict=True) if column.any() for symbol in form.free_symbols
    }
    shapes = {name: value for name, value in model.shapes.items() if name in used}
    lost = {name: value for name, value in model.shapes.items() if name not in used}
    plain = tuple(
        form.xreplace({s: value for s in form.free_symbols if (value := lost.get(s.name)) is not None})
        for form in forms
    )
    errors = np.where(kept != 0.0, model.errors, 0.0)
    return replace(
        model, coefficients=kept, errors=errors, forms=plain if shapes else (), shapes=shapes, covariance=None
    )
