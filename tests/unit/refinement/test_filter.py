"""The filter's pass: its sums, its derivatives, its gate; and the compiled pass against the NumPy one."""

from dataclasses import fields, replace

import numpy as np
import pytest

from tinyude import native
from tinyude.refinement.compiled import CompiledFilter
from tinyude.refinement.filter import JUMP, Passed, filter_pass_numpy
from tinyude.refinement.stretches import batch_of

GATE = 5.0
compiled = pytest.mark.skipif(not native.available(), reason="the core is not compiled")


def reference(case, **options) -> Passed:
    return filter_pass_numpy(case.field, case.values, case.batch, case.noise, case.plan, GATE, **options)


def close(a: np.ndarray, b: np.ndarray) -> None:
    np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-11)


def test_filter_pass_sensitivities_equal_complex_step(driven) -> None:
    """Information and gradient are those of the innovations as a function of the unknowns, gains frozen."""
    passed = reference(driven)
    slopes = []
    for k in range(2):
        moved = driven.values + 1e-30j * np.eye(2)[k]
        frozen = filter_pass_numpy(
            driven.field, moved, driven.batch, driven.noise, driven.plan, GATE, False, frozen=passed
        )
        slopes.append(np.where(np.isfinite(passed.variances), -frozen.innovations.imag / 1e-30, 0.0))
    h = np.stack(slopes, axis=-1)  # (rows, channels, unknowns)
    weight = np.where(np.isfinite(passed.variances), 1.0 / passed.variances, 0.0)
    e = np.nan_to_num(np.real(passed.innovations))
    for number in range(len(driven.batch.stretches)):
        rows = driven.batch.rows_of(number)
        close(passed.information[number], np.einsum("rca,rcb,rc->ab", h[rows], h[rows], weight[rows]))
        close(passed.gradient[number], np.einsum("rca,rc,rc->a", h[rows], e[rows], weight[rows]))


@compiled
def test_compiled_pass_equals_numpy(driven) -> None:
    passed = reference(driven)
    ours = CompiledFilter(driven.field, driven.batch, driven.plan).run(driven.values, driven.noise, GATE)
    for entry in fields(Passed):
        close(getattr(ours, entry.name), getattr(passed, entry.name))


@compiled
def test_compiled_frozen_pass_equals_numpy(driven) -> None:
    passed = reference(driven)
    moved = replace(driven, values=driven.values * 1.1)
    expected = reference(moved, sensitivities=False, frozen=passed)
    ours = CompiledFilter(driven.field, driven.batch, driven.plan).run(moved.values, driven.noise, GATE, frozen=passed)
    close(ours.innovations, expected.innovations)
    assert ours.cost == pytest.approx(expected.cost, rel=1e-12)


@compiled
def test_compiled_pass_is_the_same_in_threads(driven, monkeypatch: pytest.MonkeyPatch) -> None:
    many = batch_of(driven.batch.stretches * 8)
    runs = []
    for threads in (1, 4):
        monkeypatch.setattr("tinyude.native.filter.THREADS", threads)
        monkeypatch.setattr("tinyude.native.filter.ROWS_A_THREAD", 10)
        runs.append(CompiledFilter(driven.field, many, driven.plan).run(driven.values, driven.noise, GATE))
    for entry in fields(Passed):
        np.testing.assert_array_equal(getattr(runs[0], entry.name), getattr(runs[1], entry.name))


def test_filter_pass_leaves_out_missing_and_wild_rows(driven) -> None:
    passed = reference(driven)
    assert np.isnan(passed.variances[9]).all() and np.isnan(passed.variances[7, 0])
    assert np.isinf(passed.variances[20]).all()
    assert np.isfinite(passed.variances[[6, 8, 10, 19, 21]]).all()
    rows = driven.batch.rows_of(0)
    assert passed.counts[0].tolist() == np.isfinite(passed.variances[rows]).sum(axis=0).tolist()


def test_filter_pass_finds_the_state_again_after_a_jump(driven) -> None:
    stretch = driven.batch.stretches[0]
    samples = stretch.samples.copy()
    samples[30:] += [0.0, 3.0]
    jumped = replace(driven, batch=batch_of([replace(stretch, samples=samples)]))
    rejected = np.isinf(reference(jumped).variances).any(axis=1)
    assert rejected[30 : 30 + JUMP].all() and not rejected[30 + JUMP]


def test_filter_pass_says_when_the_model_runs_away(driven) -> None:
    wild = replace(driven, values=np.array([2.0, -1e5]))
    assert reference(wild, sensitivities=False).cost == np.inf
    if native.available():
        ours = CompiledFilter(driven.field, driven.batch, driven.plan)
        assert ours.run(wild.values, driven.noise, GATE).cost == np.inf
