"""The experiments: their framework on small work, and every table and figure from small fits."""

from __future__ import annotations

import copy
import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tinyude import native
from tinyude.errors import TinyUDEError
from tinyude.experiments import NAMES, fits, load, runner, sources
from tinyude.experiments.documents import table_header
from tinyude.experiments.experiment import Config, Result, Table, Unit, plain, select, stats
from tinyude.experiments.page import with_other_parts, write_pages
from tinyude.experiments.paper import gradients
from tinyude.experiments.paper.targets import centres, corrected_targets, plain_targets
from tinyude.experiments.studies.floor import run_floor
from tinyude.reference.paper import second_order
from tinyude.reference.signal.window import window_make
from tinyude.systems import pendulum

ENGINE = "native" if native.available() else "reference"
SECONDS = 3.0
SMALL_JET = {"engine": ENGINE, "updates": 40, "network_nodes": 1}
SMALL_SOLVER = {"steps": 3, "iterations": 2, "windows": 4}


@cache
def small_fit(method: str, system: str) -> str:
    """One small fit of each kind, as JSON; experiments get it in place of their own."""
    settings = SMALL_SOLVER if method == "adjoint" else {} if method == "sindy" else SMALL_JET
    unit = fits.jet_unit(method, 0.01, 0, system, seconds=SECONDS, settings=settings)
    return json.dumps(fits.run_fit(unit.config))


def small_result(unit: Unit, seen: dict[str, Result]) -> Result:
    """The unit's result from a fit of seconds, or the unit itself where it is cheap."""
    config = copy.deepcopy(unit.config)
    if unit.run is fits.run_fit:
        return json.loads(small_fit(config["method"], config["system"]))
    config |= {"seed": 0} if "seed" in config else {}
    if "settings" in config:
        config |= {"seconds": SECONDS, "settings": SMALL_JET}
    elif "updates" in config:
        config |= {"seconds": SECONDS, "updates": 90, "engine": ENGINE}
    key = f"{unit.run.__module__} {json.dumps(config)}"
    if key not in seen:
        seen[key] = plain(unit.run(config))
    return seen[key]


OWN_RESULTS = ("gradients", "adjoint-gradients", "device", "verdicts", "benchmarks", "withstand")


def double(config: Config) -> Result:
    """A unit of work for the tests: leaves a mark for every time it is done."""
    with Path(config["log"]).open("a") as log:
        log.write(f"{config['value']}\n")
    return {"doubled": 2 * config["value"], "array": np.arange(2), "nothing": np.nan}


class Doubling:
    NAME, TITLE = "doubling", "Doubling"

    def __init__(self, log: Path, values: list[int]) -> None:
        self.log, self.values = log, values

    def units(self, quick: bool) -> list[Unit]:
        return [Unit(double, {"value": value, "log": str(self.log)}) for value in self.values]

    def summarise(self, outcomes, quick):
        return {"sum": sum(result["doubled"] for _, result in outcomes), "notes": ["done"]}


def assert_documented_form(section: str, tables: list[Table]) -> None:
    """A table in the documentation has the columns that the command would write today."""
    text = (Path(__file__).parents[3] / "docs" / "reproduction.md").read_text()
    text = text.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    for table in tables:
        title = table.markdown().split("\n", 1)[0]
        if title in text:
            assert table_header(text[text.index(title) :]) == table_header(table.markdown()), title


@pytest.mark.parametrize("name", [n for n in NAMES if n not in OWN_RESULTS])
def test_experiment_makes_notes_tables_and_figure_from_plain_results(name):
    experiment, seen = load(name), {}
    assert name == experiment.NAME
    outcomes = [(unit.config, small_result(unit, seen)) for unit in experiment.units(quick=True)]
    summary = json.loads(json.dumps(plain(experiment.summarise(outcomes, quick=True)), allow_nan=False))
    assert summary["notes"] and all(note.endswith(".") for note in summary["notes"])
    tables = experiment.tables(summary)
    assert tables and all(len(row) == len(table.header) for table in tables for row in table.rows)
    assert_documented_form(experiment.TITLE, tables)
    drawn = experiment.figure(summary)
    if drawn is not None:
        assert all(axes.get_xlabel() or axes.get_xticklabels() for axes in drawn.axes)


@pytest.mark.parametrize("name", NAMES)
def test_units_of_a_full_run_include_more_work_than_a_quick_one(name):
    experiment = load(name)
    quick, full = experiment.units(True), experiment.units(False)
    assert len(full) >= len(quick)
    assert all(json.dumps(unit.config) for unit in full)


