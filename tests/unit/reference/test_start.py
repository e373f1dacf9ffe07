"""A learner that starts from a fitted model: it predicts as the model does, and goes on learning."""

from dataclasses import fields, replace

import numpy as np
import pytest
import sympy as sp
from engines import needs_core

from tinyude import native
from tinyude.errors import TinyUDEError
from tinyude.reference.config import Config
from tinyude.reference.learner import learner_push
from tinyude.reference.signal.gates import REASONS
from tinyude.reference.start import StartModel, learner_start
from tinyude.reference.state import Learner, learner_init
from tinyude.reference.view import learner_residual
from tinyude.systems.system import System
from tinyude.training.engines import ReferenceLearner
from tinyude.training.known import known_functions, known_programs

TERMS = [sp.Integer(1), sp.Symbol("omega", real=True)]
CONFIG = Config(
    channels=2, channel=(0, 1), order=(0, 0), sample_period=0.005, on=(1,), sees=(0, 1), hidden=(4,),
    library_terms=len(TERMS), stride=2, max_half=40, calibration=800, reservoir=500, holdout=100, batch=16,
    updates=120, train_every=20, block=25,
)  # fmt: skip
STATES = np.array([[0.3, 1.0], [-0.5, 0.2], [0.0, -2.0]])

Stream = tuple[float, np.ndarray]


@pytest.fixture(scope="module")
def trained(pendulum: System, short_stream: Stream) -> tuple[ReferenceLearner, StartModel]:
    """A learner at the end of its stream, and what it found."""
    learner = ReferenceLearner(CONFIG, known_functions(pendulum.physics, TERMS, CONFIG.on))
    learner.push(short_stream[1])
    state = learner.state()
    found = {entry.name: state[entry.name] for entry in fields(StartModel) if entry.name != "weights"}
    return learner, StartModel(weights=state["average"], **found)


def fresh(pendulum: System) -> Learner:
    return learner_init(CONFIG, known_functions(pendulum.physics, TERMS, CONFIG.on))


def compiled(pendulum: System, precision: str) -> native.NativeLearner:
    return native.NativeLearner(CONFIG, known_programs(pendulum.physics, TERMS, CONFIG.on), precision)


def test_learner_start_predicts_as_the_model(pendulum: System, trained: tuple[ReferenceLearner, StartModel]) -> None:
    learner = fresh(pendulum)
    assert learner_start(learner, trained[1])
    nothing = np.zeros((len(STATES), 0))
    np.testing.assert_array_equal(learner_residual(learner, STATES, nothing), trained[0].residual(STATES, nothing))


@needs_core
def test_native_start_agrees_with_the_reference(
    pendulum: System, short_stream: Stream, trained: tuple[ReferenceLearner, StartModel]
) -> None:
    """At once and after more of the stream."""
    learner = fresh(pendulum)
    learner_start(learner, trained[1])
    core = compiled(pendulum, "float64")
    core.start(trained[1])
    nothing = np.zeros((len(STATES), 0))
    np.testing.assert_allclose(core.residual(STATES), learner_residual(learner, STATES, nothing), rtol=1e-12)
    rows = short_stream[1][:1200]
    for row in rows:
        learner_push(learner, row)
    core.push(rows)
    state = core.state()
    assert (state["accepted"], state["updates"]) == (learner.counters.accepted, learner.counters.updates)
    assert state["accepted"] > 300
    assert not np.array_equal(state["average"], trained[1].weights)
    np.testing.assert_allclose(state["average"], learner.average, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(state["coefficients"], learner.library.coefficients, rtol=1e-6, atol=1e-9)


@needs_core
def test_native_start_keeps_the_bits_of_the_model(
    pendulum: System, trained: tuple[ReferenceLearner, StartModel]
) -> None:
    core = compiled(pendulum, "float32")
    core.start(trained[1])
    state = core.state()
    assert state["calibrated"] and not state["samples"]
    assert state["average"].tobytes() == trained[1].weights.astype(np.float32).tobytes()
    assert state["coefficients"].tobytes() == trained[1].coefficients.astype(np.float32).tobytes()


@needs_core
@pytest.mark.parametrize(
    "wrong",
    [{"window_half": 41}, {"window_half": 2}, {"window_spacing": 2}, {"sigma_scale": 0.0}, {"x_scale": np.zeros(2)}],
    ids=lambda wrong: next(iter(wrong)),
)
def test_start_rejects_a_model_that_does_not_fit(
    wrong: dict[str, object], pendulum: System, trained: tuple[ReferenceLearner, StartModel]
) -> None:
    model = replace(trained[1], **wrong)
    assert not learner_start(fresh(pendulum), model)
    core = compiled(pendulum, "float32")
    with pytest.raises(TinyUDEError, match="does not fit"):
        core.start(model)


@needs_core
def test_start_keeps_the_terms_while_the_stream_stands_still(
    pendulum: System, trained: tuple[ReferenceLearner, StartModel]
) -> None:
    core = compiled(pendulum, "float64")
    core.start(trained[1])
    core.push(0.01 * np.random.default_rng(0).standard_normal((8000, 2)))
    state = core.state()
    assert state["rejected"][REASONS.index("still")] > 2000 > 200 > state["accepted"]
    np.testing.assert_allclose(state["coefficients"], trained[1].coefficients, rtol=0.02, atol=1e-6)
