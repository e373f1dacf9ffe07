"""The accepted windows through which a model is looked at."""

import numpy as np
import pytest

import tinyude as tu
from tinyude.data.streams import as_stream
from tinyude.model.dynamics import known_dynamics
from tinyude.model.simulation import free_run
from tinyude.model.windows import Windows
from tinyude.refinement.hidden import bare_model
from tinyude.training.batch.accepted import accepted_windows
from tinyude.training.batch.observe import observe

PERIOD = 0.004
SHAFT = tu.Physics(["theta", "omega"], ["omega", "-4*sin(theta) - 0.3*omega + u"], inputs=["u"])


def shaft(seconds: float = 24.0, noise: float = 0.003) -> tuple[np.ndarray, np.ndarray]:
    """A shaft that turns many times under a torque that steps."""
    t = np.arange(0.0, seconds, PERIOD)
    u = np.where(np.sin(0.9 * t) > 0.0, 9.0, 5.0)
    x = free_run(known_dynamics(SHAFT), [0.0, 12.0], t, np.array([1.0, 10.0]), u)
    return x + noise * x.std(axis=0) * np.random.default_rng(0).normal(size=x.shape), u


def windows(samples: np.ndarray, u: np.ndarray, most: int = 400) -> Windows:
    stream = as_stream(samples, PERIOD, u, SHAFT.states, SHAFT.inputs, shortest=1)
    model = bare_model(SHAFT, stream, None, {}, (1,), (0, 1))
    return accepted_windows(observe(SHAFT, stream, None, (1,)), model, most)


def test_accepted_windows_leave_of_the_true_model_what_noise_explains() -> None:
    seen = windows(*shaft())
    left = (seen.dx - seen.view(np.asarray(SHAFT.field(seen.node_x, seen.inputs))))[:, 1]
    assert np.sqrt(np.mean((left / seen.floor[:, 1]) ** 2)) == pytest.approx(1.0, rel=0.2)


def test_accepted_windows_run_out_of_room_at_a_gap_and_at_the_end() -> None:
    samples, u = shaft(8.0)
    samples[1000:1010] = np.nan
    seen = windows(samples, u)
    before = seen.centre < 1000
    assert np.all(seen.centre[before] + seen.room[before] < 1000)
    assert np.all(seen.centre + seen.room < len(samples))
    assert seen.room[np.argmin(seen.centre)] > 900


def test_accepted_windows_of_a_record_that_is_too_short_are_none() -> None:
    samples, u = shaft(8.0)
    assert len(windows(samples[:6], u[:6])) == 0


def test_where_keeps_the_nodes_of_the_windows_kept() -> None:
    seen = windows(*shaft(8.0))
    some = seen.where(seen.half < seen.usual)
    rate = seen.view(seen.node_x)[seen.half < seen.usual]
    assert 0 < len(some) < len(seen)
    np.testing.assert_allclose(some.view(some.node_x), rate)


@pytest.mark.filterwarnings("ignore::tinyude.TinyUDEWarning")
@pytest.mark.parametrize("network", [None, "mlp"])
def test_score_tells_the_truth_on_a_shaft_that_turned_often(network: str | None) -> None:
    samples, u = shaft()
    assert np.ptp(samples[:, 0]) > 30 * 2.0 * np.pi
    known = tu.Physics(["theta", "omega"], ["omega", "-4*sin(theta) - 0.3*omega + 0.8*u"], inputs=["u"])
    ude = tu.UDE(known, hidden=(), library=["0*u"] if network is None else None, network=network, refine=False)
    if network:
        ude.set_params(hidden=(4,), updates=1, skip=False)
    ude.fit(samples, t=PERIOD, u=u)
    x = free_run(known_dynamics(SHAFT), [0.0, 12.0], np.arange(len(u)) * PERIOD, np.array([1.0, 10.0]), u)
    true, found = SHAFT.field(x, u[:, None])[:, 1], ude.predict(x, u[:, None])[:, 1]
    truth = 1.0 - np.sum((true - found) ** 2) / np.sum((true - true.mean()) ** 2)
    assert ude.score(samples, t=PERIOD, u=u) == pytest.approx(truth, abs=0.02)
