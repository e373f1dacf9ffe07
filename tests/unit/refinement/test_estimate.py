"""Estimates over other stretches than their own."""

from typing import Any

import numpy as np
import pytest

from tinyude.refinement import estimate
from tinyude.refinement.filter import Passed
from tinyude.refinement.gauss_newton import Solution


def test_polished_keeps_the_estimate_where_the_new_stretches_diverge(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else its innovations would be those of other rows than its batch."""
    nothing: Any = None
    found = estimate.Estimate(nothing, Solution(nothing, Passed(*[np.zeros(1)] * 10), 1, True), *[nothing] * 5)
    monkeypatch.setattr(estimate, "batch_of", lambda stretches: "other rows")
    monkeypatch.setattr(estimate, "with_starts", lambda stretches, sensing: stretches)
    monkeypatch.setattr(estimate, "settled", lambda setup, now, rounds: now)  # as where no step is finite
    setup: Any = type("Setup", (), {"sensing": None})
    assert estimate.polished(setup, found, []) is found
