"""A perceptron is judged by what it predicts of blocks that none of its layers was trained on."""

from collections.abc import Sequence

import numpy as np
import pytest

import tinyude as tu
from tinyude.data.left_out import Span
from tinyude.estimator import fitting
from tinyude.estimator.options import FitOptions
from tinyude.model.model import Model
from tinyude.refinement.estimate import Estimate, Setup, estimate
from tinyude.refinement.guard import HeldBack, held_back
from tinyude.refinement.hybrid import hybrid, without_parts
from tinyude.refinement.learned_again import errors_learned_again
from tinyude.refinement.prepare import Sensors, make_setup
from tinyude.refinement.records import Record, stretches_of

RATE, WRONG, PERIOD = 0.2, 0.6, 0.05


def told(rate: float) -> tu.Physics:
    return tu.Physics(["x"], ["-c*x"], parameters={"c": rate})


def of_rate(rate: float) -> Model:
    samples = np.exp(-rate * PERIOD * np.arange(200))
    return tu.UDE(told(rate), hidden=(), library=[], refine=False).fit(samples, t=PERIOD).model_


@pytest.fixture(scope="module")
def judged() -> tuple[Setup, HeldBack]:
    times = PERIOD * np.arange(300)
    samples = np.exp(-RATE * times)[:, None] + 1e-3 * np.random.default_rng(0).standard_normal((300, 1))
    records = [Record(times, samples, np.zeros((300, 0)))]
    own, setup = hybrid(without_parts(of_rate(RATE))), make_setup(of_rate(RATE), records, Sensors((0,), (0,), ()))
    found: Estimate = estimate(setup, own.field, own.unknowns, stretches_of(records, (), 1))
    return setup, held_back(setup, found.batch, found.noise)


def test_errors_learned_again_asks_for_a_model_without_each_block(judged) -> None:
    """Each block is judged by the model that did not see it; without any, its error is that of a runaway."""
    setup, parts = judged
    asked: list[Sequence[Span]] = []

    def streamed(left_out: Sequence[Span]) -> Model | None:
        asked.append(left_out)
        return (of_rate(RATE), of_rate(WRONG), None)[len(asked) - 1]

    errors = errors_learned_again(setup, streamed, parts)
    assert [len(spans) for spans in asked] == [1, 1, 1]
    assert [spans[0].first for spans in asked] == [block.times[0] for block in parts.blocks]
    of_block = [errors[[run.block == k for run in parts.runs]] for k in range(3)]
    assert np.all(of_block[0] < 0.02) and np.all(of_block[1] > 0.03) and np.all(of_block[2] == 1.0)


def test_fit_lets_the_streaming_learner_take_the_inputs_as_they_were_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is compared under the holds that were found; learned under others, it would look worse than it is."""
    times = 0.02 * np.arange(600)
    u = np.sin(3.0 * times) + np.sin(7.3 * times)
    x, states = 0.0, []
    for k in range(len(times) * 20):  # between samples the input is linear
        states.append(x)
        x += 0.001 * (-2.0 * x + np.tanh(3.0 * x) + 4.0 * np.interp(0.001 * k, times, u))
    physics = tu.Physics(["x"], ["-2*x + 4*u"], inputs=["u"])
    Y = np.array(states)[::20, None] + 1e-4 * np.random.default_rng(0).standard_normal((600, 1))
    asked: list[object] = []

    def learned(options: FitOptions, *rest: object, **more: object) -> None:
        asked.append(options.hold)
        raise tu.TinyUDEError("enough")

    monkeypatch.setattr(fitting, "fit_streaming", learned)
    ude = tu.UDE(physics, library=["x"], network=None).fit(Y, t=0.02, u=u)
    (hold,) = asked
    assert ude.diagnostics_["holds"]["u"][0] == "linear" and hold["u"].kind == "linear"  # type: ignore[index]
