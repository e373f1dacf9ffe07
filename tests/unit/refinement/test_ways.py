"""Of several fits of the same unknowns the likeliest is kept, unless another simulates clearly better."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tinyude.refinement import incomplete
from tinyude.refinement.incomplete import Incomplete

LIKELIEST = np.array([0.062, 0.060, 0.066, 0.058])


@pytest.mark.parametrize(
    ("simulated", "refuted", "kept"),
    [
        (LIKELIEST * [0.8, 1.1, 1.05, 0.9], (), 0),  # within a standard error
        (LIKELIEST * [0.5, 0.6, 0.4, 0.5], (), 1),
        (LIKELIEST * [0.5, 0.6, 0.4, 0.5], (1,), 0),  # one step ahead worse than the known physics
        (LIKELIEST * [0.8, 1.1, 1.05, 0.9], (0,), 1),
        (LIKELIEST * [0.5, 0.6, 0.4, 0.5], (0, 1), 1),
    ],
)
def test_best_way(simulated: np.ndarray, refuted: tuple[int, ...], kept: int, monkeypatch: pytest.MonkeyPatch) -> None:
    scores = (LIKELIEST, simulated)
    monkeypatch.setattr(incomplete, "free_run_errors", lambda _, way, __: scores[way])
    monkeypatch.setattr(incomplete, "contradicted", lambda _, way, __, ___: way in refuted)
    nothing: Any = SimpleNamespace(batch=None)
    search = Incomplete(nothing, nothing, nothing, (), nothing)
    assert search._best([0, 1], 0.0) == kept  # type: ignore[list-item, comparison-overlap]
