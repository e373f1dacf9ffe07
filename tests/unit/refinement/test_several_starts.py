"""A cascade of which the upper tank is not measured: slow and fast tank can nearly be swapped."""

import copy
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import tinyude as tu
from tinyude.report.collect import collect
from tinyude.report.displays import record_run

TRUE = {"a": 0.4, "b": 0.22, "c": 0.35}


def lower_level(seed: int = 6, start: tuple[float, float] = (2.0, 4.0)) -> tuple[np.ndarray, np.ndarray]:
    """Samples of the lower level, a second apart, and the inflow, straight from sample to sample."""
    rng = np.random.default_rng(seed)
    times = np.arange(360.0)
    inflow = np.interp(times, np.arange(0.0, 361.0, 18.0), rng.uniform(1.0, 2.5, 21))

    def rate(t: float, x: np.ndarray) -> list[float]:
        upper, lower = np.sqrt(np.abs(x))
        flow = TRUE["a"] * upper
        return [TRUE["c"] * float(np.interp(t, times, inflow)) - flow, flow - TRUE["b"] * lower]

    states = solve_ivp(rate, (0.0, times[-1]), start, t_eval=times, rtol=1e-8, atol=1e-9, max_step=0.5).y.T
    level = states[:, 1]
    return level + 0.01 * level.std() * rng.standard_normal(len(level)), inflow


@pytest.mark.parametrize("factor", [1.0 / 3.0, 2.0, 3.0])
def test_fit_finds_parameters_behind_an_unseen_state_from_guesses_three_times_off(factor: float) -> None:
    level, inflow = lower_level()
    parameters = {name: tu.Parameter(factor * v, learn=True, min=0.01, max=5.0) for name, v in TRUE.items()}
    physics = tu.Physics(
        ["upper", "lower"],
        ["c*u - a*sqrt(abs(upper))", "a*sqrt(abs(upper)) - b*sqrt(abs(lower))"],
        inputs=["u"],
        parameters=parameters,
    )
    ude = tu.UDE(physics, measured=["lower"], unmeasured={"upper": (3.0, 2.0)}).fit(level, t=1.0, u=inflow)
    assert {name: value for name, value, _, _ in ude.parameters_} == pytest.approx(TRUE, rel=0.02)
    assert ude.verdict_.status == "good"


@pytest.fixture(scope="module")
def cascade() -> tu.UDE:
    level, inflow = lower_level()
    parameters = {name: tu.Parameter(v, learn=True, min=0.01, max=5.0) for name, v in TRUE.items()}
    rhs = ["c*u - a*sqrt(abs(upper))", "a*sqrt(abs(upper)) - b*sqrt(abs(lower))"]
    physics = tu.Physics(["upper", "lower"], rhs, inputs=["u"], parameters=parameters)
    return tu.UDE(physics, measured=["lower"], unmeasured={"upper": (3.0, 2.0)}).fit(level, t=1.0, u=inflow)


def test_report_of_an_unseen_state_shows_free_run_innovations_and_record(cascade: tu.UDE) -> None:
    page = collect(cascade)["page"]
    assert page["free_run"]["total_error"] < 0.03
    assert page["analysis"][0]["title"] == "Innovations of lower: autocorrelation"
    assert [card["title"] for card in page["cards"]] == [
        "Held-back free runs, share of the spread", "One-step errors of lower, largest autocorrelation",
    ]  # fmt: skip
    assert len(page["record"]["signals"]) == 2
    assert page["poles"] and page["coverage"]


def test_report_of_an_unseen_state_survives_the_model_file(cascade: tu.UDE, tmp_path: Path) -> None:
    cascade.save(tmp_path / "cascade.tinyude")
    loaded = collect(tu.load(tmp_path / "cascade.tinyude"))["page"]["free_run"]
    assert loaded["total_error"] == pytest.approx(collect(cascade)["page"]["free_run"]["total_error"], rel=1e-6)


def test_validate_judges_an_unseen_state_on_the_new_record(cascade: tu.UDE) -> None:
    ude = copy.deepcopy(cascade)
    level, inflow = lower_level(seed=8, start=(3.0, 3.0))
    assert ude.validate(level, t=1.0, u=inflow).status == "good"
    assert ude.verdict_.figures["judged_on"] == "held-out record"
    assert ude.verdict_.figures["held_back"][""] < 0.03
    higher, more = lower_level(seed=9, start=(4.0, 2.0))
    assert "outside the recorded range" in ude.validate(higher, t=1.0, u=more).summary
    doubted = ude.validate(level[::-1].copy(), t=1.0, u=inflow)
    assert doubted.status == "bad" and "held-out record" in doubted.summary


def test_plot_free_run_starts_an_unseen_state_from_the_record(cascade: tu.UDE) -> None:
    level, inflow = lower_level(seed=9, start=(4.0, 2.0))
    run = record_run(cascade, level, 1.0, inflow)
    assert run["total_error"] < 0.03
    assert run["states"][0, 0] == pytest.approx(4.0, rel=0.05)


def test_verdict_doubts_an_unseen_state_whose_innovations_are_not_white() -> None:
    level, inflow = lower_level()
    physics = tu.Physics(["upper", "lower"], ["0.35*u - 0.4*upper", "0.4*upper - 0.22*lower"], inputs=["u"])
    wrong = tu.UDE(physics, measured=["lower"], unmeasured={"upper": (3.0, 2.0)}, library=None)
    with pytest.warns(tu.TinyUDEWarning):
        wrong.fit(level, t=1.0, u=inflow)
    doubts = [reason.kind for reason in wrong.verdict_.reasons if reason.severity != "note"]
    assert "innovations" in doubts or "input" in doubts
