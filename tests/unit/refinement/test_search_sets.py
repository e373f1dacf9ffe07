"""Sets of terms on the filter's sums."""

import numpy as np

from tinyude.refinement.search import _best_sets


def test_best_set_swaps_a_term_that_stood_for_two() -> None:
    """The sum of two columns is the best single one; beside a second it is not."""
    rng = np.random.default_rng(0)
    a, b, other = rng.standard_normal((3, 400))
    design = np.column_stack([np.ones(400), a, b, a + b + 0.3 * rng.standard_normal(400), other])
    target = 2.0 + a + b
    alone = [_left(design[:, [0, k]], target) for k in range(1, 5)]
    assert int(np.argmin(alone)) == 2
    values = np.array([0.0, 0.0, 0.0, 0.9, 0.0])
    left = target - design @ values
    chosen = _best_sets(design.T @ design, design.T @ left, values, np.arange(1, 5), 2)
    assert chosen[0].tolist() == [True, True, True, False, False]


def test_best_set_takes_nothing_that_is_not_new() -> None:
    a = np.random.default_rng(1).standard_normal(100)
    design = np.column_stack([a, 2.0 * a])
    assert not _best_sets(design.T @ design, design.T @ a, np.array([1.0, 0.0]), np.arange(2), 3)


def test_best_sets_are_several_ways_the_best_first() -> None:
    rng = np.random.default_rng(2)
    design = rng.standard_normal((400, 4))
    target = design @ [0.1, 3.0, 2.0, 1.0]
    sets = _best_sets(design.T @ design, design.T @ target, np.zeros(4), np.arange(4), 3)
    assert [np.flatnonzero(chosen).tolist() for chosen in sets] == [[1], [2], [3]]


def _left(columns: np.ndarray, target: np.ndarray) -> float:
    return float(np.sum((target - columns @ np.linalg.lstsq(columns, target, rcond=None)[0]) ** 2))
