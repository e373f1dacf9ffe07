import numpy as np
import pytest

import tinyude as tu
from tinyude.data.streams import Stream, as_stream
from tinyude.training.data_defaults import rotating, window_order

HALF = 100
NOISE = 0.05 * np.random.default_rng(0).standard_normal(8000)


def stream(path: np.ndarray) -> Stream:
    return as_stream(path[:, None], 1e-3, None, ("x",), (), None, {})


def motion(period: float) -> np.ndarray:
    return np.sin(2.0 * np.pi / period * 1e-3 * np.arange(8000))


def test_rotating_looks_at_every_run() -> None:
    swing, turn = motion(1.0)[:, None], np.linspace(0.0, 7.0, 2000)[:, None]
    apart = [swing, swing + 2.0 * np.pi]  # an encoder that was not reset in between
    wide = 3.1 * swing  # nearly to the top, on both sides
    for runs, expected in (([swing, turn], ["x"]), (apart, ["x"]), ([swing, wide], []), ([swing, 1.02 * wide], ["x"])):
        assert rotating(as_stream(runs, 1e-3, None, ("x",), (), None, {})) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (motion(5.0) + NOISE, 2),  # a window of 0.2 s is a small part of a period
        (motion(0.5) + NOISE, 4),
        (motion(0.04) + NOISE, 4),  # far too fast for the window, whose coefficients then all look alike
        (motion(5.0), 4),  # without noise even the least bend can be seen
        (np.round(motion(5.0) + 0.1 * NOISE, 1), 4),  # steps of a coarse sensor
        ((motion(5.0) + NOISE)[:3000], 4),  # too few stretches to tell
    ],
    ids=["slow", "bends", "fast", "no noise", "coarse", "short"],
)
def test_window_order_is_two_where_the_longest_window_is_a_parabola(path: np.ndarray, expected: int) -> None:
    assert window_order(stream(path), HALF) == expected


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("every", "expected"), [(3000, 2), (150, 4)])
def test_window_order_leaves_out_stretches_with_lost_samples(every: int, expected: int) -> None:
    path = motion(5.0) + NOISE
    path[::every] = np.nan
    assert window_order(stream(path), HALF) == expected


def test_ude_chooses_the_order_unless_told() -> None:
    physics = tu.Physics(states=["x"], rhs=["-x"])
    path = (motion(40.0) + NOISE)[:, None]
    orders = [
        tu.UDE(physics, hidden=(), settings=settings, preset=preset).fit(path, t=1e-3).diagnostics_["window"]["order"]
        for preset, settings in (("default", {"max_half": HALF}), ("default", {"max_half": HALF, "poly": 6}))
    ]
    assert orders == [2, 6]
    assert tu.UDE(physics, preset="paper-v2", updates=10).fit(path, t=1e-3).diagnostics_["window"]["order"] == 4
