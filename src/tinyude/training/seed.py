"""The seed of a learner, from any random_state that scikit-learn accepts."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from tinyude.errors import TinyUDEError


def check_random_state(random_state: Any) -> None:
    """Raise if it is not a valid random_state."""
    if random_state is None or isinstance(random_state, np.random.RandomState | np.random.Generator):
        return
    if isinstance(random_state, Integral) and not isinstance(random_state, bool) and 0 <= int(random_state) < 2**64:
        return
    raise TinyUDEError(
        f"random_state is {random_state!r}; give a whole number from 0 to 2**64 - 1, None, a RandomState or a "
        "Generator of NumPy."
    )


def seed_of(random_state: Any) -> int:
    """A whole number unchanged; None: a new one; a generator is drawn from, so that two fits with it differ."""
    check_random_state(random_state)
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    return int(random_state)
