"""What a control engineer reads: innovations beside those of the known physics alone, and poles with their spread."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import tinyude as tu
from tinyude.model.dynamics import known_dynamics
from tinyude.model.simulation import free_run
from tinyude.report.control_panels import _damping_rays, correlation_panels, poles_panel
from tinyude.report.mathml import equation_mathml
from tinyude.report.panels import _fast, _whole_or_less
from tinyude.report.svg import Chart

PHYSICS = tu.Physics(["x", "v"], ["v", "-4*x + u"], ["u"])


@pytest.fixture(scope="module")
def record() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Noisy samples, times and force of a spring whose damping, 0.4 v and dry friction of 0.3, the physics lacks."""
    t = np.arange(0.0, 40.0, 0.02)
    force = 2.0 * np.sign(np.sin(0.7 * t)) + np.sin(2.3 * t)

    def field(time: float, x: np.ndarray) -> list[float]:
        return [x[1], -4.0 * x[0] - 0.4 * x[1] - 0.3 * np.tanh(40.0 * x[1]) + force[min(int(time / 0.02), len(t) - 1)]]

    states = solve_ivp(field, (0.0, t[-1]), [1.0, 0.0], t_eval=t, max_step=0.02, rtol=1e-8).y.T
    return states + 0.003 * np.random.default_rng(3).standard_normal(states.shape), t, force


@pytest.fixture(scope="module")
def oscillator(record: tuple[np.ndarray, ...]) -> tu.UDE:
    return tu.UDE(PHYSICS).fit(*record)


def test_innovations_stand_beside_those_of_the_known_physics_alone(oscillator: tu.UDE) -> None:
    found = oscillator.diagnostics_["innovations"]
    assert 0.7 < found["mean_square"]["v"] < 1.4
    assert found["known"]["mean_square"]["v"] > 3.0 * found["mean_square"]["v"]
    panels = correlation_panels(oscillator)
    assert [panel["title"] for panel in panels] == [
        "Innovations of x: autocorrelation", "Innovations of v: autocorrelation",
        "Innovations of x against u", "Innovations of v against u",
    ]  # fmt: skip
    for panel in panels:
        model, known = panel["table"]["rows"]
        assert model["status"] == "good" and (model["who"], known["who"]) == ("model", "known alone")
        assert panel["draw"]((400.0, 200.0)).count('class="known"') == 1
    assert panels[1]["table"]["rows"][1]["status"] == "bad"


def test_poles_are_those_of_the_mean_slopes_over_the_motion_with_their_spread(record: tuple[np.ndarray, ...]) -> None:
    """Of the windows' model, which has a covariance: refinement may keep the streaming learner's, which has none."""
    ude = tu.UDE(PHYSICS, refine=False).fit(*record)
    panel = poles_panel(ude)
    assert panel is not None
    known, model = (next(row for row in panel["rows"] if row["who"] == who) for who in ("known", "model"))
    assert known["hertz"] == (pytest.approx(2.0 / (2.0 * np.pi)), None)
    assert known["damping"] == (pytest.approx(0.0, abs=1e-9), None)
    v = ude.record_["x"][:, 1]
    dry = 0.3 * float(np.tanh(40.0 * v) @ (v - v.mean()) / ((v - v.mean()) @ (v - v.mean())))
    value, spread = model["damping"]  # the tangent at rest would say (0.4 + 12) / 4
    assert value == pytest.approx((0.4 + dry) / 4.0, abs=4.0 * spread + 0.005) and 0.0 < spread < 0.02


def test_heat_that_goes_with_the_temperature_does_not_move_the_pole() -> None:
    """A plane through the rates gives -0.157 here: where the speed heats most, it is hot."""
    t = np.arange(0.0, 60.0, 0.1)
    w = 1.5 + np.sin(0.15 * t)
    physics = tu.Physics(["T"], ["-0.2*T + 0.5*w**4"], ["w"])
    x = free_run(known_dynamics(physics), np.array([1.0]), t, np.ones(1), w[:, None])
    noisy = x + 0.001 * np.random.default_rng(0).standard_normal(x.shape)
    panel = poles_panel(tu.UDE(physics, library=["T"], network=None, refine=False).fit(noisy, t, w))
    assert panel is not None
    assert [row["real"] for row in panel["rows"]] == [pytest.approx(-0.2, abs=0.01)] * 2


