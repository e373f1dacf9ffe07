"""Failing sensors on a board, the quick run: a heater, its faults of one minute."""

import pytest

from tinyude import native
from tinyude.experiments.studies import withstand

pytestmark = pytest.mark.skipif(not native.available(), reason="the core is not compiled")


def test_withstand_keeps_the_residual_and_names_every_fault() -> None:
    outcomes = [(unit.config, unit.run(unit.config)) for unit in withstand.units(quick=True)]
    summary = withstand.summarise(outcomes, quick=True)
    faulty = [row for row in summary["rows"] if row["fault"] != "none"]
    assert len(faulty) == len(withstand.FAULTS) - 1 - len(withstand.BOTH)
    assert all(row["after"] < withstand.LIMIT for row in faulty)
    assert all(row["named"] for row in faulty)
    (table,) = withstand.tables(summary)
    assert all(len(row) == len(table.header) for row in table.rows)
