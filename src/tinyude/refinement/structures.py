"""Model structures that refinement compares, from the simplest to the richest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tinyude.model.model import Model
from tinyude.model.parts import Terms
from tinyude.physics import Physics
from tinyude.refinement.choose import WHOLE
from tinyude.refinement.hybrid import Hybrid, fixed_field, hybrid, without_parts
from tinyude.refinement.unknowns import empty_unknowns

FIXED = ("known", *WHOLE)  # candidates of which nothing is refined


def hybrids_of(model: Model, given: Physics, windows: bool = True) -> dict[str, Hybrid]:
    """Known physics as given, with learned parameters, + terms, + network, and the windows' model as it is.

    windows: whether the model is theirs.
    """
    bare = without_parts(model)
    made = {"known": replace(bare, physics=given)}
    if model.physics.learned:
        made["parameters"] = bare
    if model.coefficients.any():
        made["terms"] = without_parts(model, terms=True)
    if any(not isinstance(part, Terms) for part in model.parts):
        made["network"] = model
    if windows and (model.parts or model.physics != given):
        made["windows"] = model
    return {name: as_it_is(m) if name in FIXED else hybrid(m) for name, m in made.items()}


def as_it_is(model: Model) -> Hybrid:
    """A model with nothing to move."""
    return Hybrid(model, fixed_field(model), empty_unknowns(), np.zeros(0, dtype=int))
