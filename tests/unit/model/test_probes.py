"""Scales by which free runs are judged."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tinyude.model.probes import characteristic_seconds

T = np.arange(0.0, 20.0 * np.pi, 0.01)


def windows(x: np.ndarray, dx: np.ndarray, order: tuple[int, ...], noise: float = 0.0) -> Any:
    def rms(values: np.ndarray) -> np.ndarray:
        return np.sqrt(np.mean(values**2, axis=0))

    return SimpleNamespace(x=x, dx=dx, order=order, rms=rms, floor=np.full(x.shape, noise), usual=25, period=0.01)


def vibration(rate: float) -> tuple[np.ndarray, np.ndarray]:
    """A position and its speed."""
    s, c = np.sin(rate * T), np.cos(rate * T)
    return np.stack([s, rate * c], axis=1), np.stack([rate * c, -(rate**2) * s], axis=1)


@pytest.mark.parametrize("rate", [0.5, 3.0])
def test_characteristic_seconds_of_a_vibration_are_one_over_its_angular_frequency(rate: float) -> None:
    assert characteristic_seconds(windows(*vibration(rate), (0, 1)), derived=False) == pytest.approx(
        1.0 / rate, rel=0.01
    )


def test_characteristic_seconds_are_those_of_the_fastest_signal_above_its_noise() -> None:
    slow, fast = vibration(0.5), vibration(4.0)
    x, dx = (np.stack([a[:, 0], 0.01 * b[:, 0]], axis=1) for a, b in zip(slow, fast, strict=True))
    assert characteristic_seconds(windows(x, dx, (0, 0)), derived=False) == pytest.approx(0.25, rel=0.01)
    assert characteristic_seconds(windows(x, dx, (0, 0), noise=0.05), derived=False) == pytest.approx(2.0, rel=0.01)


def test_characteristic_seconds_of_a_drifting_position_are_those_of_its_speed() -> None:
    """Noise of a derived rate is taken out: 9 times the square of a rate of 3 and 16 of noise."""
    x = np.stack([100.0 * T, np.sin(3.0 * T)], axis=1)
    dx = np.stack([np.full(len(T), 100.0), np.sqrt(25.0 / 9.0) * 3.0 * np.cos(3.0 * T)], axis=1)
    seen = windows(x, dx, (0, 1))
    seen.floor[:, 1] = 4.0 / np.sqrt(2.0)
    assert characteristic_seconds(seen, derived=True) == pytest.approx(1.0 / 3.0, rel=0.01)
    still = windows(np.zeros((100, 1)), np.zeros((100, 1)), (0,))
    assert characteristic_seconds(still, derived=False) == 25 * 0.01
