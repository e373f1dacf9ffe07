"""Sums that merge: any partition at run borders gives the coefficients of a single pass."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tinyude as tu
from tinyude.data.logs import Columns, log_stream
from tinyude.experiments.simulated_fleet import SimulatedFleet
from tinyude.fleet.choice import choose
from tinyude.fleet.sums import Sums, WindowPlan, pooled_sums, stream_sums
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


def test_sums_refuse_others_and_empty_columns() -> None:
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


def test_window_plan_comes_from_a_saved_model_too(fleet, tmp_path: Path) -> None:
    logs, rig, columns, _ = fleet
    ude = tu.UDE(rig.physics, hidden=(), measured=["theta"], refine=False).fit(log_stream(logs[:1], columns))
    ude.save(tmp_path / "arm.tinyude")
    plan, again = WindowPlan.of(ude), WindowPlan.of(tu.load(tmp_path / "arm.tinyude"))
    assert (plan.half, plan.spacing) == (again.half, again.spacing) and np.array_equal(plan.sigma, again.sigma)
