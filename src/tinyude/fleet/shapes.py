"""The number inside a term that all machines share, such as the 20 of tanh(20*omega).

The fit of each machine found a value of its own, together with other terms, whose errors it compensated. An error of
1 % in it changes coefficients by two standard errors. Here it is a parameter in addition to the chosen terms: it is
fitted by refinement in each examined machine, and all machines use the mean, weighted by the errors.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import sympy as sp

from tinyude.fleet.cluster import results
from tinyude.fleet.evidence import PARAMETER, coefficient_rows
from tinyude.fleet.paths import Unit
from tinyude.fleet.population import population
from tinyude.fleet.work import Recipe, local_logs, read_stream
from tinyude.physics import Parameter, Physics
from tinyude.physics.library import given_terms, term_text

ENOUGH = 3  # machines that must determine a number
DIGITS = 4


def term_form(term: sp.Expr) -> tuple[sp.Expr, list[float]]:
    """A term with symbols in place of its decimal numbers, and these numbers."""
    numbers = list(dict.fromkeys(part for part in sp.preorder_traversal(term) if isinstance(part, sp.Float)))
    return term.xreplace({number: _symbol(i) for i, number in enumerate(numbers)}), [float(n) for n in numbers]


def form_text(form: sp.Expr, numbers: Sequence[float], digits: int) -> str:
    """A form with numbers in it as text."""
    return term_text(form.xreplace({_symbol(i): sp.Float(f"{value:.{digits}g}") for i, value in enumerate(numbers)}))


def with_fitted_numbers(
    client: Any, looked_at: Sequence[tuple[Unit, Mapping[str, float]]], recipe: Recipe, state: int, term: str
) -> str:
    """A term with the numbers that fit the examined machines best; unchanged if too few machines determine them.

    Parameters
    ----------
    client, recipe
        Where and how machines are fitted.
    looked_at
        Units, each with the terms of this state and their coefficients to start from.
    state
        Number of the residual state.
    term
        One of these terms, with decimal numbers in it.
    """
    form, numbers = term_form(given_terms(recipe.rig.physics, [term])[0])
    work = partial(fitted_numbers, recipe=recipe, state=state, term=term)
    found = [rows for _, rows, _ in results(client, work, looked_at, "shape") if rows]
    if len(found) < ENOUGH:
        return term
    values, errors = np.array(found).transpose(2, 0, 1)  # (machines, numbers) each
    means = [population(values[:, i], errors[:, i]).mean for i in range(len(numbers))]
    return form_text(form, means, DIGITS)


def fitted_numbers(
    looked_at: tuple[Unit, Mapping[str, float]], recipe: Recipe, state: int, term: str
) -> list[tuple[float, float]] | None:
    """The numbers of a term with their errors, fitted to one unit; None where that cannot be done."""
    unit, start = looked_at
    try:
        free = freed(recipe.rig.physics, state, start, term)
        rig = replace(recipe.rig, physics=free)
        estimator = replace(recipe, rig=rig, terms=()).estimator().set_params(library=[])
        with local_logs(unit) as paths, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a fit that is not kept
            ude = estimator.fit(read_stream(paths, recipe.rig))
    except Exception:  # the unit's row has the error
        return None
    rows = {row["term"]: row for row in coefficient_rows(ude) if row["kind"] == PARAMETER}
    values = [(row["coefficient"], row["error"]) for name, row in rows.items() if name.startswith(_NUMBER)]
    return values if values and np.all(np.isfinite(values)) and all(error > 0.0 for _, error in values) else None


def freed(physics: Physics, state: int, start: Mapping[str, float], term: str) -> Physics:
    """The physics with these terms added to one state's rate; coefficients and the numbers of one term are learned."""
    parameters = dict(physics.parameters)
    pieces = []
    for place, (text, value) in enumerate(start.items()):
        name = f"{_COEFFICIENT}{place}"
        parameters[name] = Parameter(value, learn=True)
        if text == term:
            form, numbers = term_form(given_terms(physics, [text])[0])
            parameters |= {_symbol(i).name: Parameter(number, learn=True) for i, number in enumerate(numbers)}
            text = term_text(form)
        pieces.append(f"{name}*({text})")
    rates = list(physics.texts)
    rates[state] = " + ".join([f"({rates[state]})", *pieces])
    return Physics(physics.states, rates, physics.inputs, parameters, physics.angles)


_NUMBER, _COEFFICIENT = "shared_number_", "own_coefficient_"


def _symbol(number: int) -> sp.Symbol:
    return sp.Symbol(f"{_NUMBER}{number}", real=True)
