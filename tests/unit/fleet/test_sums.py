"""Sums that merge: any partition at run borders gives the coefficients of a single pass."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tinyude as tu
from tinyude.data.logs import Columns, log_stream
from tinyude.experiments.costs.simulated_fleet import SimulatedFleet
from tinyude.fleet.choice import Survey, candidates
from tinyude.fleet.selection import choose
from tinyude.fleet.sums import Sums, WindowPlan, pooled_sums, stream_sums
from tinyude.fleet.work import Recipe
from tinyude.physics.file import load_physics_file

TERMS = ["1", "omega", "tanh(20*omega)", "omega*Abs(omega)", "sin(theta)"]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory):
    """Six short logs, their physics, and the windows of the first."""
    folder = tmp_path_factory.mktemp("sums")
    rig = load_physics_file(SimulatedFleet(machines=6, weeks=1, seconds=8.0).write(folder))
    logs = sorted((folder / "logs").rglob("*.parquet"))
    columns = Columns.of(rig)
    ude = tu.UDE(rig.physics, hidden=(), measured=["theta"], library=TERMS, refine=False).fit(
        log_stream(logs[:1], columns)
    )
    return logs, rig, columns, WindowPlan.of(ude)


def relative(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.max(np.abs(a - b) / np.abs(b)))


@pytest.mark.parametrize(
    "partition", [[[0], [1], [2], [3], [4], [5]], [[0, 1, 2], [3, 4, 5]], [[5, 2], [0, 4, 1], [3]]]
)
def test_stream_sums_of_partitions_merge_to_those_of_a_single_pass(fleet, partition: list[list[int]]) -> None:
    logs, rig, columns, plan = fleet
    whole = stream_sums(log_stream(logs, columns), rig.physics, plan, TERMS)
    streams = [log_stream([logs[i] for i in part], columns) for part in partition]
    merged = pooled_sums(streams, rig.physics, plan, TERMS)
    assert whole.windows == merged.windows > 5000
    assert relative(merged.solve(), whole.solve()) < 1e-12
    assert relative(merged.errors(), whole.errors()) < 1e-9


def test_stream_sums_find_the_true_coefficients(fleet) -> None:
    logs, rig, columns, plan = fleet
    found = stream_sums(log_stream(logs, columns), rig.physics, plan, ["omega", "tanh(20*omega)"]).solve()
    assert found == pytest.approx([-0.8, -1.5], rel=0.1)


def test_stream_sums_agree_with_the_learner_on_its_own_windows(fleet) -> None:
    """The estimator's streaming learner sums the same windows, but for those that its noise estimate passes early."""
    logs, rig, columns, _ = fleet
    stream = log_stream(logs[:1], columns)
    ude = tu.UDE(
        rig.physics,
        hidden=(),
        measured=["theta"],
        library=["omega", "tanh(20*omega)"],
        settings={"threshold": 0.0},
        refine=False,
    ).fit(stream)
    sums = stream_sums(stream, rig.physics, WindowPlan.of(ude), ["omega", "tanh(20*omega)"])
    found = {entry["term"]: entry["coefficient"] for entry in ude.diagnostics_["terms"]}
    assert sums.solve() == pytest.approx([found["omega"], found["tanh(20*omega)"]], rel=0.05)


def test_sums_merge_in_any_order_to_the_same_bits() -> None:
    rng = np.random.default_rng(0)
    parts = []
    for number in range(50):
        part = Sums(3)
        part.add(rng.standard_normal((20, 3)) * 10.0 ** rng.integers(-6, 6), rng.standard_normal(20), number % 16)
        parts.append(part)
    totals = []
    for order in (range(50), reversed(range(50)), rng.permutation(50)):
        merged = Sums(3)
        for number in order:
            merged = merged.merge(parts[number])
        totals.append(merged.total)
    assert np.array_equal(totals[0], totals[1]) and np.array_equal(totals[0], totals[2])


def test_sums_reject_others_and_empty_columns() -> None:
    with pytest.raises(tu.TinyUDEError, match="do not merge"):
        Sums(2).merge(Sums(3))
    empty = Sums(2)
    empty.add(np.array([[1.0, 0.0]]), np.array([1.0]), 0)
    with pytest.raises(tu.TinyUDEError, match="zero in every window"):
        empty.solve()


def test_choose_takes_few_terms_and_those_of_varying_sign() -> None:
    rng = np.random.default_rng(1)
    terms = dict.fromkeys(["1", "x", "x**3", "x**5", "y"], 0)
    parts = []
    for machine in range(12):
        part = Sums(len(terms))
        for block in range(32):
            x, y = rng.uniform(-1.0, 1.0, (2, 100))
            design = np.column_stack([np.ones(100), x, x**3, x**5, y])
            target = -2.0 * x + (0.5 if machine % 2 else -0.5) * y + 0.05 * rng.standard_normal(100)
            part.add(design, target, block % 16)
        parts.append(part)
    assert choose(parts, terms, 0) == ["x", "y"]


