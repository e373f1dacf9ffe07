"""The step that a sensor's values are multiples of."""

import numpy as np
import pytest

from tinyude.data.resolution import quantisation_step
from tinyude.data.streams import as_stream


@pytest.mark.parametrize("step", [2.0 * np.pi / 4096, 0.1 * 3.6])
def test_quantisation_step_of_a_coarse_sensor(step: float) -> None:
    moving = 20.0 * step * np.sin(np.arange(300) / 7.0) + step * np.arange(300)
    rounded = step * np.round(moving / step)
    assert quantisation_step([rounded]) == pytest.approx(step, rel=1e-6)
    fast = rounded[np.concatenate([[True], np.abs(np.diff(rounded)) > 0.5 * step])]  # no value twice in a row
    assert quantisation_step([fast]) == pytest.approx(step, rel=1e-6)


def test_quantisation_step_of_a_channel_that_never_changes_is_infinite() -> None:
    assert quantisation_step([np.ones(50)]) == np.inf


def test_stream_steps_are_those_of_the_log_not_of_the_grid() -> None:
    """Uneven stamps move samples along their slope; the smallest difference was then taken for the step."""
    step, rows = 0.003, np.arange(4000)
    times = 1e-3 * rows + 1e-4 * np.random.default_rng(0).uniform(-1.0, 1.0, len(rows))
    angle = step * np.round(np.sin(times) / step)
    stream = as_stream(angle[:, None], times, None, ["theta"], [])
    assert stream.jitter > 0.02
    assert stream.steps == pytest.approx([step], rel=1e-6)
