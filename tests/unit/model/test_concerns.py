"""Each warning comes when it should, and a clean record draws none."""

import re
from collections.abc import Callable

import numpy as np
import pytest

import tinyude as tu
from tinyude.data.streams import Stream, as_stream
from tinyude.model.concerns import concerns
from tinyude.model.windows import visited
from tinyude.systems.signals import delay, quantise, sensor_noise
from tinyude.ude import LOOKED_AT

NAMES = ["theta", "omega"]
PERIOD = 0.002
SWING = tu.Physics(["theta", "omega"], ["omega", "-12*sin(theta)"])


def swing(period: float = PERIOD, seconds: float = 16.0, damping: float = 0.3, start: float = 2.0) -> np.ndarray:
    """A damped pendulum, pushed every four seconds; integrated finely whatever the period."""
    inner = max(1, round(period / 0.001))
    step = period / inner
    x, rows = np.array([start, 0.0]), []

    def field(x: np.ndarray) -> np.ndarray:
        return np.array([x[1], -12.0 * np.sin(x[0]) - damping * x[1]])

    for row in range(round(seconds / period)):
        if row % round(4.0 / period) == 0:
            x = x + np.array([0.0, 2.0])
        rows.append(x)
        for _ in range(inner):
            middle = x + 0.5 * step * field(x)
            x = x + step * field(middle)
    return np.array(rows)


@pytest.fixture(scope="module")
def clean() -> np.ndarray:
    return swing()


def fitted(samples: np.ndarray, period: float = PERIOD, physics: tu.Physics = SWING, **options: object) -> tu.UDE:
    return tu.UDE(physics, hidden=(), **options).fit(samples, t=period)  # type: ignore[arg-type]


def warned(samples: np.ndarray, period: float = PERIOD, physics: tu.Physics = SWING, **options: object) -> str:
    return " ".join(fitted(samples, period, physics, **options).diagnostics_["warnings"])


@pytest.mark.parametrize("level", [0.001, 0.01, 0.05])
def test_concerns_are_none_about_a_clean_record(clean: np.ndarray, level: float) -> None:
    for seed in range(4):
        assert warned(sensor_noise(clean, level, np.random.default_rng(seed))) == ""


@pytest.mark.parametrize("level", [0.001, 0.01, 0.05])
@pytest.mark.parametrize(("channel", "late"), [(0, 1), (1, 5)])
def test_concerns_find_a_late_channel_and_by_how_much(clean: np.ndarray, level: float, channel: int, late: int) -> None:
    samples = delay(sensor_noise(clean, level, np.random.default_rng(3)), channel, late)[late:]
    lag = re.search(rf"{NAMES[channel]} seems to lag ([\d.]+) ms behind the other channel; shift it", warned(samples))
    assert lag and float(lag[1]) == pytest.approx(1e3 * late * PERIOD, rel=0.25)


def test_concerns_find_coarse_steps(clean: np.ndarray) -> None:
    noisy = sensor_noise(clean, 0.001, np.random.default_rng(0))
    assert "theta moves in steps of" in warned(quantise(noisy, 6))
    assert "moves in steps" not in warned(quantise(noisy, 14))


def test_concerns_find_a_rate_too_low() -> None:
    slow = sensor_noise(swing(0.1, 60.0), 0.001, np.random.default_rng(0))
    assert "sample faster" in warned(slow, 0.1)


def test_concerns_find_an_angle_that_wraps() -> None:
    turning = sensor_noise(swing(damping=0.0, start=3.0), 0.001, np.random.default_rng(0))
    wrapped = turning.copy()
    wrapped[:, 0] = np.mod(turning[:, 0] + np.pi, 2.0 * np.pi) - np.pi
    assert np.ptp(turning[:, 0]) > 7.0  # it does go over the top
    assert "theta jumps by about 6.283" in warned(wrapped) and "jumps by" not in warned(wrapped, wraps=["theta"])
    np.testing.assert_allclose(
        fitted(wrapped, wraps=["theta"]).model_.coefficients, fitted(turning).model_.coefficients, atol=1e-9
    )