def test_page_of_many_signals_stays_small(tmp_path: Path) -> None:
    names = [f"x{k}" for k in range(8)]
    rates = ["u - 2*x0 + x1 - 0.1*x0", *[f"x{k - 1} - 2*x{k} + x{k + 1}" for k in range(1, 7)], "x6 - 2*x7"]
    t = np.arange(0.0, 60.0, 0.02)
    u = np.sign(np.sin(0.7 * t)) + np.sin(0.31 * t)
    x = free_run(known_dynamics(tu.Physics(names, rates, ["u"])), np.zeros(8), t, np.ones(8), u[:, None])
    noisy = x + 0.002 * np.random.default_rng(0).standard_normal(x.shape)
    known = ["u - 2*x0 + x1", *rates[1:]]
    ude = tu.UDE(tu.Physics(names, known, ["u"]), library=["x0"], network=None, refine=False).fit(noisy, t, u)
    assert ude.report(tmp_path / "report.html").stat().st_size < 1_500_000


def test_the_pole_of_an_integrator_is_zero_and_real_poles_get_no_lines_of_damping() -> None:
    rng = np.random.default_rng(0)
    w = np.repeat(rng.uniform(-1.0, 1.0, 20), 50)
    x, rows = np.zeros(2), []
    for held in w:
        rows.append(x)
        x = x + 0.02 * np.array([(held - (x[0] - x[1]) / 0.3), (x[0] - x[1]) / 0.9])
    physics = tu.Physics(["v", "q"], ["w - (v - q)/0.3", "(v - q)/0.9"], ["w"])
    noisy = np.array(rows) + 0.001 * rng.normal(size=(len(w), 2))
    panel = poles_panel(tu.UDE(physics, library=None, network=None, refine=False).fit(noisy, 0.02, w))
    assert panel is not None and "ζ" not in panel["svg"]
    assert sorted(row["real"] for row in panel["rows"] if row["who"] == "known")[-1] == 0.0
    assert all(row["decay"] is None or row["decay"] < 1.0 for row in panel["rows"])


def test_labels_of_damping_that_would_overlap_are_left_out() -> None:
    def labels(left: float, top: float) -> int:
        chart = Chart((left, 1.0), (-top, top), x_label="", y_label="", alt="")
        _damping_rays(chart, left, top)
        return chart.draw().count("ζ")

    assert labels(-5.0, 5.0) == 3
    assert labels(-20.0, 500.0) == 1


def test_only_a_whole_is_a_hundred_per_cent() -> None:
    assert [_whole_or_less(share) for share in (1.0, 0.99996, 0.998, 0.5)] == ["100 %", "99.9 %", "99.8 %", "50 %"]


def test_a_path_of_jumps_is_drawn_as_dots() -> None:
    t = np.linspace(0.0, 20.0, 400)
    assert not _fast(np.column_stack([np.sin(t), np.cos(t)]))
    assert _fast(np.column_stack([np.sin(40.0 * t), np.cos(40.0 * t)]))


def test_the_equation_of_a_rate_of_which_nothing_is_known_begins_with_what_was_learned() -> None:
    physics = tu.Physics(["x", "y"], ["0", "0"])
    model = SimpleNamespace(physics=physics, sees=())
    row = {"state": "x", "term": "x", "learned": -1.0}
    ude = SimpleNamespace(model_=model, terms_=[row], diagnostics_={"visited": {}, "network": {}})
    first, second = equation_mathml(ude)
    assert "<mn>0</mn>" not in first and "<mn>0</mn>" in second
