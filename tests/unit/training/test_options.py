"""Which estimator a choice of options leads to."""

from typing import Any

import numpy as np
import pytest

import tinyude as tu
from tinyude.data.streams import Stream, as_stream
from tinyude.estimator import fitting
from tinyude.estimator.options import HIDDEN, FitOptions
from tinyude.estimator.ude import UDE

PHYSICS = tu.Physics(["x"], ["-x"])


def options(**choices: Any) -> FitOptions:
    return FitOptions.of(UDE(PHYSICS, **choices))


@pytest.fixture
def stream() -> Stream:
    return as_stream(np.sin(np.arange(50.0)), 0.1, None, ["x"], ())


STREAMING: list[dict[str, Any]] = [
    {"hidden": (8,)}, {"network": "mlp"}, {"skip": False}, {"updates": 50}, {"reservoir": 100}, {"batch": 16},
    {"settings": {"stride": 4}}, {"preset": "paper-v2"}, {"engine": "reference"}, {"precision": "float32"},
]  # fmt: skip
BATCH: list[dict[str, Any]] = [
    {}, {"hidden": HIDDEN}, {"hidden": ()}, {"network": "kernel"}, {"network": None}, {"library": None},
    {"refine": False}, {"window": 1.0},
]  # fmt: skip


@pytest.mark.parametrize("choices", STREAMING, ids=str)
def test_streaming_learner_does_what_only_it_can(choices: dict[str, Any], stream: Stream) -> None:
    assert options(**choices).wants_streaming(stream)


@pytest.mark.parametrize("choices", BATCH, ids=str)
def test_batch_estimator_takes_a_record_in_memory(choices: dict[str, Any], stream: Stream) -> None:
    assert not options(**choices).wants_streaming(stream)
    stream.runs = iter(stream.runs)  # read piece by piece: longer than memory
    assert options(**choices).wants_streaming(stream)


@pytest.mark.parametrize(
    ("choices", "asks"),
    [
        ({}, True),
        ({"network": None}, True),
        ({"network": "kernel"}, False),
        ({"network": None, "library": None}, False),
    ],
)
def test_streaming_model_is_no_candidate_where_a_kernel_or_nothing_is_to_be_learned(
    choices: dict[str, Any], asks: bool
) -> None:
    assert options(**choices).asks_for_streaming() is asks


@pytest.mark.parametrize(("refine", "times"), [(True, 1.0), ("thorough", 10.0)])
def test_thorough_refinement_may_take_ten_times_the_work(
    refine: bool | str, times: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Asked(Exception):
        pass

    def asked(*arguments: Any) -> None:
        raise Asked(arguments[-1].seconds)

    monkeypatch.setattr(fitting, "refine_fit", asked)
    with pytest.raises(Asked) as caught:
        UDE(PHYSICS, library=[], refine=refine).fit(np.exp(-0.05 * np.arange(80.0)), t=0.05)
    assert caught.value.args == (times * fitting.REFINE_SECONDS,)


def test_record_beyond_memory_is_fitted_without_refinement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "IN_MEMORY", 79)
    ude = UDE(PHYSICS, library=[]).fit(np.exp(-0.05 * np.arange(80.0)), t=0.05)
    assert ude.diagnostics_["engine"] == "batch" and not hasattr(ude, "candidates_")
