"""Which part of a held-out log is simulated."""

import numpy as np
import pytest

from tinyude.data.log import Log
from tinyude.errors import TinyUDEError
from tinyude.model.validation import longest_stretch


def log(times: np.ndarray) -> Log:
    return Log(times, np.sin(times)[:, None], np.cos(times)[:, None])


@pytest.mark.parametrize(("lost", "rows"), [(3, 100), (4, 60)])
def test_longest_stretch_ends_at_a_step_of_four_and_a_half_periods(lost: int, rows: int) -> None:
    """In one piece of a log, and where pieces meet."""
    times = 0.1 * np.concatenate([np.arange(40), 40 + lost + np.arange(60)])
    whole = log(times)
    pieces = [log(times[:40]), log(times[40:])]
    for given in ([whole], pieces):
        found = longest_stretch(given)
        assert len(found.t) == rows and found.t[-1] == times[-1]
        assert found.u is not None and found.Y[:, 0] == pytest.approx(np.sin(found.t))


def test_longest_stretch_does_not_go_back_in_time_and_is_no_longer_than_asked() -> None:
    times = np.concatenate([np.arange(30.0), np.arange(50.0)])
    assert longest_stretch([log(times)]).t.tolist() == list(range(50))
    assert longest_stretch([log(np.arange(500.0))], most=20).t.tolist() == list(range(20))
    with pytest.raises(TinyUDEError, match="no valid time stamp"):
        longest_stretch([log(np.zeros(0))])
