"""Estimates over other stretches than their own."""

from typing import Any

import numpy as np
import pytest

from tinyude.physics.programs import Emitter
from tinyude.refinement import estimate
from tinyude.refinement.budget import Budget
from tinyude.refinement.compiled import make_filter
from tinyude.refinement.field import Field
from tinyude.refinement.filter import Noise, Passed, Plan
from tinyude.refinement.gating import _jumps
from tinyude.refinement.gauss_newton import FIRST_DAMPING, Filter, Pass, Solution, accepted_step, gauss_newton
from tinyude.refinement.noise import fit_noise
from tinyude.refinement.starts import MeasurementModel, Sensors
from tinyude.refinement.stretches import Stretch
from tinyude.refinement.uncertainty import _scaled_inverse, information_covariance
from tinyude.refinement.unknowns import Unknowns


def test_polished_keeps_the_estimate_where_the_new_stretches_diverge(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else its innovations would be those of other rows than its batch."""
    nothing: Any = None
    found = estimate.Estimate(nothing, Solution(nothing, Passed(*[np.zeros(1)] * 10), 1, True), *[nothing] * 5)
    monkeypatch.setattr(estimate, "batch_of", lambda stretches: "other rows")
    monkeypatch.setattr(estimate, "with_starts", lambda stretches, measurement: stretches)
    monkeypatch.setattr(estimate, "solve_with_noise", lambda setup, now, rounds: now)  # as where no step is finite
    setup: Any = type("Setup", (), {"measurement": None})
    assert estimate.polished(setup, found, []) is found


def decay_rate(start: float) -> Unknowns:
    one, none, vague = np.ones(1), np.zeros(1), np.zeros((1, 1))
    return Unknowns(("c",), start * one, -np.inf * one, np.inf * one, np.zeros(1, dtype=bool), none, vague, vague)


def decay() -> tuple[estimate.Estimate, Field, Plan, np.ndarray]:
    """The rate of a decay from a known start, and the times of its samples."""
    rng = np.random.default_rng(2)
    times = 0.01 * np.arange(400)
    samples = (np.exp(-0.7 * times) + 0.01 * rng.standard_normal(400))[:, None]
    stretch = Stretch(times, samples, np.zeros((400, 0, 4)), np.zeros(1), np.zeros(1))
    emitter = Emitter(2)  # dx/dt = -c x
    field = Field(emitter.finish([emitter.write("neg", emitter.write("mul", 0, 1))]), 1, 0, 1)
    measurement = MeasurementModel(Sensors((0,), (0,)), np.array([0.0097]), np.ones(1))  # a little too small
    plan = Plan((0,), 0.1, np.ones(1))
    setup = estimate.Setup(measurement, plan, np.ones(1), np.array([1e-12]), make_filter)
    return estimate.estimate(setup, field, decay_rate(0.695), [stretch]), field, plan, times


def test_estimate_ends_with_the_pass_under_its_own_noise() -> None:
    """Else its likelihood is compared with those of others under another noise."""
    found, field, plan, _ = decay()
    again = make_filter(field, found.batch, plan).run(found.unknowns.values, found.noise, found.gate)
    assert found.unknowns.values[0] == pytest.approx(0.7, abs=0.01)
    assert np.array_equal(found.solution.passed.variances, again.variances)
    assert found.solution.passed.log_likelihood == again.log_likelihood


def test_information_covariance_is_that_of_least_squares_without_process_noise() -> None:
    """Of start and rate together; the start has the variance that the first rows give it."""
    found, _, _, times = decay()
    assert not found.noise.process.any()
    c, passed = found.unknowns.values[0], found.solution.passed
    variance = found.noise.measurement[0]
    by_start, by_rate = np.exp(-c * times), -times * np.exp(-c * times)
    design = np.column_stack([by_start, by_rate])
    information = design.T @ design / variance
    information[0, 0] += 1.0 / found.batch.stretches[0].start_variance[0]
    squares = float(passed.squares.sum() / passed.counts.sum())
    expected = np.linalg.inv(information)[1, 1] * max(1.0, squares)
    assert information_covariance(found)[0, 0] == pytest.approx(expected, rel=0.02)


class Overflowing(Filter):
    """Passes whose states are finite and whose sensitivities are not."""

    def run_pass(self, unknowns: Any, noise: Noise, asked: Pass) -> Passed:
        one = np.ones((1, 1))
        return Passed(np.full((1, 1, 1), np.inf), one, *[one] * 8)

    def smooth(self, unknowns: Any, noise: Noise, gate: float = 0.0) -> Any:
        raise AssertionError("Gauss-Newton smooths nothing")


def test_gauss_newton_stays_where_sensitivities_overflow() -> None:
    solution = gauss_newton(Overflowing(), decay_rate(0.6), Noise(np.ones(1), np.ones(1)))
    assert solution.unknowns.values[0] == 0.6 and not solution.converged and solution.passed.cost == np.inf


class Saturating(Filter):
    """Two stretches of one row, with innovations y - atan(c): from far away, undamped steps diverge."""

    def run_pass(self, unknowns: Any, noise: Noise, asked: Pass) -> Passed:
        apart = np.array([0.0, 1.5]) - np.arctan(unknowns[0])
        slope = np.full(2, 1.0 / (1.0 + unknowns[0] ** 2))
        return Passed((slope**2)[:, None, None], (slope * apart)[:, None], (apart**2)[:, None], *[np.zeros((2, 1))] * 7)

    def smooth(self, unknowns: Any, noise: Noise, gate: float = 0.0) -> Any:
        raise AssertionError("a step smooths nothing")


def test_step_over_some_stretches_lowers_their_cost() -> None:
    noise, filter_, start = Noise(np.ones(1), np.ones(1)), Saturating(), decay_rate(3.0)
    passed = filter_.run(start.values, noise)
    moved, damping, _ = accepted_step(filter_, start, noise, passed, stretches=np.array([True, False]))
    assert moved is not None and damping > FIRST_DAMPING  # the first one overshoots to -9.5
    assert abs(moved.values[0]) < 3.0
    other, _, _ = accepted_step(filter_, start, noise, passed, stretches=np.array([False, True]))
    assert other is not None and other.values[0] > 3.0


def test_gauss_newton_tries_no_step_that_gains_nothing() -> None:
    """A trial and the pass after it would cost twice what the first pass did."""
    counted = Counted()
    solution = gauss_newton(counted, decay_rate(0.6), Noise(np.ones(1), np.ones(1)))
    assert counted.passes == 1 and solution.converged and solution.unknowns.values[0] == 0.6


class Counted(Filter):
    """Passes under which any noise is right, counted."""

    passes = 0

    def run_pass(self, unknowns: Any, noise: Noise, asked: Pass) -> Passed:
        self.passes += 1
        return Passed(*[np.zeros((1, 1))] * 2, *[np.ones((1, 1))] * 8)

    def smooth(self, unknowns: Any, noise: Noise, gate: float = 0.0) -> Any:
        raise AssertionError("noise is fitted without smoothing")


class Gaining(Filter):
    """Passes that are likelier by `gain` with any process noise."""

    def __init__(self, gain: float) -> None:
        self.gain = gain

    def run_pass(self, unknowns: Any, noise: Noise, asked: Pass) -> Passed:
        one, none = np.ones((1, 1)), np.zeros((1, 1))
        logs = -2.0 * self.gain * one if noise.process.any() else none
        return Passed(none, none, one, logs, *[one] * 6)

    def smooth(self, unknowns: Any, noise: Noise, gate: float = 0.0) -> Any:
        raise AssertionError("noise is fitted without smoothing")


@pytest.mark.parametrize(("gain", "any_noise"), [(2.9, False), (3.1, True)])
def test_process_noise_must_gain_three_units_of_log_likelihood(gain: float, any_noise: bool) -> None:
    """Without any, all rows have full weight."""
    one = np.ones(1)
    _, kappa, _ = fit_noise(Gaining(gain), np.zeros(1), Noise(one, 0.0 * one), one, 0.0 * one)
    assert (kappa > 0.0) == any_noise


def test_fit_noise_keeps_the_process_noise_found_before_when_the_work_is_done() -> None:
    noise, filter_ = Noise(np.ones(1), np.zeros(1)), Counted()
    _, kappa, _ = fit_noise(filter_, np.zeros(1), noise, np.ones(1), np.zeros(1), near=0.1, spent=lambda: True)
    assert kappa == 0.1 and filter_.passes == 1
    fit_noise(filter_, np.zeros(1), noise, np.ones(1), np.zeros(1), near=0.1)
    assert filter_.passes > 2


def test_budget_carries_over_what_was_not_spent() -> None:
    budget = Budget(2.0)
    assert not budget.over
    budget.charge(0.1)
    assert budget.over
    budget.grant(0.5)
    budget.charge(0.4)
    assert not budget.over
    budget.grant(0.1)
    budget.charge(0.7)
    assert not budget.over
    budget.charge(0.2)
    assert budget.over


def test_budget_part_is_an_equal_share_of_what_is_left() -> None:
    """The search for a first term left no work for a second: a cubic oscillator got one of its two terms."""
    budget = Budget(2.0)
    budget.grant(0.5)
    budget.charge(0.2)
    done = budget.part(4)
    budget.charge(0.19)
    assert not done()
    budget.charge(0.02)
    assert done() and not budget.over


def test_scaled_inverse_is_never_negative() -> None:
    """Rounding leaves directions of no information slightly negative; their inverse was as negative as it was large."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((40, 3)) * [1.0, 1e4, 1e-3]
    matrix = rows.T @ rows
    whole = np.zeros((4, 4))
    whole[:3, :3] = matrix
    whole[3, 3], whole[0, 3], whole[3, 0] = 1e-8, 1e-3, 1e-3
    inverse = _scaled_inverse(whole)
    assert np.all(np.diag(inverse) >= 0.0) and np.all(np.linalg.eigvalsh(inverse) > -1e-9 * np.abs(inverse).max())
    assert np.allclose(_scaled_inverse(matrix) @ matrix, np.eye(3), atol=1e-6)


def test_jumps_are_four_rejected_rows_in_a_row_and_a_stretch_apart() -> None:
    """Fewer are outliers; one at the very beginning, or soon after another, leaves no stretch to start."""
    rejected = np.zeros(100, dtype=bool)
    for begin, rows in ((0, 6), (20, 3), (40, 4), (48, 5), (52, 4), (70, 9)):
        rejected[begin : begin + rows] = True
    assert _jumps(rejected) == [40, 70]
    rejected[44:52] = False
    assert _jumps(rejected) == [40, 52, 70]
