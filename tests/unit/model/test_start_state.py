"""The state from which a free run over a log starts."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tinyude as tu
from tinyude.data.log import Log
from tinyude.errors import TinyUDEError
from tinyude.model.start_state import DEGREE, state_at

T = 5.0 + 0.01 * np.arange(101)
POLYNOMIAL = np.polynomial.Polynomial([0.3, -2.0, 1.5, 4.0, -3.0])


def angle_alone(samples: np.ndarray) -> tuple[Any, Log]:
    """A fit whose windows are 0.2 s either side, of which only the position is measured."""
    physics = tu.Physics(["x", "v"], ["v", "-x"])
    ude = SimpleNamespace(
        physics=physics, measured=["x"], unmeasured={}, diagnostics_={"window": {"half_width_seconds": 0.2}}
    )
    return ude, Log(T, samples[:, None])


@pytest.mark.parametrize("time", [5.0, 5.05, 5.5, 5.93, 6.0])
def test_state_at_is_that_of_the_given_time_also_near_the_ends(time: float) -> None:
    """A window at an end of the log is not centred on the time; the motion is a polynomial of its degree."""
    ude, log = angle_alone(POLYNOMIAL(T - 5.0))
    expected = [POLYNOMIAL(time - 5.0), POLYNOMIAL.deriv()(time - 5.0)]
    np.testing.assert_allclose(state_at(ude, log, time), expected, atol=1e-6)


def test_state_at_leaves_missing_samples_out_and_needs_enough_others() -> None:
    samples = POLYNOMIAL(T - 5.0)
    samples[45:55] = np.nan
    ude, log = angle_alone(samples)
    np.testing.assert_allclose(state_at(ude, log, 5.5), [POLYNOMIAL(0.5), POLYNOMIAL.deriv()(0.5)], atol=1e-6)
    log.Y[30 + DEGREE + 1 : 71] = np.nan
    with pytest.raises(TinyUDEError, match=r"too few samples of x around 5\.5 s; choose another moment"):
        state_at(ude, log, 5.5)


@pytest.mark.parametrize("time", [4.99, 6.01])
def test_state_at_rejects_a_time_outside_the_log(time: float) -> None:
    ude, log = angle_alone(POLYNOMIAL(T - 5.0))
    with pytest.raises(TinyUDEError, match="is outside the log, which runs from 5 s to 6 s"):
        state_at(ude, log, time)
