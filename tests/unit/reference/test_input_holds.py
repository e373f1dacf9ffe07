"""What inputs do between samples, on the streaming learner: a driven pendulum sampled at 100 Hz."""

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp
from engines import both_engines, needs_core

from tinyude import native
from tinyude.errors import TinyUDEError
from tinyude.estimator.ude import UDE
from tinyude.export import chip_of_model
from tinyude.model.dynamics import known_dynamics
from tinyude.model.simulation import free_run
from tinyude.physics import Physics
from tinyude.physics.holds import Hold, learner_holds
from tinyude.reference.config import Config
from tinyude.training.known import known_programs

pytestmark = needs_core
PERIOD, DAMPING = 0.01, 0.4
PHYSICS = Physics(["theta", "omega"], ["omega", "-9.81*sin(theta) + 6*u"], ["u"])
TRUTH = Physics(["theta", "omega"], ["omega", f"-9.81*sin(theta) + 6*u - {DAMPING}*omega"], ["u"])
TERMS = [sp.Symbol("omega", real=True)]
CONFIG = Config(
    channels=2, channel=(0, 1), order=(0, 0), sample_period=PERIOD, inputs=1, on=(1,), sees=(0, 1, 2), hidden=(),
    library_terms=1, stride=2, max_half=20, calibration=500, reservoir=64, block=20, groups=8, network_nodes=1,
)  # fmt: skip
RIGHT = {"held": Hold(), "linear": Hold("linear"), "held, a row late": Hold("held", 1), "early": Hold("linear", -1)}


def record(hold: Hold, rows: int, seed: int = 0) -> np.ndarray:
    """Noisy channels and the input as it is logged: a few sines, which do this between samples."""
    rng = np.random.default_rng(seed)
    t = PERIOD * np.arange(rows)
    u = np.sin(np.outer(t, 2.0 * np.pi * rng.uniform(0.2, 1.5, 6)) + rng.uniform(0.0, 6.0, 6)).sum(axis=1)
    x = free_run(known_dynamics(TRUTH), np.array([0.5, 0.0]), t, np.ones(2), u[:, None], hold=hold.kind)
    return np.column_stack([x + [0.005, 0.02] * rng.standard_normal(x.shape), np.roll(u, hold.shift)])


@pytest.mark.parametrize("name", RIGHT)
def test_engines_agree_on_inputs_that_are_linear_or_shifted(name: str) -> None:
    config = replace(CONFIG, **learner_holds([RIGHT[name]]))
    rows = record(RIGHT[name], 3000)
    core, reference = both_engines(config, PHYSICS, TERMS)
    for learner in (core, reference):
        learner.push(rows)
        learner.call("solve")
    np.testing.assert_allclose(core.state()["coefficients"], reference.state()["coefficients"], rtol=1e-9)


@pytest.mark.parametrize("name", RIGHT)
def test_right_hold_finds_the_damping_and_the_others_do_not(name: str) -> None:
    rows = record(RIGHT[name], 20_000)
    errors = {}
    for tried, hold in RIGHT.items():
        config = replace(CONFIG, **learner_holds([hold]))
        learner = native.NativeLearner(config, known_programs(PHYSICS, TERMS, config.on), "float32")
        learner.push(rows)
        errors[tried] = abs(float(learner.state()["coefficients"][0]) / -DAMPING - 1.0)
    assert errors.pop(name) < 0.003
    assert min(errors.values()) > 0.01


def test_board_takes_the_hold_that_the_fit_found() -> None:
    rows = record(Hold("linear"), 3000)
    ude = UDE(PHYSICS, library=["omega"]).fit(rows[:, :2], t=PERIOD, u=rows[:, 2:])
    assert chip_of_model(ude).config.linear == (1,)
    held = record(Hold(), 3000)
    assert chip_of_model(UDE(PHYSICS, library=["omega"]).fit(held[:, :2], t=PERIOD, u=held[:, 2:])).config.linear == ()


def test_stream_takes_the_hold_that_the_physics_names() -> None:
    rows = record(Hold("linear"), 12_000)
    ude = UDE(PHYSICS, library=["omega"], hold="linear")
    for piece in np.array_split(rows, 3):
        ude.partial_fit(piece[:, :2], t=PERIOD, u=piece[:, 2:])
    assert ude.config_.linear == (1,)


@pytest.mark.parametrize("wrong", [{"linear": (2,)}, {"shift": (2,)}, {"shift": (-2,)}])
def test_core_rejects_a_hold_that_there_is_not(wrong: dict[str, tuple[int, ...]]) -> None:
    with pytest.raises(TinyUDEError):
        native.NativeLearner(replace(CONFIG, **wrong), known_programs(PHYSICS, TERMS, CONFIG.on))
