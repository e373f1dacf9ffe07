"""What the record cannot distinguish: collinear learned terms, and terms that can replace a learned parameter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tinyude.model.model import Model
from tinyude.model.windows import Windows
from tinyude.model.wrong_physics import remainder
from tinyude.physics.written import written_text

REPLACED = 0.05  # of a rate: what a parameter adds to it that the learned terms beside it cannot replace
INFLATED = 100.0  # variance inflation factor: a coefficient's error is ten times that without the others


def collinear_terms(model: Model, seen: Windows) -> dict[str, dict[str, Any]]:
    """By state: the terms with a large variance inflation, and the signals that they depend on."""
    if len(seen) <= len(model.terms) or not model.coefficients.size:
        return {}
    values = model.term_values(seen.x, seen.u if model.physics.n_inputs else None)
    size = np.linalg.norm(values, axis=0)
    unit = values / np.where(size > 0.0, size, 1.0)
    found = {}
    for row, state in enumerate(model.on):
        kept = np.flatnonzero(model.coefficients[row])
        inflation = np.diag(np.linalg.pinv(unit[:, kept].T @ unit[:, kept], hermitian=True))
        shared = [model.terms[column] for column in kept[inflation > INFLATED]]
        if len(shared) > 1:
            used = {symbol.name for term in shared for symbol in term.free_symbols}
            names = [name for name in (*model.physics.states, *model.physics.inputs) if name in used]
            found[model.physics.states[state]] = {"terms": [str(term) for term in shared], "of": names}
    return found


def replaced_parameters(model: Model, seen: Windows) -> dict[str, list[str]]:
    """Learned parameters whose effect on the rates the learned terms beside them can replace, with those terms.

    Another value then predicts alike with other coefficients: the interval holds for these terms only.
    """
    physics, found = model.physics, {}
    added = {name for term in physics.input_terms for name in term.names}
    if not physics.learned or not len(model.terms) or len(seen) <= len(model.terms):
        return {}
    slopes = physics.parameter_jacobian(seen.node_x, seen.inputs)
    terms = model.term_values(seen.node_x, seen.inputs)
    for place, name in enumerate(physics.learned):
        rest, beside = 0.0, []
        for row, state in enumerate(model.on if name not in added else ()):
            scale = np.sqrt(seen.weight[:, state]) / max(float(seen.rms(seen.dx)[state]), 1e-300)
            effect = scale * seen.seen(slopes[:, state, [place]], state)[:, 0]
            if not np.any(effect):
                continue
            kept = np.flatnonzero(model.coefficients[row])
            columns = scale[:, None] * seen.seen(terms[:, kept], state)
            rest += remainder(columns, effect) ** 2 / len(seen)
            beside += [f"{written_text(str(model.terms[k]))} in d({physics.states[state]})/dt" for k in kept]
        if beside and abs(physics.parameters[name].value) * np.sqrt(rest) < REPLACED:
            found[name] = beside
    return found


def is_collinear(diagnostics: Mapping[str, Any], entry: Mapping[str, Any]) -> bool:
    """Whether a learned term is one of the collinear ones."""
    return entry["term"] in diagnostics.get("collinear", {}).get(entry["state"], {}).get("terms", ())
