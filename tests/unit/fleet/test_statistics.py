"""Pooling and tests of change on tables of coefficients whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t as student

from tinyude.fleet.population import population, shrunk
from tinyude.fleet.watch import FALSE_ALARMS, Panel, common_movement, examine


def table(rng, machines, weeks, spread=0.1, variation=0.02, error=0.02, season=0.05):
    """True values, estimates and standard errors as sixteen jackknife groups tell them, (machines, weeks)."""
    true = 1.0 + spread * rng.standard_normal((machines, 1)) + variation * rng.standard_normal((machines, weeks))
    true = true + season * rng.standard_normal(weeks)
    exact = error * np.exp(0.4 * rng.standard_normal((machines, 1)) + 0.2 * rng.standard_normal((machines, weeks)))
    estimate = true + exact * rng.standard_normal(true.shape)
    return true, estimate, exact * np.sqrt(rng.chisquare(15, true.shape) / 15)


@pytest.mark.parametrize("machines", [10, 60])
@pytest.mark.parametrize("ratio", [0.2, 1.0, 4.0])  # error over spread
def test_shrunk_intervals_hold_the_truth_nine_times_in_ten(machines: int, ratio: float, record_property) -> None:
    rng = np.random.default_rng(machines)
    held = []
    for _ in range(12_000 // machines // 4):
        true, estimate, error = table(rng, machines, 1, 0.1, 0.0, 0.1 * ratio)
        _, low, high = shrunk(estimate[:, 0], error[:, 0], population(estimate[:, 0], error[:, 0]))
        held.append(np.mean((low <= true[:, 0]) & (true[:, 0] <= high)))
    record_property("figure", f"pooled 90 % intervals, {machines} machines, error/spread {ratio}: {np.mean(held):.3f}")
    assert 0.88 < np.mean(held) < 0.985


def test_shrunk_values_are_closer_to_the_truth() -> None:
    true, estimate, error = table(np.random.default_rng(5), 200, 1, 0.1, 0.0, 0.1)
    pooled, _, _ = shrunk(estimate[:, 0], error[:, 0], population(estimate[:, 0], error[:, 0]))
    assert np.mean((pooled - true[:, 0]) ** 2) < 0.65 * np.mean((estimate - true) ** 2)


def test_population_ignores_machines_that_do_not_belong() -> None:
    true, estimate, error = table(np.random.default_rng(6), 100, 1)
    estimate[:20] += 5.0
    fleet = population(estimate[:, 0], error[:, 0])
    assert not fleet.inside[:20].any() and fleet.inside[20:].all()
    assert fleet.mean == pytest.approx(np.mean(true[20:]), abs=0.03)
    assert 0.07 < fleet.spread < 0.13


def test_shrunk_leaves_machines_outside_the_fleet_alone() -> None:
    _, estimate, error = table(np.random.default_rng(7), 50, 1)
    estimate[3] = 9.0
    pooled, low, high = shrunk(estimate[:, 0], error[:, 0], population(estimate[:, 0], error[:, 0]))
    assert pooled[3] == 9.0 and low[3] < 9.0 < high[3]


@pytest.mark.parametrize(
    ("weeks", "spread", "variation", "error"),
    [(1, 0.1, 0.0, 0.02), (2, 0.1, 0.01, 0.02), (8, 0.1, 0.02, 0.02), (26, 0.1, 0.02, 0.005), (8, 0.0, 0.0, 0.02)],
)
def test_examine_holds_its_false_alarm_rate_on_a_thousand_healthy_machines(
    weeks: int, spread: float, variation: float, error: float, record_property
) -> None:
    rng = np.random.default_rng(weeks)
    fleets, flagged = 6, 0
    for _ in range(fleets):
        _, estimate, errors = table(rng, 1000, weeks, spread, variation, error)
        found = examine(Panel(estimate, errors, np.arange(float(weeks))))
        flagged += int(np.sum(found.chances().min(axis=0) <= FALSE_ALARMS))
    record_property("figure", f"false alarms, {weeks} weeks: {flagged} of {1000 * fleets} healthy machines")
    assert flagged <= 6 + 3 * np.sqrt(6)  # one in a thousand, and three standard deviations of that count


def test_examine_allows_for_slow_variation() -> None:
    """Machines that wander slowly (a lag-one correlation of 0.7) are healthy; independent errors would flag dozens."""
    rng = np.random.default_rng(2)
    wander = np.empty((1000, 20))
    wander[:, 0] = rng.standard_normal(1000)
    for week in range(1, 20):
        wander[:, week] = 0.7 * wander[:, week - 1] + np.sqrt(1.0 - 0.49) * rng.standard_normal(1000)
    values = 1.0 + 0.1 * rng.standard_normal((1000, 1)) + 0.03 * wander
    found = examine(Panel(values, np.full((1000, 20), 0.003), np.arange(20.0)))
    assert np.sum(np.minimum(found.slope_p, found.step_p) <= FALSE_ALARMS / 3) <= 8


def test_examine_finds_step_trend_and_outlier_and_tells_them_apart() -> None:
    rng = np.random.default_rng(1)
    _, estimate, error = table(rng, 100, 12, 0.05, 0.01, 0.01)
    estimate[3, 8:] += 0.2
    estimate[5] += 0.02 * np.arange(12)
    estimate[7] += 0.5
    found = examine(Panel(estimate, error, np.arange(12.0)))
    assert found.step_p[3] < 1e-6 and found.step_at[3] == 8 and not found.trend_fits[3]
    assert found.step[3] == pytest.approx(0.2, abs=0.05)
    assert found.slope_p[5] < 1e-6 and found.trend_fits[5]
    assert found.slope_low[5] < 0.02 < found.slope_high[5]
    assert found.level_p[7] < 1e-6 and found.step_p[7] > 1e-3
    others = np.delete(np.arange(100), [3, 5, 7])
    assert np.nanmin([found.level_p[others], found.slope_p[others], found.step_p[others]]) > 1e-4


def test_examine_dates_a_large_step_after_the_first_of_four_periods() -> None:
    rng = np.random.default_rng(5)
    values = 1.0 + 0.05 * rng.standard_normal((40, 1)) + 0.005 * rng.standard_normal((40, 4))
    values[9, 1:] *= 0.6
    found = examine(Panel(values, np.full((40, 4), 0.005), np.arange(4.0)))
    assert found.step_at[9] == 1 and not found.trend_fits[9]
    assert found.step[9] == pytest.approx(-0.4, abs=0.05) and found.step_p[9] < 1e-6


def test_examine_sees_a_step_in_the_last_of_two_periods() -> None:
    _, estimate, error = table(np.random.default_rng(3), 30, 2, 0.1, 0.01, 0.01)
    estimate[4, 1] += 0.3
    found = examine(Panel(estimate, error, np.arange(2.0)))
    assert int(np.nanargmin(found.step_p)) == 4 and found.step_p[4] < 1e-4


def test_examine_takes_out_what_all_machines_do() -> None:
    rng = np.random.default_rng(4)
    _, estimate, error = table(rng, 50, 10, 0.05, 0.005, 0.005, season=0.0)
    found = examine(Panel(estimate + 0.1 * np.arange(10.0), error, np.arange(10.0)))
    assert np.nanmin(found.slope_p) > 1e-4


def test_examine_copes_with_missing_reports_and_tiny_fleets() -> None:
    rng = np.random.default_rng(8)
    _, estimate, error = table(rng, 40, 10)
    estimate[rng.random(estimate.shape) < 0.4] = np.nan
    estimate[0], estimate[1, 1:] = np.nan, np.nan
    found = examine(Panel(estimate, error, np.arange(10.0)))
    assert np.isnan(found.level_p[0]) and np.isnan(found.slope_p[1]) and np.isfinite(found.level_p[1])
    for machines in (1, 2, 3):
        _, estimate, error = table(rng, machines, 5)
        few = examine(Panel(estimate, error, np.arange(5.0)))
        assert not np.nanmin(few.step_p) < 1e-4


def test_common_movement_is_zero_where_few_machines_report() -> None:
    values = np.full((6, 3), np.nan)
    values[:, 0], values[:, 1], values[:2, 2] = 1.0, 2.0, 9.0
    assert common_movement(values)[2] == 0.0


def test_examine_finds_two_changed_machines_of_a_small_fleet() -> None:
    """Two of twenty must not hide in the spread that they make themselves."""
    rng = np.random.default_rng(7)
    values = 1.0 + 0.04 * rng.standard_normal((20, 1)) + 0.002 * rng.standard_normal((20, 5))
    values[3] *= 1.35
    values[11, 2:] *= 1.5
    found = examine(Panel(values, np.full((20, 5), 0.002), np.arange(5.0)))
    assert set(np.flatnonzero(found.level_p < 1e-4)) == {3, 11}
    assert found.fleet.inside.sum() == 18


def test_examine_finds_an_outlier_beside_a_machine_that_drifts() -> None:
    """The drifting one is no measure of how far healthy machines differ: in a small fleet it hid the other."""
    rng = np.random.default_rng(9)
    values = 1.0 + 0.04 * rng.standard_normal((13, 1)) + 0.002 * rng.standard_normal((13, 4))
    values[4] *= 0.64
    values[12] *= np.linspace(1.0, 0.68, 4)
    found = examine(Panel(values, np.full((13, 4), 0.002), np.arange(4.0)))
    assert found.fleet.inside.sum() == 11 and not found.fleet.inside[[4, 12]].any()
    assert found.chances()[0, 4] < FALSE_ALARMS / 4 and found.chances()[1:, 12].min() < 1e-9


def test_population_of_a_small_healthy_fleet_keeps_its_machines() -> None:
    rng = np.random.default_rng(10)
    left_out = sum(12 - population(rng.standard_normal(12), np.full(12, 0.1)).inside.sum() for _ in range(400))
    assert left_out <= 0.004 * 400 * 12


def test_examine_judges_a_level_by_students_test_against_the_others() -> None:
    """Exact in a small fleet: a few degrees of freedom too many would double the false alarms."""
    values = np.random.default_rng(12).standard_normal(12)
    values[5] = 6.0
    others = np.delete(values, 5)
    ratio = (values[5] - others.mean()) / np.sqrt(others.var(ddof=1) * (1.0 + 1.0 / 11.0))
    found = examine(Panel(values[:, None], np.full((12, 1), 0.1), np.zeros(1)))
    assert found.fleet.inside.sum() == 11
    assert found.level_p[5] == pytest.approx(2.0 * student.sf(ratio, 10), rel=1e-6)


def test_examine_says_nothing_of_a_machine_with_one_period(recwarn) -> None:
    values = 1.0 + 0.05 * np.random.default_rng(11).standard_normal((8, 4))
    values[3, :3] = np.nan
    found = examine(Panel(values, np.full((8, 4), 0.01), np.arange(4.0)))
    assert np.isnan(found.slope_p[3]) and np.isnan(found.step_p[3]) and np.isfinite(found.level_p[3])
    assert not len(recwarn)