def test_units_are_shared_between_experiments():
    headline, per_seed = (
        {runner.unit_key(unit) for unit in load(name).units(False)} for name in ("headline", "per-seed")
    )
    assert headline < per_seed


def test_load_rejects_an_unknown_name():
    with pytest.raises(TinyUDEError, match="no experiment 'headlines'; choose all or some of headline"):
        load("headlines")


def test_reproduce_resumes_where_it_was_and_redoes_nothing(tmp_path, monkeypatch):
    log = tmp_path / "log"
    for values in ([1, 2], [1, 2, 3], [3, 1]):
        monkeypatch.setattr(runner, "load", lambda name, values=values: Doubling(log, values))
        summary = runner.reproduce(["doubling"], True, tmp_path)["doubling"]
        assert summary["sum"] == 2 * sum(values)
    assert log.read_text().split() == ["1", "2", "3"]


def test_reproduce_loses_at_most_the_unit_that_was_interrupted(tmp_path, monkeypatch):
    log = tmp_path / "log"
    experiment = Doubling(log, [1, 2, 3])
    monkeypatch.setattr(runner, "load", lambda name: experiment)
    moves = []

    def interrupt(done: int, total: int) -> None:
        moves.append((done, total))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        runner.reproduce(["doubling"], True, tmp_path, progress=interrupt)
    assert moves == [(10, 30)] and log.read_text().split() == ["1"]
    assert runner.reproduce(["doubling"], True, tmp_path)["doubling"]["sum"] == 12
    assert log.read_text().split() == ["1", "2", "3"]


def test_unit_key_changes_with_configuration_and_sources(monkeypatch):
    unit = Unit(double, {"value": 1, "log": ""})
    key = runner.unit_key(unit)
    assert key == runner.unit_key(Unit(double, {"log": "", "value": 1}, cost=9.0))
    assert key != runner.unit_key(Unit(double, {"value": 2, "log": ""}))
    monkeypatch.setattr(runner, "package_hash", lambda: "other sources")
    assert key != runner.unit_key(unit)


def test_a_solver_result_outlives_a_change_of_the_learner_and_not_one_of_its_own_sources(monkeypatch):
    solver, learner = fits.solver_unit(0.01, 0, True), fits.jet_unit("default", 0.01, 0)
    keys = [runner.unit_key(unit) for unit in (solver, learner)]
    monkeypatch.setattr(runner, "package_hash", lambda: "other sources")
    assert [runner.unit_key(unit) == key for unit, key in zip((solver, learner), keys, strict=True)] == [True, False]
    before = sources.modules_hash(solver.through)
    read = Path.read_bytes
    for name in ("adjoint.py", "mlp.py", "physics.py", "system.py"):  # imported directly, or by what is
        monkeypatch.setattr(Path, "read_bytes", lambda path, name=name: read(path) + b"#" * (path.name == name))
        sources.modules_hash.cache_clear()
        assert sources.modules_hash(solver.through) != before
    sources.modules_hash.cache_clear()


def test_with_other_parts_keeps_what_was_not_computed_and_replaces_the_rest() -> None:
    part = "## {title}\n\n- {note}\n\n`tinyude reproduce {name}`, version 1.\n"
    old = "# Page\n\nold head\n\n" + "\n".join(
        part.format(title=name, note="old", name=name) for name in ("headline", "rollout")
    )
    new = "# Page\n\nnew head\n\n" + part.format(title="rollout", note="new", name="rollout")
    merged = with_other_parts(new, old)
    assert "new head" in merged and "old head" not in merged
    assert merged.index("## headline\n\n- old") < merged.index("## rollout\n\n- new")
    assert with_other_parts(new, "") == new and with_other_parts(merged, merged) == merged


def test_write_pages_shows_what_was_reproduced_and_keeps_quick_runs_out_of_the_docs(tmp_path):
    runner.reproduce(["gradients"], True, tmp_path)
    page = write_pages(tmp_path).read_text()
    assert "32 of 32 checks pass" in page and "quick run" in page and "data:image/svg+xml" in page
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {"gradients.svg", "gradients.png"}
    with pytest.raises(TinyUDEError, match="full runs only"):
        write_pages(tmp_path, tmp_path / "docs.md")


def test_reproduce_command_names_the_experiments_when_one_is_unknown(tmp_path):
    from tinyude.cli.app import app

    answer = CliRunner().invoke(app, ["reproduce", "nothing", "--out", str(tmp_path)])
    assert isinstance(answer.exception, TinyUDEError) and "headline" in str(answer.exception)


