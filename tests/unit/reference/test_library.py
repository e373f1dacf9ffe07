import numpy as np
import pytest

from tinyude.reference.regression.library import (
    MEMORY,
    Library,
    library_add,
    library_clear,
    library_end_block,
    library_init,
    library_solve,
    library_weigh,
)

GROUPS, BLOCK, THRESHOLD = 16, 50, 4.5


def fill(library: Library, weights: np.ndarray, noise: float, rng: np.random.Generator, blocks: int = 64) -> None:
    """Blocks of windows with random design rows."""
    for _ in range(blocks):
        for error in noise * rng.standard_normal(BLOCK):
            design = rng.standard_normal((1, len(weights)))
            library_add(library, design, design @ weights + error)
        library_end_block(library)


@pytest.mark.parametrize("noise", [0.01, 1.0])
@pytest.mark.parametrize("right", [0, 7, 19])
def test_library_solve_picks_the_one_right_term_out_of_many(right: int, noise: float) -> None:
    weights = np.zeros(20)
    weights[right] = -0.4
    library = library_init(GROUPS, 20)
    fill(library, weights, noise, np.random.default_rng(100 + right))
    assert library_solve(library, 0, THRESHOLD)
    assert list(np.flatnonzero(library.coefficients)) == [right]
    assert library.coefficients[right] == pytest.approx(-0.4, abs=4.0 * noise / np.sqrt(64 * BLOCK))


def test_library_solve_finds_nothing_in_noise() -> None:
    found = 0
    for seed in range(10):
        library = library_init(GROUPS, 20)
        fill(library, np.zeros(20), 1.0, np.random.default_rng(seed), blocks=32)
        library_solve(library, 0, THRESHOLD)
        found += np.count_nonzero(library.coefficients)
    assert found <= 1


def test_library_solve_keeps_several_terms_and_prunes_a_stand_in() -> None:
    """A column that resembles the sum of two right ones is chosen first and dropped once they are in."""
    rng = np.random.default_rng(0)
    library = library_init(GROUPS, 3)
    for _ in range(64):
        for _ in range(BLOCK):
            a, b = rng.standard_normal(2)
            stand_in = a + b + 0.5 * rng.standard_normal()
            library_add(library, np.array([[stand_in, a, b]]), np.array([a + b + 0.1 * rng.standard_normal()]))
        library_end_block(library)
    library_solve(library, 0, THRESHOLD)
    assert list(np.flatnonzero(library.coefficients)) == [1, 2]
    np.testing.assert_allclose(library.coefficients[1:], 1.0, atol=0.02)


@pytest.mark.parametrize("overlap", [1, 10])
def test_library_errors_are_calibrated(overlap: int) -> None:
    """The truth lies within 1.75 jackknife errors (90 %, 15 degrees of freedom) nearly as often as it should."""
    inside, trials = 0, 60
    for seed in range(trials):
        library = library_init(GROUPS, 1)
        rng = np.random.default_rng(seed)
        for _ in range(32):
            slow = np.repeat(rng.standard_normal(40 // overlap), overlap)
            errors = np.repeat(rng.standard_normal(40 // overlap), overlap)
            for x, error in zip(slow, errors, strict=True):
                library_add(library, np.array([[x]]), np.array([2.0 * x + error]))
            library_end_block(library)
        library_solve(library, 1, THRESHOLD)
        inside += abs(library.coefficients[0] - 2.0) < 1.753 * library.errors[0]
    assert 0.80 <= inside / trials <= 0.98


def test_library_solve_keeps_forced_columns_and_counts_those_it_cannot_tell_apart() -> None:
    rng = np.random.default_rng(1)
    library = library_init(GROUPS, 3)
    for _ in range(32):
        for _ in range(20):
            a, b = rng.standard_normal(2)
            library_add(library, np.array([[a, 2.0 * a, b]]), np.array([0.1 * rng.standard_normal()]))
        library_end_block(library)
    assert library_solve(library, 3, THRESHOLD)
    assert library.deficient == 1
    assert library.errors[0] > 0.0 and library.errors[1] == 0.0 and library.errors[2] > 0.0


@pytest.mark.parametrize(("share", "chosen"), [(3e-8, True), (3e-9, False)])
def test_library_solve_chooses_no_term_below_a_hundred_millionth_of_the_target(share: float, chosen: bool) -> None:
    """Exact data, so that the jackknife error of the small term is far below it."""
    rng = np.random.default_rng(0)
    library = library_init(GROUPS, 2)
    fill(library, np.array([1.0, np.sqrt(share)]), 0.0, rng)
    library_solve(library, 0, THRESHOLD)
    assert library.coefficients[0] == pytest.approx(1.0, abs=1e-3) and bool(library.coefficients[1]) == chosen


def test_library_solve_waits_for_enough_groups() -> None:
    library = library_init(GROUPS, 2)
    fill(library, np.ones(2), 0.1, np.random.default_rng(0), blocks=5)
    assert not library_solve(library, 0, THRESHOLD)
    assert not library.coefficients.any() and not library.solved


def test_library_solve_survives_collinear_columns_and_silent_ones() -> None:
    rng = np.random.default_rng(2)
    library = library_init(GROUPS, 4)
    for _ in range(32):
        for _ in range(20):
            a = rng.standard_normal()
            row = np.array([[a, a, 0.0, 1e-9 * a]])
            library_add(library, row, np.array([a + 0.1 * rng.standard_normal()]))
        library_end_block(library)
    library_solve(library, 0, THRESHOLD)
    assert np.all(np.isfinite(library.coefficients)) and np.all(np.isfinite(library.errors))
    assert np.count_nonzero(library.coefficients) == 1


def test_library_clear_forgets_data_but_not_the_model() -> None:
    rng = np.random.default_rng(0)
    library = library_init(GROUPS, 1)
    fill(library, np.array([-0.4]), 0.1, rng)
    library_solve(library, 0, THRESHOLD)
    kept = library.coefficients.copy()
    library_clear(library)
    np.testing.assert_array_equal(library.coefficients, kept)
    fill(library, np.array([-0.8]), 0.1, rng)
    library_solve(library, 0, THRESHOLD)
    assert library.coefficients[0] == pytest.approx(-0.8, abs=0.01)


def test_library_weigh_gives_windows_before_and_after_a_change_of_noise_their_weight() -> None:
    """The coefficient is that of weighted least squares over both stretches, noise variances 1 and 25."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(64 * BLOCK)
    sigma = np.repeat([0.1, 0.5], len(x) // 2)
    y = -0.4 * x + sigma * rng.standard_normal(len(x))
    library = library_init(GROUPS, 1)
    for k, (a, b) in enumerate(zip(x, y, strict=True)):
        if k == len(x) // 2:
            library_weigh(library, 25.0)
        library_add(library, np.array([[a]]), np.array([b]))
        if (k + 1) % BLOCK == 0:
            library_end_block(library)
    library_solve(library, 0, THRESHOLD)
    assert library.coefficients[0] == pytest.approx(np.sum(x * y / sigma**2) / np.sum(x * x / sigma**2), rel=1e-12)


def test_library_weigh_holds_no_more_windows_than_the_memory() -> None:
    library = library_init(GROUPS, 1)
    fill(library, np.array([-0.4]), 0.1, np.random.default_rng(0))
    before, held = library.sums.copy(), library.held
    library_weigh(library, 1e12)
    assert library.held == MEMORY
    np.testing.assert_allclose(library.sums, before * (MEMORY / held))
