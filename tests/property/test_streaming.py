"""However a stream is cut into pieces, the learner ends in the same place, bit for bit."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tinyude as tu
from tinyude.systems.system import System

Stream = tuple[float, np.ndarray]
ROWS = 700


def live(pendulum: System, engine: str, preset: str = "default", **changes: object) -> tu.UDE:
    small = {"calibration": 250, "max_half": 30, "stride": 2, "block": 20, "train_every": 10, "spacing": 4}
    return tu.UDE(
        pendulum.physics, hidden=(4,), updates=60, batch=8, reservoir=100, preset=preset, engine=engine, settings=small,
        **changes,
    )  # fmt: skip


def fed(ude: tu.UDE, period: float, samples: np.ndarray, cuts: list[int]) -> tu.UDE:
    for piece in np.split(samples, cuts):
        if len(piece):
            ude.partial_fit(piece, t=period)
    return ude


def outcome(ude: tu.UDE, at: np.ndarray) -> dict[str, np.ndarray]:
    """Everything that was learned, for comparison to the last bit."""
    state = ude._session_.engine.state()
    names = ("params", "average", "coefficients", "errors", "sigma", "x_scale", "dx_scale", "reservoir", "rejected")
    return {name: np.asarray(state[name]) for name in names} | {"predict": ude.predict(at)}


def assert_identical(first: dict[str, np.ndarray], second: dict[str, np.ndarray]) -> None:
    for name, values in first.items():
        np.testing.assert_array_equal(values, second[name], err_msg=name)


@pytest.mark.parametrize("preset", ["default", "paper-v2"])
@pytest.mark.parametrize("size", [1, 7, 250])
def test_partial_fit_does_not_depend_on_the_chunks(
    pendulum: System, short_stream: Stream, engine: str, preset: str, size: int
) -> None:
    period, samples = short_stream
    rows = 400 if size == 1 else ROWS
    whole = fed(live(pendulum, engine, preset), period, samples[:rows], [])
    pieces = fed(live(pendulum, engine, preset), period, samples[:rows], list(range(size, rows, size)))
    assert whole.diagnostics_["accepted"] > 20
    assert_identical(outcome(whole, samples[:50]), outcome(pieces, samples[:50]))


@settings(max_examples=6, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts=st.lists(st.integers(1, ROWS - 1), max_size=6, unique=True).map(sorted))
def test_partial_fit_does_not_depend_on_where_the_stream_is_cut(
    pendulum: System, short_stream: Stream, quick_engine: str, cuts: list[int]
) -> None:
    period, samples = short_stream
    damaged = samples[:ROWS].copy()
    damaged[300:303, 0] = np.nan  # faults that span a cut must be mended alike
    damaged[500:540] = damaged[500]
    whole = fed(live(pendulum, quick_engine), period, damaged, [])
    pieces = fed(live(pendulum, quick_engine), period, damaged, cuts)
    assert_identical(outcome(whole, samples[:50]), outcome(pieces, samples[:50]))


def test_partial_fit_is_deterministic_and_seeds_change_the_network_only(
    pendulum: System, short_stream: Stream, engine: str
) -> None:
    period, samples = short_stream
    first, again, other = (
        outcome(fed(live(pendulum, engine, random_state=seed), period, samples[:ROWS], []), samples[:50])
        for seed in (5, 5, 6)
    )
    assert_identical(first, again)
    assert not np.array_equal(first["params"], other["params"])
    np.testing.assert_array_equal(first["coefficients"], other["coefficients"])
    np.testing.assert_array_equal(first["sigma"], other["sigma"])
