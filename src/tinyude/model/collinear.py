"""Learned terms that the record cannot distinguish (collinear): only their sum is determined."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tinyude.model.model import Model
from tinyude.model.windows import Windows

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


def is_collinear(diagnostics: Mapping[str, Any], entry: Mapping[str, Any]) -> bool:
    """Whether a learned term is one of the collinear ones."""
    return entry["term"] in diagnostics.get("collinear", {}).get(entry["state"], {}).get("terms", ())
