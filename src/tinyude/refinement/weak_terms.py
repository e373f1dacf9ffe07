"""A candidate without the terms that the windows found and refinement does not confirm."""

from __future__ import annotations

from collections.abc import Sequence
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

    They follow from the information, without a pass; the others are refined again, and tested again while
    the work lasts. At least one term stays.
    seen: the share of the record's rows that the estimate used.
    """
    like, began = found, own
    while (weak := _weak(own, found, seen))[0]:
        own = hybrid(_without(own.moved(weak[1]), weak[0]))
        found = estimate_on(setup, own.field, own.unknowns, like, search=False)
        if not np.isfinite(found.solution.passed.cost):
            return None
        if setup.spent():
            break
    return None if own is began else (own, found)


def _weak(own: Hybrid, found: Estimate, seen: float) -> tuple[list[tuple[int, int]], Array]:
    """Row and column of every coefficient not worth its price over the whole record, and all values without them.

    One by one, the least significant first: without it the others may be significant. The cost is a quadratic
    form in the unknowns.
    """
    places = [(int(row), int(column)) for row, column in np.argwhere(own.model.coefficients != 0.0)]
    first = len(own.model.physics.learned)
    left = list(range(first, first + len(places)))
    values, covariance = found.unknowns.values.copy(), information_covariance(found)
    price = np.log(found.batch.rows / seen) * seen
    out: list[tuple[int, int]] = []
    while len(left) > 1:
        sure = [values[k] ** 2 / max(covariance[k, k], 1e-300) for k in left]
        if min(sure) >= price:
            break
        k = left.pop(int(np.argmin(sure)))
        gain = covariance[:, k] / max(covariance[k, k], 1e-300)
        values, covariance = values - values[k] * gain, covariance - np.outer(gain, covariance[k])
        out.append(places[k - first])
    values = np.where(found.unknowns.positive & (values <= 0.0), found.unknowns.values, values)
    return out, np.clip(values, found.unknowns.lower, found.unknowns.upper)  # the quadratic form knows no bounds


def _without(model: Model, places: Sequence[tuple[int, int]]) -> Model:
    """The model without these coefficients, and without shapes that no other term has."""
    kept = model.coefficients.copy()
    for place in places:
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
