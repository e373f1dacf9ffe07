"""Held-back free runs, and thinning the record that they run over."""

import numpy as np
import pytest

from tinyude.refinement.filter import Passed
from tinyude.refinement.gating import cut_alike, cut_at_jumps, rejected_rows
from tinyude.refinement.guard import HORIZONS, FreeRun, _blinded, paired, run_error
from tinyude.refinement.stretches import Stretch, batch_of
from tinyude.refinement.thinning import reduced, thinned


def stretch(rows: int, inputs: np.ndarray | None = None) -> Stretch:
    times = np.cumsum(np.random.default_rng(0).uniform(0.5e-3, 1.5e-3, rows))
    inputs = np.zeros((rows, 0, 4)) if inputs is None else inputs
    return Stretch(times, np.sin(times)[:, None], inputs, np.zeros(2), np.zeros(2))


def test_thinned_keeps_the_moments_of_held_inputs() -> None:
    """What an input does to integrals of itself and of time must not change: mean, first and second moment."""
    held = np.zeros((101, 1, 4))
    held[:, 0, 0] = np.random.default_rng(1).standard_normal(101)
    fine = stretch(101, held)
    coarse = thinned(fine, 10)
    assert len(coarse) == 11 and np.array_equal(coarse.samples[:, 0], fine.samples[::10, 0])
    spans = np.diff(fine.times).reshape(10, 10)
    for power in range(4):
        begin = fine.times[:-1].reshape(10, 10) - coarse.times[:-1, None]
        end = begin + spans
        exact = (held[:-1, 0, 0].reshape(10, 10) * (end ** (power + 1) - begin ** (power + 1)) / (power + 1)).sum(
            axis=1
        )
        span = np.diff(coarse.times)
        found = (coarse.inputs[:-1, 0] / (np.arange(4) + power + 1)).sum(axis=1) * span ** (power + 1)
        assert found == pytest.approx(exact, rel=1e-9, abs=1e-15)


def test_thinned_leaves_a_cubic_input_as_it_was() -> None:
    times = stretch(31).times
    shape = np.polynomial.Polynomial([1.0, -200.0, 3e4, -1e6])
    spans = np.append(np.diff(times), 1e-3)
    pieces = [shape(np.polynomial.Polynomial([t, h])).coef for t, h in zip(times, spans, strict=True)]
    coarse = thinned(stretch(31, np.array(pieces)[:, None, :]), 5)
    middle = coarse.inputs[:-1, 0] @ 0.5 ** np.arange(4)
    assert middle == pytest.approx(shape((coarse.times[:-1] + coarse.times[1:]) / 2.0), rel=1e-9)


def test_reduced_thins_before_it_leaves_anything_out() -> None:
    whole = [stretch(4000), stretch(4000)]
    made = reduced(whole, 1000, longest=0.02)
    assert sum(len(s) for s in made) == pytest.approx(1000, abs=10)
    assert [s.times[-1] for s in made] == pytest.approx([s.times[-1] for s in whole], rel=0.01)
    short = reduced(whole, 1000, longest=0.002)  # intervals may not be longer: then parts are left out
    assert np.median(np.diff(short[0].times)) == pytest.approx(0.002, rel=0.2)
    assert sum(len(s) for s in short) <= 1100


def test_run_error_is_the_mean_over_horizons() -> None:
    samples = np.zeros((400, 1))
    states = 0.01 * np.ones((400, 1))
    assert run_error(states, samples, np.ones(1)) == pytest.approx(0.01)
    states[100:] = np.nan  # ran away after the first horizon: the others count as 1
    expected = (0.01 + len(HORIZONS) - 1) / len(HORIZONS)
    assert run_error(states, samples, np.ones(1)) == pytest.approx(expected)


def test_paired_compares_run_by_run() -> None:
    easy_and_hard = np.array([0.001, 0.5, 0.002, 0.3])
    mean, error = paired(easy_and_hard + 0.1, easy_and_hard)
    assert mean == pytest.approx(0.1) and error < 1e-12


def test_cut_alike_cuts_the_whole_where_a_part_was_cut() -> None:
    whole = stretch(4000)
    part = thinned(whole, 10)
    halves = [part.cut(0, 150), part.cut(150, 401)]
    made = cut_alike([whole], [part], halves)
    assert [len(s) for s in made] == [1500, 2500]
    assert [len(s) for s in cut_alike([whole], [part], [part])] == [4000]


def test_cut_at_jumps_leaves_out_the_rows_that_lean_to_the_jump() -> None:
    """A rate that jumps at row 100 shows in the angle bit by bit: beyond five standard deviations from row 106 on."""
    batch = batch_of([stretch(200)])
    innovations = np.where(np.arange(200) % 2, 0.5, -0.5)[:, None]
    innovations[100:, 0] = np.arange(100) + 0.1
    variances = np.where(np.abs(innovations) > 5.0, np.inf, 1.0)
    nothing = np.zeros(0)
    passed = Passed(*[nothing] * 5, innovations, variances, *[nothing] * 3)
    first, second = cut_at_jumps(batch, passed)
    assert first.first == 0 and 99 <= len(first) <= 100
    assert second.first == 105 and len(second) == 95


def test_a_row_is_rejected_though_one_of_its_channels_is_missing() -> None:
    nothing = np.zeros(0)
    variances = np.array([[np.inf, np.nan], [np.inf, np.inf], [1.0, np.nan], [np.nan, np.nan]])
    passed = Passed(*[nothing] * 6, variances, *[nothing] * 3)
    assert rejected_rows(passed).tolist() == [True, True, False, False]


def test_a_free_run_sees_no_sample_after_its_warm_up() -> None:
    whole = stretch(20)
    blinded = _blinded(FreeRun(whole, 7, 0))
    assert np.array_equal(blinded.samples[:7], whole.samples[:7]) and np.isnan(blinded.samples[7:]).all()
    assert np.isfinite(whole.samples).all()
