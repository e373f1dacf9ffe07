import numpy as np
import pytest

from tinyude.reference.signal.repair import OUTLIER, REACH, repair_init, repair_push

SIGMA = np.array([0.01, 0.05])


def wave(count: int = 200) -> np.ndarray:
    t = np.arange(count) * 1e-3
    return np.stack([np.sin(9.0 * t), 9.0 * np.cos(9.0 * t)], axis=1)


def repaired(samples: np.ndarray, sigma: np.ndarray | None = SIGMA) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What comes out REACH ticks later, which were filled, which replaced."""
    repair = repair_init(samples.shape[1])
    out = [repair_push(repair, row, sigma) for row in samples]
    assert all(entry is None for entry in out[:REACH]) and all(entry is not None for entry in out[REACH:])
    rows, filled, replaced = zip(*[entry for entry in out if entry is not None], strict=True)
    return np.array(rows), np.array(filled), np.array(replaced)


def noisy() -> np.ndarray:
    return wave() + SIGMA * np.random.default_rng(0).standard_normal((200, 2))


def test_repair_push_leaves_clean_data_alone() -> None:
    samples = noisy()
    rows, filled, replaced = repaired(samples)
    np.testing.assert_array_equal(rows, samples[:-REACH])
    assert not filled.any() and not replaced.any()


def test_repair_push_does_not_change_what_it_was_given() -> None:
    samples = noisy()
    samples[50, 0] = np.nan
    given = samples.copy()
    repaired(samples)
    np.testing.assert_array_equal(samples, given)


def test_repair_push_fills_a_lone_dropout() -> None:
    samples = noisy()
    samples[50, 0] = np.nan
    samples[120] = np.inf
    rows, filled, replaced = repaired(samples)
    assert filled[50].tolist() == [True, False] and filled[120].all() and filled.sum() == 3
    assert not replaced.any()
    assert np.all(np.abs(rows - wave()[:-REACH]) < 5.0 * SIGMA)


def test_repair_push_fills_before_the_noise_is_known_but_replaces_nothing() -> None:
    samples = noisy()
    samples[50, 0], samples[80, 0] = np.nan, 30.0
    rows, filled, replaced = repaired(samples, None)
    assert filled.sum() == 1 and not replaced.any()
    assert rows[80, 0] == 30.0


@pytest.mark.parametrize("size", [20.0, -20.0, 1e6])
def test_repair_push_replaces_a_lone_outlier(size: float) -> None:
    samples = noisy()
    samples[50, 1] += size * SIGMA[1]
    rows, _, replaced = repaired(samples)
    assert replaced[50, 1] and replaced.sum() == 1
    assert abs(rows[50, 1] - wave()[50, 1]) < 5.0 * SIGMA[1]
    np.testing.assert_array_equal(np.delete(rows, 50, axis=0), np.delete(samples[:-REACH], 50, axis=0))


def test_repair_push_keeps_what_noise_may_do() -> None:
    samples = wave()
    samples[50, 1] += 0.9 * OUTLIER * SIGMA[1]
    assert not repaired(samples)[2].any()


def test_repair_push_leaves_a_long_outage_non_finite() -> None:
    samples = noisy()
    samples[50:80] = np.nan
    rows, filled, _ = repaired(samples)
    assert np.all(np.isnan(rows[54:76]))
    assert not filled[54:76].any()
    np.testing.assert_array_equal(rows[80:], samples[80:-REACH])


def test_repair_push_never_replaces_inputs() -> None:
    """Columns beyond the sensors are commands: a lone spike in them is real."""
    samples = np.column_stack([noisy(), np.zeros(200)])
    samples[50, 2] = 1e3
    rows, _, replaced = repaired(samples)
    assert rows[50, 2] == 1e3 and not replaced.any()


def test_repair_push_survives_a_bad_first_sample() -> None:
    samples = noisy()
    samples[0] = np.nan
    rows, filled, _ = repaired(samples)
    assert np.all(np.isnan(rows[0])) and not filled[0].any()
    np.testing.assert_array_equal(rows[1:], samples[1:-REACH])


@pytest.mark.parametrize("size", [30.0, 300.0])
def test_repair_push_smears_a_jump_by_a_few_ticks_at_most(size: float) -> None:
    """A step is no lone outlier: on both sides of it the data must stay as they are."""
    samples = noisy()
    samples[100:, 1] += size * SIGMA[1]
    rows, _, _ = repaired(samples)
    touched = np.flatnonzero((rows != samples[:-REACH]).any(axis=1))
    assert np.all((touched >= 100 - REACH) & (touched < 100 + 3 * REACH))


def test_repair_push_leaves_a_level_shift_alone() -> None:
    """A kick shifts the rate permanently; its samples are no outliers."""
    samples = noisy()
    samples[100:, 1] += 3.0
    rows, _, replaced = repaired(samples)
    assert not replaced.any()
    np.testing.assert_array_equal(rows, samples[:-REACH])


@pytest.mark.parametrize(("distance", "replaced"), [(4.3, True), (4.1, False)])
def test_repair_push_asks_an_outlier_to_stand_out_from_both_neighbours(distance: float, replaced: bool) -> None:
    """By 0.6 of seven sigma: else the three are a short motion."""
    samples = np.zeros((40, 1))
    samples[20], samples[19], samples[21] = 8.0, 8.0 - distance, 8.0 - distance
    assert repaired(samples, np.ones(1))[2].any() == replaced
