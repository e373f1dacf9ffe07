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

FIXED = ("known", *WHOLE)  # candidates that are not refined

VANISHED = 0.01  # of the user's value


def hybrids_of(model: Model, given: Physics, windows: bool = True) -> dict[str, Hybrid]:
    """Known physics as given, with learned parameters, + terms, + network, and the windows' model unchanged.

    windows: whether the model comes from windows.
    """
    start = replace(model, physics=_revived(model.physics, given))
    bare = without_parts(start)
    made = {"known": replace(bare, physics=given.stated)}
    if bare.physics.learned:
        made["parameters"] = bare
    if model.coefficients.any() or model.physics.input_terms:
        made["terms"] = without_parts(start, terms=True)
    if any(not isinstance(part, Terms) for part in model.parts):
        made["network"] = start
    if windows and (model.parts or model.physics != given):
        made["windows"] = model
    return {name: as_it_is(m) if name in FIXED else hybrid(m) for name, m in made.items()}


def _revived(physics: Physics, given: Physics) -> Physics:
    """Positive parameters that vanished in the window fit, reset to the user's value.

    They move in their logarithm, which hardly changes the model near 0: refinement could not recover them.
    """
    guesses = {name: given.parameters[name].value for name in physics.learned}
    gone = {name: guess for name, guess in guesses.items() if 0.0 <= physics.parameters[name].value < VANISHED * guess}
    return physics.with_parameters(gone) if gone else physics


def as_it_is(model: Model) -> Hybrid:
    """A model with nothing to move."""
    return Hybrid(model, fixed_field(model), empty_unknowns(), np.zeros(0, dtype=int))
