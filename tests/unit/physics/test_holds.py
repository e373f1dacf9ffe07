import numpy as np
import pytest

from tinyude.errors import TinyUDEError
from tinyude.physics.holds import Hold, interval_coefficients

TIMES = np.array([0.0, 0.1, 0.25, 0.3, 0.5])


def value(coefficients: np.ndarray, row: int, s: float) -> float:
    return float(coefficients[row, 0] @ s ** np.arange(4))


def test_interval_coefficients_held_and_linear() -> None:
    u = np.array([1.0, 3.0, 2.0, 5.0, 4.0])[:, None]
    held = interval_coefficients(TIMES, u, [Hold()])
    linear = interval_coefficients(TIMES, u, [Hold("linear")])
    assert value(held, 1, 0.9) == 3.0 and value(linear, 1, 0.5) == 2.5 and value(linear, 4, 0.0) == 4.0


def test_interval_coefficients_cubic_reproduces_a_cubic() -> None:
    u = (TIMES**3 - TIMES)[:, None]
    cubic = interval_coefficients(TIMES, u, [Hold("cubic")])
    assert value(cubic, 2, 0.4) == pytest.approx(0.27**3 - 0.27, abs=1e-12)


def test_interval_coefficients_shift_takes_the_neighbour() -> None:
    u = np.arange(5.0)[:, None]
    assert value(interval_coefficients(TIMES, u, [Hold("held", 1)]), 1, 0.0) == 2.0
    assert value(interval_coefficients(TIMES, u, [Hold("held", -1)]), 0, 0.0) == 0.0


@pytest.mark.parametrize("wrong", [{"kind": "quintic"}, {"shift": 3}, {"shift": True}, {"shift": 0.5}])
def test_hold_says_what_it_takes(wrong: dict) -> None:
    with pytest.raises(TinyUDEError, match="use"):
        Hold(**wrong)
