"""A learner that starts from a fitted model meets a failing sensor: the model stays, and the fault has a name."""

from collections.abc import Callable
from dataclasses import fields

import numpy as np
import pytest
import sympy as sp

from tinyude import native
from tinyude.reference.config import Config
from tinyude.reference.signal.gates import REASONS
from tinyude.reference.start import StartModel
from tinyude.systems import pendulum
from tinyude.training.known import known_programs

pytestmark = pytest.mark.skipif(not native.available(), reason="the core is not compiled")
RATE, LEVEL = 200.0, 0.01
MINUTE = int(60 * RATE)
PLANT = pendulum()
TERMS = [sp.Integer(1), *(sp.Symbol(name, real=True) for name in ("theta", "omega"))]
CONFIG = Config(
    channels=2, channel=(0, 1), order=(0, 0), sample_period=1.0 / RATE, rate_channel=(2, 0), on=(1,), sees=(0, 1),
    hidden=(), library_terms=len(TERMS), stride=2, max_half=60, calibration=2000, reservoir=500, block=100, judged=True,
)  # fmt: skip
GRID = np.stack(np.meshgrid(np.linspace(-0.8, 0.8, 9), np.linspace(-2.0, 2.0, 9)), axis=-1).reshape(-1, 2)
TRUTH = -0.4 * GRID[:, 1]


@pytest.fixture(scope="module")
def motion() -> np.ndarray:
    return PLANT.stream(noise=0.0, seed=3, seconds=240.0)[1][::5]


def noisy(rows: np.ndarray, motion: np.ndarray, factor: float = 1.0) -> np.ndarray:
    sigma = factor * LEVEL * np.sqrt(np.mean(motion**2, axis=0))
    return np.asarray(rows + sigma * np.random.default_rng(len(rows)).standard_normal(rows.shape))


def make() -> native.NativeLearner:
    return native.NativeLearner(CONFIG, known_programs(PLANT.physics, TERMS, CONFIG.on), "float32")


@pytest.fixture(scope="module")
def model(motion: np.ndarray) -> StartModel:
    learner = make()
    learner.push(noisy(motion[: 2 * MINUTE], motion))
    learner.finish()
    state = learner.state()
    found = {entry.name: state[entry.name] for entry in fields(StartModel) if entry.name != "weights"}
    return StartModel(weights=state["average"], **found)


def ramp(low: float, high: float, count: int) -> np.ndarray:
    return np.linspace(low, high, count)


def still(state: tuple[float, float]) -> Callable[[np.ndarray], np.ndarray]:
    return lambda motion: noisy(np.tile(state, (2 * MINUTE, 1)), motion)


def column(motion: np.ndarray, index: int, values: np.ndarray) -> np.ndarray:
    rows = noisy(motion[: len(values)], motion)
    rows[:, index] = values
    return rows


FAULTS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], str]] = {
    "frozen in motion": (still((0.3, 0.7)), "inconsistent"),
    "frozen at rest": (still((0.3, 0.0)), "still"),
    "angle frozen": (lambda m: column(m, 0, 0.3 + 0.005 * m[:MINUTE, 1]), "inconsistent"),
    "held": (lambda m: np.tile([0.3, 0.7], (MINUTE, 1)), "stuck"),
    "unplugged": (lambda m: np.random.default_rng(0).standard_normal((MINUTE, 2)), "misfit"),
    "noise x20": (lambda m: noisy(m[:MINUTE], m, 20.0), "misfit"),
    "rate gain drifts": (lambda m: column(m, 1, ramp(1.0, 1.6, MINUTE) * m[:MINUTE, 1]), "inconsistent"),
    "rate offset drifts": (lambda m: column(m, 1, ramp(0.0, 1.0, MINUTE) + m[:MINUTE, 1]), "inconsistent"),
    "swapped": (lambda m: noisy(m[:MINUTE], m)[:, ::-1].copy(), "inconsistent"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_learner_keeps_its_model_through_a_fault_and_names_it(name: str, motion: np.ndarray, model: StartModel) -> None:
    """Two good minutes after the fault the residual is within 10 % of the truth."""
    fault, reason = FAULTS[name]
    learner = make()
    learner.start(model)
    learner.push(noisy(motion[:MINUTE], motion))
    before = learner.state()["rejected"].copy()
    learner.gap()
    learner.push(fault(motion))
    named = (learner.state()["rejected"] - before)[REASONS.index(reason)]
    learner.gap()
    learner.push(noisy(motion[2 * MINUTE :], motion))
    error = learner.residual(GRID)[:, 0] - TRUTH
    assert named > 500
    assert np.sqrt(np.mean(error**2) / np.mean(TRUTH**2)) < 0.1


def test_learner_does_not_recalibrate_without_a_signal(motion: np.ndarray, model: StartModel) -> None:
    learner = make()
    learner.start(model)
    learner.push(noisy(motion[:MINUTE], motion))
    sigma = learner.state()["sigma"]
    learner.push(np.random.default_rng(0).standard_normal((MINUTE, 2)))
    state = learner.state()
    assert state["no_signal"] > 0 and state["recalibrations"] == 0
    assert np.all(state["sigma"] < 20.0 * sigma)


def test_start_rejects_weights_that_are_not_finite(model: StartModel) -> None:
    from dataclasses import replace

    from tinyude.errors import TinyUDEError

    for name in ("coefficients", "errors"):
        bad = getattr(model, name).copy()
        bad[0] = np.nan
        with pytest.raises(TinyUDEError, match="not finite"):
            make().start(replace(model, **{name: bad}))
