"""A record whose state is kicked now and then, seen through its angle alone: a right model must look right."""

import matplotlib as mpl
import pytest

import tinyude as tu

mpl.use("agg")


@pytest.fixture(scope="module")
def kicked() -> tuple[tu.UDE, object]:
    physics = tu.Physics(["theta", "omega"], ["omega", "-9.81*sin(theta)"])
    t, samples = tu.systems.pendulum("A").stream(noise=0.01, seed=3, seconds=20.0)
    angle = samples[:, :1]
    return tu.UDE(physics, measured=["theta"], refine=False).fit(angle, t=t), angle


def test_score_of_a_right_model_is_high_in_spite_of_kicks(kicked: tuple[tu.UDE, object]) -> None:
    ude, angle = kicked
    assert ude.score(angle, t=1e-3) > 0.99
    assert ude.score(angle, t=1.3e-3) < 0.9  # rates that are not the model's


def test_plot_free_run_stays_between_kicks(kicked: tuple[tu.UDE, object]) -> None:
    ude, _ = kicked
    run = ude.plot_free_run().run
    assert 2.5 < run["t"][-1] < 4.0  # a kick every 4 s
    assert run["total_error"] < 0.1
    assert ude.plot_free_run(start=1.0).run["t"][-1] > 15.0


def test_displays_print_in_one_line(kicked: tuple[tu.UDE, object]) -> None:
    ude, _ = kicked
    for display in (ude.plot_residual(), ude.plot_free_run(), ude.plot_residual_analysis()):
        assert len(repr(display)) < 200