def test_choose_takes_a_clearly_better_form_over_one_that_more_machines_found() -> None:
    rng = np.random.default_rng(3)
    part = Sums(2)
    for block in range(32):
        h = rng.uniform(0.2, 1.2, 100)
        target = -0.1 * np.sqrt(h) + 0.001 * rng.standard_normal(100)
        part.add(np.column_stack([h, np.sqrt(h)]), target, block % 16)
    assert choose([part, part, part], {"h": 3, "sqrt(h)": 0}, 0) == ["sqrt(h)"]


def test_choose_tells_nearly_constant_terms_apart_by_what_varies() -> None:
    """The roots of two levels: 98 % of either's square is the constant that both share."""
    rng = np.random.default_rng(5)
    part = Sums(3)
    for block in range(32):
        a, b = 1.0 + 0.05 * rng.standard_normal((2, 100))
        target = 0.07 * a - 0.05 * b + 0.0002 * rng.standard_normal(100)
        part.add(np.column_stack([np.ones(100), a, b]), target, block % 16)
    assert choose([part] * 3, {"1": 0, "a": 0, "b": 0}, 0) == ["a", "b"]


def machines_sums(rng, deviations, noise=0.05):
    """Sums over 1, x, y of machines whose known part lacks so much of x and of y."""
    parts = []
    for of_x, of_y in deviations:
        part = Sums(3)
        for block in range(32):
            x, y = rng.uniform(-1.0, 1.0, (2, 100))
            target = of_x * x + of_y * y + noise * rng.standard_normal(100)
            part.add(np.column_stack([np.ones(100), x, y]), target, block % 16)
        parts.append(part)
    return parts


@pytest.mark.parametrize(
    ("spread", "missing", "chosen"),
    [(0.05, 1.0, ["x", "y"]), (0.0, 1.0, ["x"]), (0.0, 0.0, ["y"])],
    ids=["machines differ", "machines agree", "nothing is missing"],
)
def test_choose_compares_known_terms_where_machines_differ(spread: float, missing: float, chosen: list[str]) -> None:
    rng = np.random.default_rng(2)
    deviations = [(missing, 2.0 * spread * rng.standard_normal()) for _ in range(12)]
    parts = machines_sums(rng, deviations)
    assert choose(parts, dict.fromkeys(["1", "x", "y"], 0), 0, [{"y": 2.0}]) == chosen


def test_candidates_take_the_numbers_of_a_known_term(fleet) -> None:
    _, rig, _, _ = fleet
    known = [{"tanh(20*omega)": -1.5}]
    looked_at = [
        Survey({"theta": 1.0, "omega": 3.0}, [], [("omega", f"tanh({k}*omega)")], None) for k in (18.2, 19.1, 23.0)
    ]
    offered, sets = candidates(Recipe(rig), looked_at, known)
    assert offered["tanh(20*omega)"] == 3 and "tanh(19.1*omega)" not in offered
    assert sets == [frozenset({(0, "tanh(20*omega)")})]


def test_choose_starts_from_what_machines_found() -> None:
    """A loss to surroundings, -(T - Ta), is nearly T**2 alone where a heater is far above them."""
    rng = np.random.default_rng(4)
    part = Sums(4)
    for block in range(32):
        T = np.concatenate([rng.uniform(25.0, 70.0, 90), rng.uniform(20.0, 25.0, 10)])
        Ta = 20.0 + 0.5 * rng.standard_normal(100)
        target = -0.01 * (T - Ta) + 0.001 * rng.standard_normal(100)
        part.add(np.column_stack([np.ones(100), T, Ta, T**2]), target, block % 16)
    terms = {"1": 0, "T": 3, "Ta": 3, "T**2": 0}
    assert choose([part] * 3, terms, 0, sets=[frozenset({(0, "T"), (0, "Ta")})]) == ["T", "Ta"]


def test_window_plan_comes_from_a_saved_model_too(fleet, tmp_path: Path) -> None:
    logs, rig, columns, _ = fleet
    ude = tu.UDE(rig.physics, hidden=(), measured=["theta"], refine=False).fit(log_stream(logs[:1], columns))
    ude.save(tmp_path / "arm.tinyude")
    plan, again = WindowPlan.of(ude), WindowPlan.of(tu.load(tmp_path / "arm.tinyude"))
    assert (plan.half, plan.spacing) == (again.half, again.spacing) and np.array_equal(plan.sigma, again.sigma)


def test_stream_sums_of_a_log_without_an_accepted_window_are_empty(fleet) -> None:
    logs, rig, columns, plan = fleet
    strict = replace(plan, sigma=1e-9 * plan.sigma)
    assert stream_sums(log_stream(logs[:1], columns), rig.physics, strict, ["omega"]).windows == 0
