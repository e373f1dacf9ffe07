"""What the page shows of the fitted record: free run, rejected windows, stretches outside the visited range."""

from __future__ import annotations

import numpy as np
import pytest

import tinyude as tu
from tinyude.model.dynamics import known_dynamics
from tinyude.model.simulation import free_run
from tinyude.model.validation import free_run as run_beside
from tinyude.report.displays import record_run
from tinyude.report.panels import free_run_panel, record_panel

PERIOD = 2e-3
LOST, STUCK = slice(2_000, 2_060), slice(5_000, 5_080)


@pytest.fixture(scope="module")
def arm() -> tu.UDE:
    """A motor arm by its angle: the voltage has a new value every 14 ms; lost and frozen samples."""
    truth = tu.Physics(["q", "w"], ["w", "12*V - 30*sin(q) - 1.5*w"], inputs=["V"])
    rng = np.random.default_rng(4)
    t = PERIOD * np.arange(10_000)
    voltage = np.repeat(rng.normal(0.0, 1.0, 1_500), 7)[: len(t), None]
    angle = free_run(known_dynamics(truth), np.array([0.3, 0.0]), t, np.ones(2), voltage)[:, :1]
    angle += 1e-3 * rng.standard_normal(angle.shape)
    angle[LOST], angle[STUCK] = np.nan, angle[STUCK.start]
    known = tu.Physics(["q", "w"], ["w", "12*V - 30*sin(q)"], inputs=["V"])
    return tu.UDE(known, measured=["q"]).fit(angle, t=PERIOD, u=voltage)


def test_record_run_sees_every_sample_of_the_inputs(arm: tu.UDE) -> None:
    assert len(arm.record_["u"]) > 2 * len(arm.record_["t"])  # the picture's rows are thinned
    assert record_run(arm)["total_error"] < 0.01


def test_record_run_survives_the_model_file(arm: tu.UDE, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("model") / "arm.tinyude"
    arm.save(path)
    assert record_run(tu.load(path))["total_error"] == pytest.approx(record_run(arm)["total_error"], rel=1e-6)


def test_record_panel_tells_when_and_why_windows_were_rejected(arm: tu.UDE) -> None:
    panel = record_panel(arm, {})
    assert panel is not None
    found = {row["reason"]: row for row in panel["rejected"]}
    for reason, rows in (("not a number", LOST), ("stuck", STUCK)):
        (first, last), *others = found[reason]["spans"]
        assert not others
        assert first == pytest.approx(rows.start * PERIOD, abs=0.05)
        assert last == pytest.approx(rows.stop * PERIOD, abs=0.05)
    rejected = arm.diagnostics_["rejected"]
    assert [found["not a number"]["count"], found["stuck"]["count"]] == [rejected["nonfinite"], rejected["stuck"]]


def test_free_run_panel_marks_unmeasured_states_and_inputs_outside_the_range(arm: tu.UDE) -> None:
    t = PERIOD * np.arange(1_000)
    voltage = np.where((t > 1.0) & (t < 1.2), 20.0, 0.0)[:, None]
    run = run_beside(arm, t, np.zeros((len(t), 1)), name="measured", x0=np.array([0.1, 0.0]), u=voltage)
    panel = free_run_panel(arm, run, {})
    assert panel is not None
    first, last = panel["outside"][0][0], panel["outside"][-1][1]
    assert first == pytest.approx(1.0, abs=0.01)
    assert last > 1.19
