"""The seed of a learner, from whatever scikit-learn takes as random_state."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from tinyude.errors import TinyUDEError


def seed_of(random_state: Any) -> int:
    """A whole number as it is; None: a new one; a generator is drawn from, so that two fits with it differ."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    if isinstance(random_state, Integral) and not isinstance(random_state, bool) and 0 <= int(random_state) < 2**64:
        return int(random_state)
    raise TinyUDEError(
        f"random_state is {random_state!r}; give a whole number from 0, None, a RandomState or a Generator of NumPy."
    )