def test_reproduce_command_writes_page_and_json(tmp_path):
    from tinyude.cli.app import app

    options = ["--quick", "--jobs", "1", "--out", str(tmp_path / "out"), "--json", str(tmp_path / "numbers.json")]
    answer = CliRunner().invoke(app, ["reproduce", "gradients", *options], catch_exceptions=False)
    assert answer.exit_code == 0
    assert json.loads((tmp_path / "numbers.json").read_text())["gradients"]["pass"]
    assert (tmp_path / "out" / "index.html").exists()


def test_gradients_expose_a_broken_gradient(monkeypatch):
    right = second_order.mlp_jvp_backward

    def broken(params, sizes, acts, tans, y_bar, y_tan_bar):
        return right(params, sizes, acts, tans, y_bar, 1.000001 * y_tan_bar)

    unit = next(unit for unit in gradients.units(True) if unit.config["order"] == 2)
    assert gradients.run_check(unit.config)["pass"]
    monkeypatch.setattr(second_order, "mlp_jvp_backward", broken)
    assert not gradients.run_check(unit.config)["pass"]


def test_gradients_are_32_different_checks():
    assert len({check.name for check in gradients.CHECKS}) == 32


def test_floor_lies_between_one_stretch_and_fifteen_with_known_starts():
    bound = run_floor({"seed": 0})
    paths = [pendulum(damping=0.4 + step).clean(0, 4.0)[1] for step in (-1e-5, 1e-5)]
    sigma = 0.01 * np.sqrt(np.mean(pendulum().clean(0)[1] ** 2, axis=0))
    one_stretch = 1.0 / np.sqrt(np.sum(((paths[1] - paths[0]) / 2e-5 / sigma) ** 2))
    assert one_stretch / np.sqrt(15.0) < 2.0 * bound["damping"] < 2.0 * one_stretch
    assert bound["error"] == pytest.approx(0.324 * bound["damping"], rel=0.02)  # |omega| / |field| on the grid


def test_corrected_targets_see_the_residual_where_plain_ones_see_truncation():
    system = pendulum()
    _, clean = system.clean(0, 4.0)
    window = window_make(200, 1, 4, 1e-3)
    at = centres(window, clean, 50)
    truth = system.truth(clean[at])[:, 1]
    plain_miss = plain_targets(window, clean, 50)[1][:, 1] - truth
    corrected_miss = corrected_targets(system.physics, window, clean, 50)[:, 1] - system.missing(clean[at])[:, 1]
    assert np.abs(corrected_miss).max() < 0.1 * np.abs(plain_miss).max()


@pytest.mark.parametrize("sensor", fits.SENSORS)
def test_observe_gives_finite_stamps_and_the_asked_noise(sensor):
    system = pendulum()
    times, samples = fits.observe(system, sensor, 0.01, 0, 2.0)
    _, clean = system.clean(0, 2.0)
    assert len(times) == len(samples) == 2000 and np.all(np.diff(times) > 0.0)
    lost = np.isnan(samples).any(axis=1).mean()
    assert (0.003 < lost < 0.03) if sensor == "dropouts" else lost == 0.0
    if sensor in ("gaussian", "laplace", "12 bits", "dropouts"):
        assert np.nanstd(samples - clean, axis=0) == pytest.approx(0.01 * np.sqrt(np.mean(clean**2, axis=0)), rel=0.1)


def test_run_fit_says_why_a_fit_failed():
    unit = fits.jet_unit("default", 0.01, 0, seconds=SECONDS, settings={"engine": ENGINE, "nonsense": 1})
    assert "nonsense" in fits.run_fit(unit.config)["failed"]


def test_select_and_stats_count_failed_fits_apart():
    outcomes = [
        ({"noise": 0.1, "settings": {"steps": 5}}, {"error": 1.0}),
        ({"noise": 0.1, "settings": {}}, {"failed": "so"}),
    ]
    assert select(outcomes, steps=5) == [{"error": 1.0}]
    assert select(outcomes, steps=None) == [{"failed": "so"}]
    assert stats(select(outcomes, noise=0.1)) == {"mean": 1.0, "std": None, "values": [1.0], "failed": 1}


def test_plain_turns_arrays_and_missing_numbers_into_json():
    value = {1: np.array([1.0, np.nan]), "flag": np.bool_(True), "count": np.int64(3)}
    assert plain(value) == {"1": [1.0, None], "flag": True, "count": 3}


def test_table_markdown_escapes_bars():
    assert Table("Title", ["a|b"], [["c"]]).markdown() == "**Title**\n\n| a\\|b |\n| --- |\n| c |"
