"""What a fitted UDE tells about itself."""

from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

import tinyude as tu
from tinyude.estimator.fitted import progress_callback
from tinyude.systems.system import System

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _closed() -> object:
    yield
    plt.close("all")


def test_verdict_is_good_and_survives_the_file(fitted: tu.UDE, tmp_path: Path) -> None:
    assert fitted.verdict_.status == "good" and "known physics alone" in fitted.verdict_.summary
    fitted.save(tmp_path / "m.tinyude")
    assert tu.load(tmp_path / "m.tinyude").verdict_ == fitted.verdict_


def test_terms_show_yours_learned_and_net(fitted: tu.UDE, pendulum: System) -> None:
    [row] = [row for row in fitted.terms_ if row["term"] == "omega"]
    assert row["yours"] == 0.0 and row["net"] == row["learned"] and row["low"] < row["learned"] < row["high"]
    clean = pendulum.clean(seed=1)[1][:12_000]
    share = 0.4 * np.sqrt(np.mean(clean[:, 1] ** 2) / np.mean(pendulum.truth(clean)[:, 1] ** 2))
    assert row["share"] == pytest.approx(share, rel=0.03)


def test_linearize_is_the_slope_of_predict(fitted: tu.UDE) -> None:
    at = np.array([0.3, -0.4])
    A, B = fitted.linearize(at)
    slope = np.stack(
        [(fitted.predict(at + 1e-6 * e) - fitted.predict(at - 1e-6 * e)) / 2e-6 for e in np.eye(2)], axis=-1
    )
    np.testing.assert_allclose(A, slope, rtol=1e-5, atol=1e-6)
    assert B.shape == (2, 0)


@pytest.mark.parametrize("plot", ["plot_residual", "plot_residual_analysis"])
def test_plots_draw_on_given_axes(fitted: tu.UDE, plot: str) -> None:
    figure, axes = plt.subplots()
    display = getattr(fitted, plot)(ax=axes)
    assert display.figure_ is figure and axes.lines
    assert getattr(fitted, plot)().figure_ is not figure


def test_plot_residual_draws_the_learned_damping_over_the_speed(fitted: tu.UDE) -> None:
    axes = fitted.plot_residual().axes_
    curve = next(line for line in axes.lines if line.get_label() == "learned")
    np.testing.assert_allclose(curve.get_ydata(), -0.4 * curve.get_xdata(), atol=0.02 * 0.4 * curve.get_xdata().max())
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("omega", "added to d(omega)/dt")


def test_plot_free_run_has_known_physics_alone(fitted: tu.UDE, short_stream: tuple[float, np.ndarray]) -> None:
    period, samples = short_stream
    display = fitted.plot_free_run()
    assert len(display.axes_) == 2
    assert {line.get_label() for line in display.axes_[0].lines} >= {"measured", "model", "known physics alone"}
    assert fitted.plot_free_run(samples, period, start=1.0).run["t"][0] == 0.0


def test_plot_residual_rejects_a_state_that_is_none(fitted: tu.UDE) -> None:
    with pytest.raises(tu.TinyUDEError, match="'speed' is not a state; the states are theta, omega"):
        fitted.plot_residual("speed")


def test_report_is_one_file(fitted: tu.UDE, tmp_path: Path) -> None:
    assert fitted.report(tmp_path / "page.html", title="Bench 3").read_text().count("<html") == 1


def test_notebook_shows_equation_verdict_and_picture(fitted: tu.UDE, pendulum: System) -> None:
    html = fitted._repr_html_()
    assert "<math" in html and "<svg" in html and "✓ good" in html
    assert "<math" in pendulum.physics._repr_html_()
    assert "UDE(" in tu.UDE(pendulum.physics)._repr_html_()


def test_dir_hides_internals(fitted: tu.UDE) -> None:
    shown = dir(fitted)
    assert "verdict_" in shown and "_options" not in shown and "_session_" not in shown


def test_progress_callback_prints_percentages_only_when_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert progress_callback(None) is None and progress_callback(print) is print
    progress_callback(True)(5, 10)
    progress_callback(True)(10, 10)
    assert capsys.readouterr().err == "\rfitting:  50 %\rfitting: 100 %\n"


@pytest.mark.parametrize("rhs", [lambda x: x, [lambda x: x, "omega"]])
def test_physics_rejects_functions_and_says_what_to_write(rhs: object) -> None:
    with pytest.raises(tu.TinyUDEError, match=r"rhs is a Python function.*write the rates as text or SymPy"):
        tu.Physics(["theta", "omega"], rhs)


def test_intervals_of_terms_and_parameters_are_those_of_the_residual(
    pendulum: System, short_stream: tuple[float, np.ndarray]
) -> None:
    """The printed ones had a factor of jackknife groups although the errors were those of a covariance."""
    period, samples = short_stream
    k = tu.Parameter(9.0, learn=True, min=0.0, max=9.811)
    physics = tu.Physics(["theta", "omega"], ["omega", "-k*sin(theta)"], parameters={"k": k})
    ude = tu.UDE(physics, library=["omega"], refine=False).fit(samples, t=period)
    (row,), (found,) = ude.terms_, ude.parameters_
    low, high = ude.residual_interval([0.0, 1.0])
    assert (row["low"], row["high"]) == pytest.approx((low[1], high[1]), rel=1e-9)
    assert found is ude.diagnostics_["parameters"][0] and found.name == "k"
    assert found.low == pytest.approx(found.value - 1.645 * ude.model_.parameter_errors[0], abs=1e-5)
    assert found.value < found.high == 9.811
