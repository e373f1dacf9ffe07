import pytest

from tinyude.experiments.studies import benchmarks


def test_summarise_tells_errors_and_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(benchmarks.FOLDER_VARIABLE, raising=False)
    units = benchmarks.units(quick=False)
    assert [unit.config.get("start") for unit in units] == [None, 0.5, 1.0, 2.0]
    absent = [(unit.config, unit.run(unit.config)) for unit in units]
    summary = benchmarks.summarise(absent, quick=False)
    assert all(benchmarks.FOLDER_VARIABLE in note for note in summary["notes"]) and len(summary["notes"]) == 2
    made = [(units[0].config, {"error": 0.4, "grey": 14.0, "best": "terms", "equation": "dv/dt = -y"}), *absent[1:]]
    summary = benchmarks.summarise(made, quick=False)
    assert "Silverbox: 0.4 mV; grey-box 14 mV; kept: terms." in summary["notes"]
    tables = benchmarks.tables(summary)
    assert all(len(row) == len(table.header) for table in tables for row in table.rows)


def test_two_tanks_have_an_overflow_that_begins_at_its_edge() -> None:
    physics = benchmarks.two_tanks(1.0)
    low, high = physics.field([9.0, 5.0], [1.0]), physics.field([12.0, 5.0], [1.0])
    without = benchmarks.two_tanks(1.0, overflow=False)
    assert abs(low - without.field([9.0, 5.0], [1.0])).max() < 1e-3
    assert high[0] < without.field([12.0, 5.0], [1.0])[0] - 0.1