def test_concerns_find_parameters_that_cannot_be_told_apart(clean: np.ndarray) -> None:
    noisy = sensor_noise(clean, 0.01, np.random.default_rng(0))
    ratio = {"g": tu.Parameter(9.0, learn=True), "L": tu.Parameter(0.8, learn=True)}
    both = tu.Physics(["theta", "omega"], ["omega", "-g/L*sin(theta)"], parameters=ratio)
    one = tu.Physics(["theta", "omega"], ["omega", "-g/L*sin(theta)"], parameters=ratio | {"L": 0.8})
    assert "cannot be told apart" in warned(noisy, physics=both, library=["omega"])
    assert warned(noisy, physics=one, library=["omega"]) == ""


def test_concerns_find_signals_that_move_as_one(clean: np.ndarray) -> None:
    decay = np.exp(-0.3 * np.arange(4000) * PERIOD)[:, None] * np.array([1.0, -0.3])
    text = warned(decay + 1e-4 * np.random.default_rng(0).standard_normal((4000, 2)), library=["omega"])
    assert "theta and omega move as one" in text


def test_concerns_find_an_input_that_never_moves(clean: np.ndarray) -> None:
    driven = tu.Physics(["theta", "omega"], ["omega", "-12*sin(theta) + tau"], inputs=["tau"])
    ude = tu.UDE(driven, hidden=(), library=["omega"])
    noisy = sensor_noise(clean, 0.01, np.random.default_rng(0))
    assert any(
        "tau stays at 0" in line for line in ude.fit(noisy, PERIOD, np.zeros(len(noisy))).diagnostics_["warnings"]
    )


def test_concerns_find_time_in_milliseconds(clean: np.ndarray) -> None:
    noisy = sensor_noise(clean, 0.01, np.random.default_rng(0))
    text = warned(noisy, 1e3 * PERIOD)
    assert "check the units" in text and "milliseconds" in text
    assert "check the units" in warned(noisy[:, :1], 1e3 * PERIOD, measured=["theta"])


def test_concerns_find_a_signal_that_is_mostly_noise() -> None:
    assert "hardly rises above its noise" in warned(0.01 * np.random.default_rng(1).standard_normal((3000, 2)))


def test_concerns_count_what_was_bridged(clean: np.ndarray) -> None:
    broken = sensor_noise(clean, 0.01, np.random.default_rng(0))
    broken[500, 0], broken[900, 1], broken[1000, 1] = np.nan, np.inf, 1e300
    assert "3 values that were not finite" in warned(broken)


@pytest.fixture(scope="module")
def judged(clean: np.ndarray) -> Callable[..., str]:
    """The warnings of a fit, had its state and its diagnostics been so."""
    noisy = sensor_noise(clean, 0.01, np.random.default_rng(0))
    ude, stream = fitted(noisy), as_stream(noisy, PERIOD, None, NAMES, [])
    seen = visited(ude.config_, ude._state_, stream, LOOKED_AT)

    def said(state: dict[str, object], found: dict[str, object], stream: Stream = stream) -> str:
        return " ".join(concerns(ude.model_, ude.config_, ude._state_ | state, stream, ude.diagnostics_ | found, seen))

    return said


@pytest.mark.parametrize(
    ("state", "found", "words"),
    [
        ({}, {"accepted": 10}, "of the windows passed the gates"),
        ({"sigma_scale": 3.0}, {}, "not even and white"),
        ({}, {"changes": [12.5]}, "the dynamics changed at 12.5 s"),
        ({"rolled_back": 2}, {}, "2 updates were not finite"),
        ({}, {"window": {"half_width_samples": 5}}, "sample faster"),
    ],
)
def test_concerns_say_what_to_do(
    judged: Callable[..., str], state: dict[str, object], found: dict[str, object], words: str
) -> None:
    assert words in judged(state, found)
    assert judged({}, {}) == ""
