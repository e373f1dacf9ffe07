import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tinyude import native
from tinyude.cli.app import app
from tinyude.errors import TinyUDEError
from tinyude.experiments.costs import benchmark, cost_curve

BUDGETS = Path(__file__).parents[3] / "benchmarks" / "budgets.json"
CHIP = {"update": 234_000, "sample": 1500.0}
FIGURES: dict[str, Any] = {
    "chip": {name: CHIP for name in benchmark.CASES},
    "memory": {
        kind: {name: {"total": 32_000, "ring": 4000} for name in benchmark.CASES} for kind in ("float32", "int16")
    },
    "growth": {
        "by width": {"8": 3.0, "16": 5.0},
        "by states": {"2": 5.0, "4": 5.5},
        "exponent of the width": 0.74,
        "exponent of the states": 0.14,
    },
    "host": {
        "times faster than the reference engine": 100.0,
        "times faster than multiple shooting": 200.0,
        "times faster than Diffrax shooting": 200.0,
    },
}


def test_flatten_joins_names() -> None:
    assert dict(benchmark.flatten({"a": {"b": 1, "c": {"d": 2}}, "e": 3})) == {"a/b": 1, "a/c/d": 2, "e": 3}


def test_over_budget_names_what_is_too_large_and_too_small() -> None:
    lines = benchmark.over_budget(
        {"chip": {"update": 11.0}, "host": {"ratio": 3.0, "fit": 0.1}},
        {"most": {"chip/update": 10.0, "host/fit": 0.1}, "least": {"host/ratio": 4.0}},
    )
    assert lines == ["chip/update is 11, above its budget of 10", "host/ratio is 3, below the 4 it must reach"]


def test_over_budget_passes_over_what_was_not_measured() -> None:
    assert benchmark.over_budget({}, {"most": {"chip/update": 10.0}, "least": {"host/ratio": 4.0}}) == []


def test_budgets_name_figures_that_are_measured() -> None:
    limits = json.loads(BUDGETS.read_text())
    assert set(limits) == {"most", "least"}
    assert {*limits["most"], *limits["least"]} <= set(dict(benchmark.flatten(FIGURES)))


@pytest.mark.skipif(not native.available(), reason="the core is not compiled")
def test_memory_halves_the_reservoir_in_int16() -> None:
    """But for one bit of each window: whether it was stored before a suspected change."""
    parts = benchmark.memory()
    for name in benchmark.CASES:
        assert parts["int16"][name]["reservoir"] * 2 - 2048 // 8 == parts["float32"][name]["reservoir"]
        assert parts["int16"][name]["total"] < parts["float32"][name]["total"]


def test_bench_writes_figures_and_passes_within_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "measure", lambda moved: FIGURES)
    files = ["--json", str(tmp_path / "figures.json"), "--plot", str(tmp_path / "growth.svg")]
    result = CliRunner().invoke(app, ["bench", *files, "--budgets", str(BUDGETS)])
    assert result.exit_code == 0, result.output
    assert "</svg>" in (tmp_path / "growth.svg").read_text()
    assert json.loads((tmp_path / "figures.json").read_text()) == FIGURES


def test_bench_fails_above_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "measure", lambda moved: FIGURES)
    (tmp_path / "budgets.json").write_text('{"most": {"chip/first order/update": 233999}}')
    result = CliRunner().invoke(app, ["bench", "--budgets", str(tmp_path / "budgets.json")])
    assert isinstance(result.exception, TinyUDEError)
    assert "chip/first order/update is 234,000, above its budget of 233,999" in str(result.exception)


def test_bench_asks_for_its_budgets(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["bench", "--budgets", str(tmp_path / "none.json")])
    assert isinstance(result.exception, TinyUDEError)
    assert "The file of budgets" in str(result.exception)


@pytest.mark.skipif(not native.available(), reason="the core is not compiled")
def test_cost_curve_measures_every_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost_curve, "WIDTHS", (8, 128))
    monkeypatch.setattr(cost_curve, "STATES", (2, 3))
    curve = cost_curve.cost_curve()
    assert (list(curve["by width"]), list(curve["by states"])) == (["8", "128"], ["2", "3"])


def test_exponent_is_that_of_a_power() -> None:
    assert cost_curve.exponent({"2": 12.0, "4": 48.0, "8": 192.0}) == pytest.approx(2.0)
