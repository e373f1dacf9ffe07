"""The same learner in both engines: the compiled core in float64 and its twin in NumPy."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import sympy as sp

from tinyude import native
from tinyude.physics import Physics
from tinyude.reference.config import Config
from tinyude.reference.start import StartModel
from tinyude.training.engines import ReferenceLearner
from tinyude.training.known import known_functions, known_programs

State = dict[str, Any]
needs_core = pytest.mark.skipif(not native.available(), reason="the core is not compiled")


def both_engines(
    config: Config, physics: Physics, terms: Sequence[sp.Expr]
) -> tuple[native.NativeLearner, ReferenceLearner]:
    core = native.NativeLearner(config, known_programs(physics, terms, config.on), "float64")
    return core, ReferenceLearner(config, known_functions(physics, terms, config.on))


def states_after(
    rows: np.ndarray, config: Config, physics: Physics, terms: Sequence[sp.Expr], start: StartModel | None = None
) -> tuple[State, State]:
    """What the core and its twin hold after these rows, from nothing or from a model."""
    core, reference = both_engines(config, physics, terms)
    for learner in (core, reference):
        if start is not None:
            learner.start(start)
        learner.push(rows)
    return core.state(), reference.state()
