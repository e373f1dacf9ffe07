"""Paths, results, flags in words, tables and page of a fleet, without a cluster."""

from __future__ import annotations

import json
import re
from pathlib import Path

import duckdb
import fsspec
import numpy as np
import pandas as pd
import polars as pl
import pytest

import tinyude as tu
from tinyude.experiments.costs.simulated_fleet import SimulatedFleet
from tinyude.fleet.evidence import coefficient_rows, unit_figures
from tinyude.fleet.paths import find_units, frame_units, units_of
from tinyude.fleet.periods import ordered, period_days
from tinyude.fleet.result import FleetResult, merge_rows
from tinyude.fleet.store import Store
from tinyude.fleet.work import Recipe, fit_unit
from tinyude.physics.file import load_physics_file

from .conftest import CHANGED, fleet_rows, scale_term


def make(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")


def test_find_units_reads_machine_period_and_labels(tmp_path: Path) -> None:
    make(
        tmp_path, "Lyon/arm-2/2026-03-01.csv", "Lyon/arm-2/2026-03-02.csv", "Brno/arm-1/2026-03-01.csv", "Brno/note.txt"
    )
    units = find_units(f"{tmp_path}/{{site}}/{{machine}}/{{date}}.csv")
    told = [(unit.machine, unit.period, dict(unit.labels)["site"]) for unit in units]
    assert told == [("arm-1", "2026-03-01", "Brno"), ("arm-2", "2026-03-01", "Lyon"), ("arm-2", "2026-03-02", "Lyon")]
    assert units[0].files[0].endswith("Brno/arm-1/2026-03-01.csv")


def test_find_units_tells_the_same_name_at_two_sites_apart(tmp_path: Path) -> None:
    make(tmp_path, "Lyon/arm-1.csv", "Brno/arm-1.csv")
    assert [u.machine for u in find_units(f"{tmp_path}/{{site}}/{{machine}}.csv")] == ["Brno/arm-1", "Lyon/arm-1"]


def test_find_units_puts_files_of_one_period_together(tmp_path: Path) -> None:
    make(tmp_path, "a/2026-03-01/part-0.csv", "a/2026-03-01/part-1.csv")
    (unit,) = find_units(f"{tmp_path}/{{machine}}/{{date}}/*.csv")
    assert len(unit.files) == 2 and len(unit.stamps) == 2


@pytest.mark.parametrize("template", ["{machine}_{date}.csv", "**/{machine}_{date}.csv"])
def test_find_units_reads_fields_beside_underscores(tmp_path: Path, template: str) -> None:
    for name in ("pump_a_2026-01-05", "pump_a_2026-01-12", "pump_b_2026-01-05"):
        (tmp_path / f"{name}.csv").write_text("t\n")
    found = [(unit.machine, unit.period) for unit in find_units(f"{tmp_path}/{template}")]
    assert found == [("pump_a", "2026-01-05"), ("pump_a", "2026-01-12"), ("pump_b", "2026-01-05")]


@pytest.mark.parametrize(
    ("template", "name", "machine", "period"),
    [
        ("{machine}-{date}.csv", "pump-1-2026-01-05.csv", "pump-1", "2026-01-05"),
        ("{machine}_{date}.csv", "pump_1_2026_01_05.csv", "pump_1", "2026_01_05"),
        ("{machine}-{week}.csv", "pump-1-2026-W02.csv", "pump-1", "2026-W02"),
        ("{machine}.{date}.csv", "pump.1.05.01.2026.csv", "pump.1", "05.01.2026"),
        ("{machine}_{date}.csv", "pump_1_20260105_063000.csv", "pump_1", "20260105_063000"),
        ("{date}-{machine}.csv", "2026-01-05-pump-1.csv", "pump-1", "2026-01-05"),
        ("{site}-{machine}--{date}.csv", "Lyon-pump-1--2026-01-05.csv", "pump-1", "2026-01-05"),
        ("{machine}-{run}.csv", "pump-1-12.csv", "pump-1", "12"),
        ("{machine}-{period}.csv", "pump-1-before.csv", "pump-1", "before"),
        ("{machine}/{year}/{month}/{day}.csv", "pump/2026/01/05.csv", "pump", "2026-01-05"),
        ("year={year}/week={week}/{machine}.csv", "year=2026/week=2/pump.csv", "pump", "2026-W2"),
        ("{date}/{time}_{machine}.csv", "2026-01-05/12-30_pump_1.csv", "pump_1", "2026-01-05 12-30"),
    ],
)
def test_find_units_tells_names_from_dates(tmp_path: Path, template: str, name: str, machine: str, period: str) -> None:
    make(tmp_path, name)
    (unit,) = find_units(f"{tmp_path}/{template}")
    assert (unit.machine, unit.period) == (machine, period)
    assert unit.labels == ((("site", "Lyon"),) if "{site}" in template else ())


def test_find_units_takes_a_machine_of_two_years_for_one(tmp_path: Path) -> None:
    make(tmp_path, "2025/12/pump.csv", "2026/01/pump.csv")
    units = find_units(f"{tmp_path}/{{year}}/{{month}}/{{machine}}.csv")
    assert [(unit.machine, unit.period) for unit in units] == [("pump", "2025-12"), ("pump", "2026-01")]


def test_find_units_reads_whole_names_below_any_folder(tmp_path: Path) -> None:
    (tmp_path / "site" / "arm-1").mkdir(parents=True)
    (tmp_path / "site" / "arm-1" / "2026-01-05.csv").write_text("t\n")
    (unit,) = find_units(f"{tmp_path}/**/{{machine}}/{{date}}.csv")
    assert unit.machine == "arm-1"


def test_find_units_takes_no_result_for_a_log(tmp_path: Path) -> None:
    make(tmp_path, "arm-1/2026-03-01.parquet", "fleet/terms.parquet", "fleet-2/2026-03-01.parquet")
    logs = f"{tmp_path}/{{machine}}/{{date}}.parquet"
    assert [unit.machine for unit in find_units(logs, f"{tmp_path}/fleet/")] == ["arm-1", "fleet-2"]


def test_find_units_reads_any_storage() -> None:
    memory = fsspec.filesystem("memory")
    memory.pipe_file("/plant/arm-7/2026-03-01.csv", b"x")
    (unit,) = find_units("memory://plant/{machine}/{date}.csv")
    assert unit.machine == "arm-7" and unit.files == ("memory:///plant/arm-7/2026-03-01.csv",)
    memory.rm("/plant", recursive=True)


@pytest.mark.parametrize(
    ("template", "word"), [("logs/*.csv", "machine"), ("nowhere/{machine}.csv", "No file matches")]
)
def test_find_units_says_what_is_wrong(template: str, word: str) -> None:
    with pytest.raises(tu.TinyUDEError, match=word):
        find_units(template)


def test_frame_units_take_frames_of_any_library() -> None:
    columns = {"time": [0.0, 1.0], "x": [1.0, 2.0]}
    units = frame_units({"a": pl.DataFrame(columns), ("b", "2026"): pd.DataFrame(columns), "c": columns})
    assert [(unit.machine, unit.period) for unit in units] == [("a", ""), ("b", "2026"), ("c", "")]
    assert all(unit.content and unit.content[:4] == b"PAR1" for unit in units)
    with pytest.raises(tu.TinyUDEError, match="not a table"):
        frame_units({"a": 3})


@pytest.mark.parametrize(
    ("logs", "word"),
    [
        ({}, "no frame"),
        ({("a", "b", "c"): pl.DataFrame({"x": [1.0]})}, "not the name of a log"),
        ({"a": None}, "not a table"),
        (pl.DataFrame({"x": [1.0]}), "frames by machine"),
        ([pl.DataFrame({"x": [1.0]})], "frames by machine"),
        (None, "give a template"),
        ([], "give a template"),
    ],
)
def test_fit_says_what_logs_are(logs: object, word: str) -> None:
    with pytest.raises(tu.TinyUDEError, match=word):
        tu.fleet.fit(logs, tu.Physics(["x"], ["-x"]))


def test_fit_rejects_a_wrong_option_once() -> None:
    with pytest.raises(tu.TinyUDEError, match=r"options has refines; there are .*refine,"):
        tu.fleet.fit({"a": {"x": [1.0]}}, tu.Physics(["x"], ["-x"]), options={"refines": False})


def test_units_of_takes_paths(tmp_path: Path) -> None:
    make(tmp_path, "arm-1.csv")
    assert [unit.machine for unit in units_of(tmp_path / "{machine}.csv")] == ["arm-1"]


def test_fleet_result_shows_itself_in_a_line() -> None:
    assert repr(FleetResult(fleet_rows(5, 2))) == "FleetResult(5 machines, 10 of 10 logs fitted, 0 flagged)"


def test_period_days_reads_dates_weeks_and_months() -> None:
    days = period_days(["2026-W02", "2026-01-06", "20260107", "2026-02", "2026-01-05T12:00:00"])
    assert days is not None
    assert [days["2026-01-06"] - days["2026-W02"], days["20260107"] - days["2026-01-06"]] == [1.0, 1.0]
    assert days["2026-01-05T12:00:00"] - days["2026-W02"] == 0.5


@pytest.mark.parametrize(
    "periods",
    [
        ["26.01.2026", "02.02.2026", "09.02.2026"],
        ["12-29-2025", "01-05-2026", "01-12-2026"],  # month first: there is no month 29
        ["2026-1-5", "2026-1-12", "2026-10-1"],
        ["2026-01-05_0630", "20260105_063001", "2026-01-05T12-00-00", "2026.01.05 12:30"],
        ["before", "run 2", "run 9", "run 10"],
    ],
)
def test_ordered_follows_dates_and_numbers(periods: list[str]) -> None:
    assert ordered(reversed(periods)) == periods
    assert (period_days(periods) is None) == ("before" in periods)


def test_fleet_result_takes_the_latest_log_by_its_date(tmp_path: Path) -> None:
    rows = fleet_rows(6, 6)
    for row in rows:
        year, month, day = row["period"].split("-")
        row["period"] = f"{day}.{month}.{year}"
    scale_term(rows, 3, "omega", np.linspace(1.0, 1.6, 6))
    found = FleetResult(merge_rows(rows[::-1]))
    assert found.clock.periods[-1] == "09.02.2026" == found.rows_of("arm-0003")[-1]["period"]
    assert found.outliers()["kind"].to_list() == ["trend"] and "a week" in found.outliers()["reason"][0]


def test_intervals_of_units_hold_the_true_coefficients(tmp_path: Path) -> None:
    fleet, terms = SimulatedFleet(machines=10, weeks=1, seed=4), ("omega", "tanh(20*omega)")
    recipe = Recipe(load_physics_file(fleet.write(tmp_path)), terms)
    truth = {fleet.name(m): (-v[0], -d[0]) for m, (v, d) in enumerate(zip(*fleet.coefficients(), strict=True))}
    off = []
    for unit in find_units(f"{tmp_path}/logs/{{machine}}/{{date}}.parquet"):
        found = {row["term"]: row for row in fit_unit(unit, recipe, Store(""))["terms"]}
        for term, true in zip(terms, truth[unit.machine], strict=True):
            off.append((found[term]["coefficient"] - true) / found[term]["error"])
    assert 0.5 < np.sqrt(np.mean(np.square(off))) < 1.5  # chance that 20 normal numbers are within: 0.998


def test_coefficient_rows_tell_the_known_value_and_the_verdict() -> None:
    physics = tu.Physics(["x", "v"], ["v", "-k*x - 0.1*v"], parameters={"k": 4.0})
    t = np.arange(0.0, 30.0, 0.02)
    rng = np.random.default_rng(0)
    decay, pace = 0.25, np.sqrt(4.0 - 0.25**2)  # x'' = -4 x - 0.5 x'
    x = np.exp(-decay * t) * np.cos(pace * t)
    v = -decay * x - pace * np.exp(-decay * t) * np.sin(pace * t)
    Y = np.column_stack([x, v]) + 1e-3 * rng.standard_normal((len(t), 2))
    ude = tu.UDE(physics, hidden=(), library=["v"], refine=False).fit(Y, t=t)
    (row,) = coefficient_rows(ude)
    assert (row["kind"], row["state"], row["term"], row["known"]) == ("term", "v", "v", -0.1)
    assert row["low"] < -0.4 < row["high"] and row["known"] + row["coefficient"] == pytest.approx(-0.5, rel=0.02)
    figures = unit_figures(ude)
    assert figures["verdict"] == ude.verdict_.status and 0.0 < figures["health"] < 0.1


def test_fleet_result_flags_those_that_changed_and_hardly_others(changed_fleet: FleetResult, record_property) -> None:
    flags = {row["machine"]: row for row in changed_fleet.outliers().to_dicts()}
    assert list(flags)[:4] == sorted(CHANGED, key=list(flags).index)  # the most serious come first
    record_property("figure", f"false alarms of the whole comparison: {len(flags) - 4} of 994 healthy machines")
    assert len(flags) - 4 <= 5  # one in a thousand is stated: chance of more 0.0006
    assert flags["arm-0087"]["kind"] == "step" and flags["arm-0087"]["since"] == "2026-02-23"
    assert re.fullmatch(
        r"the coefficient of tanh\(20\*omega\) stepped up by 3\d % after 2026-02-23", flags["arm-0087"]["reason"]
    )
    assert flags["arm-0214"]["kind"] == "level" and "above the fleet" in flags["arm-0214"]["reason"]
    assert flags["arm-0158"]["kind"] == "trend" and "rises by" in flags["arm-0158"]["reason"]
    assert flags["arm-0062"]["kind"] == "trend" and "falls by" in flags["arm-0062"]["reason"]
    assert changed_fleet.outliers()["rank"].to_list() == list(range(1, len(flags) + 1))


def test_fleet_result_tells_silent_machines_and_why(changed_fleet: FleetResult) -> None:
    states = changed_fleet.states
    assert states["arm-0375"] == ("silent", ["no usable log since 2026-02-16"])
    assert states["arm-1000"] == ("silent", ["no usable log: file is <empty>"])
    assert sum(state == "healthy" for state, _ in states.values()) == 999 - changed_fleet.outliers().height


def test_fleet_result_trend_holds_the_true_slope(changed_fleet: FleetResult) -> None:
    (row,) = changed_fleet.trend("arm-0158").filter(pl.col("quantity").str.contains("tanh")).to_dicts()
    assert row["low"] < -0.03 < row["high"]  # 2 % of -1.5 a week
    with pytest.raises(tu.TinyUDEError, match="no machine 'arm-9'"):
        changed_fleet.trend("arm-9")


def test_fleet_result_flags_noise_that_doubles() -> None:
    rows = fleet_rows(60, 6)
    for row in [row for row in rows if row["machine"] == "arm-0007"][3:]:
        row["noise"] = [2.2 * row["noise"][0]]
    (flag,) = FleetResult(rows).flags.to_dicts()
    assert flag["machine"] == "arm-0007" and flag["reason"].startswith("the noise of theta stepped up by a factor of 2")


def test_fleet_result_treats_a_term_left_out_as_about_zero() -> None:
    rows = fleet_rows(40, 4)
    for row in [row for row in rows if row["machine"] == "arm-0003"]:
        row["terms"] = [entry for entry in row["terms"] if entry["term"] != "omega"]
    found = FleetResult(rows)
    assert found.outliers()["machine"].to_list() == ["arm-0003"]
    left_out = found.terms.filter((pl.col("machine") == "arm-0003") & (pl.col("term") == "omega"))
    assert left_out["coefficient"].to_list() == [0.0] * 4 and set(left_out["kind"]) == {"left out"}


def test_fleet_result_of_failures_alone_is_still_a_result() -> None:
    failed = {"status": "failed", "error": "no", "terms": [], "noise": [], "model": "", "health": None}
    found = FleetResult([{**row, **failed} for row in fleet_rows(3, 1)])
    assert found.terms.is_empty() and found.outliers().is_empty()
    assert list(found.states.values()) == [("silent", ["no usable log: no"])] * 3
    assert found.to_html().count("arm-0001") == 2  # among the machines and among the logs without a result


def test_fleet_tables_open_in_polars_pandas_and_duckdb(tmp_path: Path) -> None:
    rows = fleet_rows(8, 3)
    scale_term(rows, 2, "omega", np.full(3, 2.0))
    found = FleetResult(rows, Store(str(tmp_path)), {"terms": ["omega"]})
    found.write()
    names = ["machine", "period", "state", "term", "coefficient", "low", "high", "pooled", "net", "health"]
    assert set(names) <= set(pl.read_parquet(tmp_path / "terms.parquet").columns)
    assert len(pd.read_parquet(tmp_path / "terms.parquet")) == 8 * 3 * 3
    query = f"select machine, avg(net) from '{tmp_path}/terms.parquet' where term = 'omega' group by 1 order by 2"
    assert duckdb.sql(query).fetchall()[0][0] == "arm-0002"
    units = duckdb.sql(f"select status, count(*), sum(seconds) from '{tmp_path}/units.parquet' group by 1").fetchall()
    assert units[0][:2] == ("ok", 24)
    assert pl.read_parquet(tmp_path / "units.parquet")["noise"].dtype == pl.List(pl.Float64)


def test_fleet_page_is_self_contained_and_escapes_names() -> None:
    rows = fleet_rows(5, 3)
    evil = '</script><img src=x onerror="alert(1)">'
    for row in rows:
        row["machine"] = row["machine"].replace("arm-0001", evil)
        row["labels"] = {"site": evil}
    rows[-1].update(status="failed", error=evil)
    text = FleetResult(rows).to_html()
    assert "<img src=x" not in text
    assert not re.search(r"(?:src|href)\s*=\s*[\"']?https?:|@import|url\(", text)
    held = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert held and len(json.loads(held[1])["machines"]) == 5
